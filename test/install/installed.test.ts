import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { GETTING_STARTED } from '../generate/getting-started.ts';
import { filesOfPage } from '../support/docs/page-files.ts';
import { followPage } from '../support/docs/page-session.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../support/worlds/cli-export.ts';
import { API_KEY } from '../support/worlds/world.ts';
import {
  copyCheckout,
  createOrdinaryUser,
  describeInstalled,
  npmRan,
  publicFolder,
  ROOT,
  SQL_SERVER,
} from './support/install.ts';

const { name, version, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  name: string;
  version: string;
  peerDependencies: Record<string, string>;
};
const TARBALL = `${name}-${version}.tgz`;

const checkout = copyCheckout();
const unbuilt = publicFolder('dpp-unbuilt-');
const empty = publicFolder('dpp-installed-');
const user = createOrdinaryUser();
afterAll(async () => {
  for (const folder of [checkout, unbuilt, empty, user.folder]) await removeFolder(folder);
});

/** Packs the checkout by the given command, with the development dependencies of this repository. */
async function pack(commandLine: string): Promise<void> {
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  await npmRan(checkout, commandLine);
  rmSync(join(checkout, 'node_modules'));
}

await pack(`npm pack --pack-destination ${unbuilt}`);
await pack('npm run -s pack');
const installs = await Promise.all([
  npmRan(checkout, 'npm ci --omit=dev'),
  npmRan(empty, `npm install --ignore-scripts ${join(checkout, TARBALL)}`),
]);
const describeHere = describeInstalled(installs.every((ran) => ran));

const PROGRAMS = {
  'a checkout without development dependencies': ['node', join(checkout, 'src/launcher.mjs')],
  'the packed tarball': [join(empty, 'node_modules/.bin/dpp-sync')],
};

for (const [what, program] of Object.entries(PROGRAMS)) {
  describeHere(`${what}, installed in an empty folder`, () => {
    const run = (...args: string[]) => user.run([...program, ...args]);

    it('the installed program checks, previews and syncs against its own sandbox, by a lookup file, as an ordinary user', async () => {
      const sandbox = await user.serve([...program, 'sandbox', '--port', '0', '--json', '--key', API_KEY]);
      try {
        const { baseUrl } = JSON.parse(sandbox.line) as { baseUrl: string };
        for (const [file, text] of Object.entries(GOOD_FILES)) user.write(file, text);
        user.write('names.csv', 'key,value\nPump,Pumpe\nMotor,Motor\n');
        const [source] = EXPORT_SOURCES;
        const mappings = source?.mappings.map((mapping) =>
          mapping.to === 'product'
            ? { ...mapping, fields: { ...mapping.fields, name: 'lookup("names.csv", row.NAME)' } }
            : mapping,
        );
        const config = { target: { baseUrl, apiKey: API_KEY }, sources: [{ ...source, mappings }] };
        user.write('dpp-sync.yaml', stringify({ ...config, ledger: `./${program.length}.db` }));
        expect(run('check')).toMatchObject({ status: 0, stderr: '' });
        const preview = run('preview', 'erp');
        // A slow machine shows progress on stderr.
        expect(preview).toMatchObject({ status: 0, stderr: expect.stringMatching(/^(?:read .* rows\n)*$/) });
        expect(preview.stdout).toContain('Pumpe');
        const sync = run('sync', '--json');
        expect(sync).toMatchObject({ status: 0, stderr: '' });
        expect(JSON.parse(sync.stdout)).toMatchObject({
          ok: true,
          items: { product: { delivered: 2 }, material: { delivered: 1 }, bom_item: { delivered: 2 } },
        });
      } finally {
        await sandbox.stop();
      }
    });

    it('the installed program says where the demo may not write, and what to do', () => {
      const shut = publicFolder('dpp-shut-');
      chmodSync(shut, 0o555);
      const demo = user.run([...program, 'demo'], shut);
      rmSync(shut, { recursive: true });
      expect(demo).toMatchObject({ status: 2, stdout: '' });
      expect(demo.stderr).toMatch(/The demo cannot write to the folder .*demo-data.*EACCES.*\n.*--dir/);
    });
  });
}

describeHere('the driver of SQL Server', () => {
  const command = `npm install mssql@${peerDependencies['mssql']}`;

  it.each(Object.entries(PROGRAMS))(
    'the driver of SQL Server is not in %s, which says how to install it',
    (_, program) => {
      user.write('sqlserver.yaml', SQL_SERVER);
      for (const verb of ['check', 'start', 'sync']) {
        const told = user.run([...program, verb, '-c', 'sqlserver.yaml']);
        expect(told).toMatchObject({ status: 2, stdout: '' });
        expect(told.stderr).toContain('sources[0].options.dialect');
        expect(told.stderr).toContain(command);
      }
    },
  );

  it('the driver of SQL Server connects after the command that the installed program names', async () => {
    expect(await npmRan(empty, `${command} --ignore-scripts`)).toBe(true);
    const told = user.run([...PROGRAMS['the packed tarball'], 'check', '-c', 'sqlserver.yaml']);
    expect(told.stdout + told.stderr).toContain(
      'The SQL Server database erp at 127.0.0.1:9 does not take connections.',
    );
  });
});

describeHere('the packed tarball, for somebody who meets it first', () => {
  it('the installed program runs the demo as an ordinary user', () => {
    const demo = user.run([...PROGRAMS['the packed tarball'], 'demo', '--json']);
    expect(demo).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(demo.stdout)).toMatchObject({ ok: true });
    rmSync(join(user.folder, 'demo-data'), { recursive: true });
  });

  it('the installed program prints what docs/getting-started.md shows, as an ordinary user (else: npm run generate)', async () => {
    const page = readFileSync(join(ROOT, GETTING_STARTED), 'utf8');
    user.write('passports/.keep', '');
    const launcher = join(empty, 'node_modules/dpp-sync/src/launcher.mjs');
    const folder = join(user.folder, 'passports');
    expect(await followPage(page, { folder, launcher, user: user.ids })).toBe(page);
  });
});

describeHere('the packed tarball, for the author of a connector', () => {
  const program = join(empty, 'node_modules/.bin/dpp-sync');
  const folder = join(user.folder, 'acme');

  it('the installed program makes a connector outside of it; its tests and those of docs/connectors/writing.md pass', () => {
    expect(user.run([program, 'connector', 'new', 'acme', '--dir', 'acme'])).toMatchObject({ status: 0, stderr: '' });
    for (const [path, text] of Object.entries(filesOfPage('writing.md'))) user.write(`acme/page/${path}`, text);
    const tested = user.run([process.execPath, '--test', 'connector.test.ts', 'page/connector.test.ts'], folder);
    expect(tested.status, tested.stdout).toBe(0);
  });

  it('the installed program syncs with the connector of the page', async () => {
    const sandbox = await user.serve([program, 'sandbox', '--port', '0', '--json', '--key', API_KEY]);
    try {
      const { baseUrl } = JSON.parse(sandbox.line) as { baseUrl: string };
      const env = { DPP_BASE_URL: baseUrl, DPP_API_KEY: API_KEY };
      const sync = user.run([program, 'sync', '-c', 'page/dpp-sync.yaml', '--json'], folder, env);
      expect(sync.status, sync.stderr).toBe(4);
      expect(JSON.parse(sync.stdout)).toMatchObject({
        runs: [{ read: 3, quarantined: 1 }, { read: 3 }],
        items: { product: { delivered: 2 }, bom_item: { delivered: 2 } },
      });
    } finally {
      await sandbox.stop();
    }
  });
});

describe('the packed tarball', () => {
  const files = (folder: string) =>
    user
      .run(['tar', 'tzf', join(folder, TARBALL)])
      .stdout.split('\n')
      .filter((file) => file !== '');

  it('the packed tarball has the build without tests, sources and source maps, the types of the SDK, and the documents', () => {
    const packed = files(checkout).map((file) => file.replace(/^package\//, ''));
    expect(packed.filter((file) => !/^(dist|config|docs)\//.test(file)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
      'src/compile-cache.mjs',
      'src/launcher.mjs',
    ]);
    expect(packed.filter((file) => /^dist\/(?!types\/.*\.d\.ts$)/.test(file) && !file.endsWith('.js'))).toEqual([
      'dist/sbom.cdx.json',
      'dist/schema.sql',
      'dist/THIRD-PARTY-LICENSES.txt',
    ]);
    const needed = [
      'dist/main.js',
      'dist/sdk.js',
      'dist/types/sdk/index.d.ts',
      'config/connector-template/shared/gitignore',
      'config/profiles/default.yaml',
      'config/demo/exports/bom.csv',
    ];
    for (const file of [...needed, 'config/dpp-sync.schema.json']) expect(packed).toContain(file);
  });

  it('the packed tarball has the list of its packages, and the same list is beside it', () => {
    const packed = user.run(['tar', 'xzOf', join(checkout, TARBALL), 'package/dist/sbom.cdx.json']);
    const beside = readFileSync(join(checkout, `${name}-${version}.cdx.json`), 'utf8');
    expect(packed.stdout).toBe(beside);
    expect(JSON.parse(beside)).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name, version } } });
  });

  it('the packed tarball says what to do where it was packed without its build', () => {
    expect(files(unbuilt).filter((file) => file.includes('dist'))).toEqual([]);
    user.run(['tar', 'xzf', join(unbuilt, TARBALL)]);
    const launcher = join(user.folder, 'package/src/launcher.mjs');
    const told = spawnSync(process.execPath, [launcher, '--version'], { encoding: 'utf8' });
    expect(told).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('npm run pack') });
  });
});
