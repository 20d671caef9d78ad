import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scaled } from '../support/chaos.ts';
import { temporaryFolder } from '../support/connector-reader.ts';
import { writeCatalog } from '../support/generated-catalog.ts';

const MEGABYTE = 1_000_000;

it('reads a BMEcat file of any size in less than 150 MB of memory', { timeout: 300_000 }, async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'catalog.xml');
  const written = writeCatalog(path, scaled(20, 500) * MEGABYTE);
  const child = join(import.meta.dirname, '../support/catalog-memory-child.ts');
  // Without a bound V8 lets garbage grow as it likes. With this one a reader that keeps what it has read ends with an error.
  const flags = ['--max-old-space-size=32', '--max-semi-space-size=4'];
  const { products, issues, memory } = JSON.parse(
    execFileSync(process.execPath, [...flags, child, path], { encoding: 'utf8' }),
  ) as { products: number; issues: number; memory: number };
  expect({ products, issues }).toEqual({ products: written, issues: 0 });
  expect(memory).toBeLessThan(150 * MEGABYTE);
});
