import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../../support/servers/postgres-server.ts';

const MEGABYTE = 1_000_000;
/** The small rows let a page have its greatest number of rows. The answer to the statement of that page has 218 MB. */
const [SMALL, LARGE] = [200, 250];
const LARGE_BYTES = MEGABYTE;

/** Reads the table in a separate process. */
function readTable(options: object): { rows: number; memory: number } {
  const child = join(import.meta.dirname, 'table-memory-child.ts');
  // Without a limit V8 lets garbage grow. With this limit a reader that keeps all rows ends with an error.
  const flags = ['--max-old-space-size=64', '--max-semi-space-size=4'];
  return JSON.parse(
    execFileSync(process.execPath, [...flags, child, JSON.stringify(options)], { encoding: 'utf8', timeout: WAIT_MS }),
  ) as { rows: number; memory: number };
}

async function readsSqlite([small, large]: [number, number]): Promise<void> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'erp.db');
  const database = new Database(file);
  database.exec('CREATE TABLE pictures (id INTEGER PRIMARY KEY, picture TEXT)');
  const insert = database.prepare('INSERT INTO pictures VALUES (?, ?)');
  database.transaction(() => {
    for (let id = 0; id < small + large; id++) insert.run(id, `${id}`.padStart(id < small ? 10 : LARGE_BYTES, 'x'));
  })();
  database.close();
  const { rows, memory } = readTable({ dialect: 'sqlite', file });
  expect(rows).toBe(small + large);
  expect(memory).toBeLessThan(200 * MEGABYTE);
}

it('a table of large rows is read a few at a time, so that they fit into memory', () => readsSqlite([0, 100]));
it('a page of a table ends early where small rows are followed by large ones', () => readsSqlite([SMALL, LARGE]));

/** The drivers of servers must not keep the rows behind the end of a page. */
function onServer(start: () => Promise<DatabaseServer>, { text, series }: { text: string; series: string }): void {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  it('a page of a table ends early where large rows follow small ones', async () => {
    await server.run(`CREATE TABLE pictures (id INT PRIMARY KEY, picture ${text})`);
    const length = `CASE WHEN n <= ${SMALL} THEN 10 ELSE ${LARGE_BYTES} END`;
    await server.run(`INSERT INTO pictures SELECT n, REPEAT('x', ${length}) FROM ${series}`);
    const { rows, memory } = readTable(server.options);
    expect(rows).toBe(SMALL + LARGE);
    expect(memory).toBeLessThan(200 * MEGABYTE);
  });
}

describePostgres('a PostgreSQL server', () =>
  onServer(startPostgres, { text: 'TEXT', series: `generate_series(1, ${SMALL + LARGE}) AS s (n)` }),
);
describeMariaDb('a MariaDB server', () =>
  onServer(startMariaDb, { text: 'LONGTEXT', series: `(SELECT seq AS n FROM seq_1_to_${SMALL + LARGE}) AS s` }),
);
