import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createLedgerReader } from '../../src/ledger/reader/ledger-reader.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { buildInto } from '../support/cli/build.ts';
import { FORMS, NO_PASSPORTS, openLedger } from '../support/ledger/ledger.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'dpp-build-'));
const dist = join(folder, 'dist');
buildInto(dist);
// The files of the build load other packages from node_modules.
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
afterAll(() => removeFolder(folder));

const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const files = readdirSync(dist);
const code = files.filter((file) => file.endsWith('.js')).map((file) => read(join('dist', file)));
const foundBy = (pattern: RegExp): string[] => [
  ...new Set(code.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''))),
];

describe('the build', () => {
  it('the build has compiled code, the schema and the licences of others, and no sources', () => {
    expect(files.filter((file) => !file.endsWith('.js'))).toEqual(['THIRD-PARTY-LICENSES.txt', 'schema.sql']);
    expect(read('dist/schema.sql')).toBe(readFileSync(join(ROOT, 'src/ledger/schema.sql'), 'utf8'));
    expect(files).toContain('main.js');
  });

  it('the build has ASCII alone, so that V8 keeps each file with one byte for a character', () => {
    const beyond = code.flatMap((text) => /[^\p{ASCII}].*/u.exec(text)?.[0] ?? []);
    expect(beyond).toEqual([]);
  });

  it('the build has the licence of every package that it contains, with its version', () => {
    const packages = foundBy(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm);
    expect(packages.toSorted()).toEqual(['commander', 'yaml', 'zod']);
    const licences = read('dist/THIRD-PARTY-LICENSES.txt');
    for (const name of packages) {
      const own = join(ROOT, 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as { version: string };
      expect(licences).toContain(`${name} ${version}\n\n${readFileSync(join(own, 'LICENSE'), 'utf8').trim()}\n`);
    }
  });

  it('the build loads every other package from the dependencies of package.json', () => {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      'dependencies' | 'peerDependencies',
      Record<string, string>
    >;
    const declared = { ...dependencies, ...peerDependencies };
    const loaded = foundBy(/^import (?:[^'"\n]* from )?"([^."][^"]*)";$/gm).filter((name) => !isBuiltin(name));
    const packages = loaded.map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    expect(packages).toContain('better-sqlite3');
    expect(packages.filter((name) => !Object.hasOwn(declared, name))).toEqual([]);
  });

  it('the build keeps the code of other commands in other files, and the names of functions', () => {
    expect(files).toEqual(expect.arrayContaining(['status.js', 'settle.js', 'pdf.js']));
    expect(code.filter((text) => text.includes('import("./status.js")'))).toHaveLength(1);
    expect(read('dist/status.js')).toContain('function addStatusCommand(');
  });

  it('the build loads few files for a command that reads the ledger, and no file for work that it does not do', () => {
    const loaded = new Set(['main.js', 'status.js', 'context.js', 'wire.js']);
    for (const file of loaded) {
      for (const [, next = ''] of read(`dist/${file}`).matchAll(/^(?:import|export) .*"\.\/([\w-]+\.js)";$/gm))
        loaded.add(next);
    }
    expect(loaded.size).toBeLessThanOrEqual(20);
    const all = [...loaded].map((file) => read(`dist/${file}`)).join('\n');
    const packages = [...all.matchAll(/^import (?:[^'"\n]* from )?"([^."][^"]*)";$/gm)].map(([, name = '']) => name);
    expect(new Set(packages.filter((name) => !isBuiltin(name)))).toEqual(new Set(['better-sqlite3', 'node-cron']));
    expect(all).toContain('function addStatusCommand(');
    expect(all).not.toMatch(/^\/\/ (?:connectors\/\w+\/|src\/sdk\/files|node_modules\/zod\/v4\/locales\/de\.)/m);
  });

  it('the build reads the ledger in a thread of its own, which is a file beside the one that starts it', async () => {
    expect(code.filter((text) => text.includes('`reader-thread.${suffix}`'))).toHaveLength(1);
    expect(code.filter((text) => text.includes('`backup-thread.${suffix}`'))).toHaveLength(1);
    expect(code.filter((text) => text.includes('`cases-process.${suffix}`'))).toHaveLength(1);
    const file = join(folder, 'ledger.db');
    const ledger = openLedger(file);
    const thread = pathToFileURL(join(dist, 'reader-thread.js'));
    const reader = createLedgerReader({
      file,
      ledgerId: ledger.id,
      forms: FORMS,
      passportRules: () => NO_PASSPORTS,
      clock: systemClock,
      thread,
    });
    expect(await reader.reads.run(1)).toBeNull();
    await reader.close();
    await ledger.close();
  });

  it('the build copies a ledger in a process of its own, whose file loads no package', () => {
    expect(code.filter((text) => text.includes('`copy-process.${suffix}`'))).toHaveLength(1);
    expect(read('dist/copy-process.js')).not.toContain('better-sqlite3');
    const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
    writeFileSync(from, 'pages');
    const { stdout } = spawnSync(process.execPath, [join(dist, 'copy-process.js'), from, to], { encoding: 'utf8' });
    expect(stdout).toBe('{"copied":true}');
    expect(readFileSync(to, 'utf8')).toBe('pages');
    const lacking = spawnSync(process.execPath, [join(dist, 'copy-process.js'), join(folder, 'none.db'), to]);
    expect(JSON.parse(lacking.stdout.toString())).toMatchObject({ copied: false, error: { code: 'ENOENT' } });
  });

  it('the build names its functions and files where it shows a stack', () => {
    for (const file of ['src', 'package.json', 'config'])
      cpSync(join(ROOT, file), join(folder, file), {
        recursive: true,
        filter: (path) => !path.endsWith('.ts'),
      });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(folder, 'src/launcher.mjs'), 'status', '-c', 'nowhere.yaml', '--log-level', 'debug'],
      { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } },
    );
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/ at (?:async )?loadConfigWith \(file:.*\/dist\/[\w-]+\.js:\d+:\d+\)/);
  });
});
