import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildInto } from '../support/cli/build.ts';
import { temporaryFolder } from '../support/connectors/connector-reader.ts';
import { PEAK } from '../support/machine/peak-memory.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { scaled } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { writeCatalog } from './support/generated-catalog.ts';

const MEGABYTE = 1_000_000;

it('a BMEcat file of any size is read in less than 150 MB of memory', { timeout: TEST_MS }, async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'catalog.xml');
  const written = writeCatalog(path, scaled(20, 500) * MEGABYTE);
  const child = join(import.meta.dirname, 'support/catalog-memory-child.ts');
  // Without a limit V8 lets garbage grow. With this limit a reader that keeps what it has read ends with an error.
  const flags = ['--max-old-space-size=32', '--max-semi-space-size=4'];
  const { products, issues, memory } = JSON.parse(
    execFileSync(process.execPath, [...flags, child, path], { encoding: 'utf8' }),
  ) as { products: number; issues: number; memory: number };
  expect({ products, issues }).toEqual({ products: written, issues: 0 });
  expect(memory).toBeLessThan(150 * MEGABYTE);
});

it('the installed program previews a large BMEcat file in little more memory', { timeout: TEST_MS }, async () => {
  const root = join(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'dpp-catalog-'));
  try {
    buildInto(join(folder, 'dist'));
    for (const file of ['package.json', 'src/launcher.mjs', 'src/compile-cache.mjs', 'config'])
      cpSync(join(root, file), join(folder, file), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const written = writeCatalog(join(folder, 'catalog.xml'), scaled(20, 500) * MEGABYTE);
    writeFileSync(join(folder, 'dpp-sync.yaml'), CONFIG);
    const measured = join(folder, 'peak');
    const report = `import { readFileSync, writeFileSync } from 'node:fs';
      process.on('exit', () => writeFileSync(${JSON.stringify(measured)}, readFileSync('/proc/self/status')));`;
    writeFileSync(join(folder, 'report.mjs'), report);
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const flags = (scripts['dpp-sync'] ?? '').split(' ').filter((word) => word.startsWith('--'));
    const args = [
      ...flags,
      '--import',
      join(folder, 'report.mjs'),
      join(folder, 'src/launcher.mjs'),
      'preview',
      'catalog',
    ];
    const env = { PATH: process.env['PATH'], XDG_CACHE_HOME: join(folder, 'cache') };
    const shown = execFileSync(process.execPath, [...args, '--json'], { cwd: folder, env, encoding: 'utf8' });
    expect(shown).toContain(`"records":${written}`);
    // On an idle machine the reader uses less than 150 MB. On a busy machine the garbage collector of V8 falls behind.
    expect(Number(PEAK.exec(readFileSync(measured, 'utf8'))?.[1]) * 1024).toBeLessThan(175 * MEGABYTE);
  } finally {
    await removeFolder(folder);
  }
});

const CONFIG = `
target: { baseUrl: "http://127.0.0.1:1", apiKey: dpp_a_key_of_the_test }
queue: embedded
ledger: ./data/ledger.db
sources:
  - id: catalog
    connector: bmecat
    streams: { products: { path: ./catalog.xml, key: [SUPPLIER_PID] } }
    mappings:
      - stream: products
        to: product
        key: row.SUPPLIER_PID
        fields: { sku: row.SUPPLIER_PID, name: row.DESCRIPTION_SHORT }
`;
