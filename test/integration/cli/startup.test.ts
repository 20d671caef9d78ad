import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { itWithAnotherUser, nodeAsAnotherUser, OTHER_USER } from '../../support/machine/as-another-user.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { API_KEY } from '../../support/worlds/world.ts';
import { probedCli, probedImport } from './probed-cli.ts';

const ROOT = join(import.meta.dirname, '../../..');
const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
  dependencies: Record<string, string>;
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-startup-'));
});
afterEach(() => removeFolder(folder));

describe('a command loads no more packages than it needs:', () => {
  const isOurs = (name: string): boolean => Object.hasOwn(dependencies, name);

  it.each([['--help'], ['--version'], ['help'], ['nope']])('%s loads the command line parser alone', (...args) => {
    expect(probedCli(args, { NODE_DISABLE_COMPILE_CACHE: '1' }).packages).toEqual(['commander']);
  });

  it('status with the embedded queue loads no more packages than the config and the ledger need', () => {
    for (const [file, text] of Object.entries(GOOD_FILES)) writeFileSync(join(folder, file), text);
    const target = { baseUrl: 'https://dpp.example.com', apiKey: API_KEY };
    const sources = EXPORT_SOURCES.map((source) => ({ ...source, schedule: '30 2 * * *' }));
    writeFileSync(join(folder, 'dpp-sync.yaml'), stringify({ target, ledger: './ledger.db', sources }));
    const { status, stderr, packages } = probedCli(['status'], { NODE_DISABLE_COMPILE_CACHE: '1' }, folder);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const needed = ['better-sqlite3', 'commander', 'node-cron', 'yaml', 'zod'];
    expect(packages.filter(isOurs)).toEqual(needed);
  });
});

describe('the SDK', () => {
  it('the SDK loads no parser and no client of a server before a connector uses one', () => {
    const { status, stderr, packages } = probedImport(join(ROOT, 'src/sdk/index.ts'), {
      NODE_DISABLE_COMPILE_CACHE: '1',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(packages.filter((name) => Object.hasOwn(dependencies, name))).toEqual(['iconv-lite', 'zod']);
  });
});

describe('compiled code is kept', () => {
  const run = (env: Record<string, string>) => probedCli(['--version'], env);
  const works = { status: 0, stdout: `${version}\n`, stderr: '' };
  const modeOf = (path: string): number => statSync(path).mode & 0o777;

  it('compiled code is kept in the cache folder of the user, where nobody else may look', () => {
    const base = join(folder, '.cache');
    const { cache, ...ran } = run({ HOME: folder });
    expect(ran).toMatchObject(works);
    expect(dirname(cache ?? '')).toBe(join(base, 'dpp-sync'));
    expect([modeOf(base), modeOf(join(base, 'dpp-sync'))]).toEqual([0o700, 0o700]);
  });

  it('compiled code is kept where XDG_CACHE_HOME says, unless that is no absolute path', () => {
    const base = join(folder, 'caches');
    expect(dirname(run({ HOME: folder, XDG_CACHE_HOME: base }).cache ?? '')).toBe(join(base, 'dpp-sync'));
    expect(dirname(run({ HOME: folder, XDG_CACHE_HOME: 'caches' }).cache ?? '')).toBe(join(folder, '.cache/dpp-sync'));
  });

  it('compiled code is kept below a sticky folder, in which others cannot replace what is not theirs', () => {
    chmodSync(folder, 0o1777);
    expect(run({ XDG_CACHE_HOME: folder }).cache).not.toBeNull();
  });

  it.each([
    ['the folder is open to others', 'base/dpp-sync', 0o750],
    ['others may replace the folder', 'base', 0o777],
    ['others may replace a folder above it', '', 0o770],
  ])('compiled code is kept nowhere while %s', (_, path, mode) => {
    mkdirSync(join(folder, 'base/dpp-sync'), { recursive: true, mode: 0o700 });
    chmodSync(join(folder, path), mode);
    expect(run({ XDG_CACHE_HOME: join(folder, 'base') })).toMatchObject({ ...works, cache: null });
  });

  it('compiled code is kept nowhere while the folder leads to one that others may replace', () => {
    mkdirSync(join(folder, 'open/mine'), { recursive: true, mode: 0o700 });
    chmodSync(join(folder, 'open'), 0o777);
    symlinkSync(join(folder, 'open/mine'), join(folder, 'dpp-sync'));
    expect(run({ XDG_CACHE_HOME: folder })).toMatchObject({ ...works, cache: null });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'compiled code is kept nowhere in a folder of another user, and nothing is made there (needs root)',
    () => {
      chownSync(folder, OTHER_USER, OTHER_USER);
      expect(run({ HOME: folder })).toMatchObject({ ...works, cache: null });
      expect(existsSync(join(folder, '.cache'))).toBe(false);
      chownSync(folder, 0, 0);
      mkdirSync(join(folder, '.cache/dpp-sync'), { recursive: true, mode: 0o700 });
      chownSync(join(folder, '.cache/dpp-sync'), OTHER_USER, OTHER_USER);
      expect(run({ HOME: folder })).toMatchObject({ ...works, cache: null });
    },
  );

  it('compiled code is kept nowhere where the folder cannot be made, without a word', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(run({ HOME: join(folder, 'file') })).toMatchObject({ ...works, cache: null });
  });

  it('compiled code is kept nowhere without a home folder, and none is made', () => {
    for (const home of ['', 'home', join(folder, 'nonexistent')]) {
      expect(probedCli(['--version'], { HOME: home }, folder)).toMatchObject({ ...works, cache: null });
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  itWithAnotherUser('nowhere for a user whose folder cannot be written, without a word', () => {
    chmodSync(folder, 0o755);
    const launcher = join(ROOT, 'src/launcher.mjs');
    const program = `process.env.HOME = ${JSON.stringify(folder)}; process.argv[2] = '--version'; await import(${JSON.stringify(launcher)});`;
    expect(nodeAsAnotherUser(['--input-type=module', '-e', program, '--', 'x'])).toMatchObject(works);
    expect(existsSync(join(folder, '.cache'))).toBe(false);
  });

  it('compiled code is kept where NODE_COMPILE_CACHE says, and nowhere with NODE_DISABLE_COMPILE_CACHE', () => {
    const own = join(folder, 'own');
    expect(dirname(run({ HOME: folder, NODE_COMPILE_CACHE: own }).cache ?? '')).toBe(own);
    expect(run({ HOME: folder, NODE_DISABLE_COMPILE_CACHE: '1' })).toMatchObject({ ...works, cache: null });
    expect(existsSync(join(folder, '.cache'))).toBe(false);
  });
});
