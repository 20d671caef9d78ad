import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/connector-reader.ts';

const MEGABYTE = 1_000_000;
const ROWS = 100;

it('reads a table of large rows a few at a time, so that they fit into memory', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'erp.db');
  const database = new Database(file);
  database.exec('CREATE TABLE pictures (id INTEGER PRIMARY KEY, picture TEXT)');
  const insert = database.prepare('INSERT INTO pictures VALUES (?, ?)');
  for (let id = 0; id < ROWS; id++) insert.run(id, `${id}`.padStart(2 * MEGABYTE, 'x'));
  database.close();
  const child = join(import.meta.dirname, '../support/table-memory-child.ts');
  // Without a bound V8 lets garbage grow as it likes. With this one a reader that holds all rows ends with an error.
  const flags = ['--max-old-space-size=64', '--max-semi-space-size=4'];
  const { rows, memory } = JSON.parse(
    execFileSync(process.execPath, [...flags, child, file], { encoding: 'utf8' }),
  ) as { rows: number; memory: number };
  expect(rows).toBe(ROWS);
  expect(memory).toBeLessThan(200 * MEGABYTE);
});
