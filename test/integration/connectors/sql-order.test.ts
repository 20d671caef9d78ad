// A read can continue after any row, whatever values the columns of `page` have. The tests read pages of one row, and compare the rows
// with those of the table. A table that cannot be read in this way is refused before rows are lost.

import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadDialect, sql } from '../../../connectors/sql/index.ts';
import { planStream } from '../../../connectors/sql/plan.ts';
import { createSession } from '../../../connectors/sql/session.ts';
import type { JsonObject } from '../../../src/sdk/index.ts';
import {
  readPages,
  readRows,
  type TemporaryFolder,
  temporaryFolder,
  textOf,
} from '../../support/connectors/connector-reader.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../../support/servers/postgres-server.ts';

interface TestDatabase {
  options: JsonObject;
  run: (text: string) => Promise<void>;
  folder: string;
}

/** Rows of a table that is read by its columns `v`, or `g` and `v`; `n` numbers them. */
interface Case {
  about: string;
  type: string;
  /** The values in the form of an SQL statement. */
  values: readonly string[];
  query?: string;
}

const NO_SIGNAL = new AbortController().signal;

/** Makes the table. Its rows are not sorted. */
async function fill({ run }: TestDatabase, { type, values }: Case): Promise<void> {
  await run('DROP TABLE IF EXISTS ordered');
  await run(`CREATE TABLE ordered (g INT, v ${type}, n INT)`);
  const rows = values.map((value, at) => `(${at % 2}, ${value}, ${at})`);
  await run(`INSERT INTO ordered VALUES ${rows.toSorted().join(', ')}`);
}

/** The numbers of the rows, read in pages of one row. Stops after twice as many rows as the table has. */
async function walk(
  database: TestDatabase,
  stream: { query: string; page: string[] },
  most: number,
): Promise<number[]> {
  const options = sql.options.parse(database.options);
  const dialect = await loadDialect(options.dialect);
  const session = createSession({ dialect, options, resolvePath: (path) => `${database.folder}/${path}` });
  try {
    const parsed = sql.streamOptions.parse(stream);
    const plan = await planStream({ name: 'ordered', options: parsed, signal: NO_SIGNAL }, { dialect, session });
    const found: number[] = [];
    const at = (name: string) => plan.columns.findIndex((column) => column.name === name);
    for (let after: string[] | undefined; found.length < 2 * most; ) {
      const start = after === undefined ? {} : { after };
      const statement = plan.statements.page({ by: plan.key, ...start, limit: 1 });
      const { rows } = await session.rows(statement, plan.columns, NO_SIGNAL);
      const [row] = rows;
      if (row === undefined) break;
      found.push(Number(row[at('n')]));
      after = plan.key.map(({ name }) => textOf(row[at(name)]));
    }
    return found;
  } finally {
    await session.close();
  }
}

function suite(
  database: () => TestDatabase,
  cases: readonly Case[],
  refused: readonly (Case & { says: string })[],
): void {
  it.each(cases)('rows are read in order by $about', async (given) => {
    await fill(database(), given);
    const { query = 'SELECT * FROM ordered', values } = given;
    const all = values.map((_, at) => at);
    for (const page of [['v'], ['g', 'v']]) {
      expect((await walk(database(), { query, page }, values.length)).toSorted((a, b) => a - b)).toEqual(all);
      const { options, folder } = database();
      const rows = await readRows(sql, { folder, options, stream: { query, page } });
      expect(rows.map(({ fields }) => Number(fields['n'])).toSorted((a, b) => a - b)).toEqual(all);
    }
  });

  it.each(refused)('an order of rows is refused by $about', async (given) => {
    await fill(database(), given);
    const { options, folder } = database();
    const stream = { query: given.query ?? 'SELECT * FROM ordered', page: ['v'] };
    await expect(readRows(sql, { folder, options, stream })).rejects.toThrow(given.says);
  });
}

const text = (...values: string[]): string[] => values.map((value) => `'${value.replaceAll("'", "''")}'`);
const LETTERS = text(
  'a',
  'b',
  'Ba',
  'ba c',
  'ä',
  'z',
  'Z1',
  'o',
  'ö',
  'oe',
  'ss',
  'ßa',
  '',
  '10',
  '9',
  "o'x",
  '日本',
  '%_\\',
);
const NUMBERS = ['0', '-1', '1', '9', '10', '-10', '9007199254740993', '9007199254740992', '-9223372036854775808'];
const DECIMALS = [
  '0.1',
  '0.10000000001',
  '-0.5',
  '12345678901234567890.12',
  '-99999999999999999999.5',
  '-99999999999999999998',
  '3',
];
const TIMES = text(
  '2026-03-29 01:59:59.999999',
  '2026-03-29 02:30:00',
  '2026-10-25 00:30:00.000001',
  '2026-10-25 00:30:00',
  '1969-12-31 23:59:59',
);
/** An order that is neither alphabetical nor its reverse. The last value is the first one in the alphabet. */
const STEPS = ['b', 'c', 'e', 'd', 'a'];

const startServer = (start: () => Promise<DatabaseServer>) => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());
  return (): TestDatabase => ({ options: server.options, run: server.run, folder: '/' });
};

describePostgres('PostgreSQL goes on behind each row', () => {
  const database = startServer(startPostgres);
  beforeAll(() => database().run(`CREATE TYPE step AS ENUM (${text(...STEPS).join(', ')})`));
  suite(
    database,
    [
      { about: 'text', type: 'text', values: LETTERS },
      { about: 'text of a language', type: 'text COLLATE "de-x-icu"', values: LETTERS },
      { about: 'text of fixed length', type: 'char(6)', values: LETTERS.filter((value) => value.length < 8) },
      { about: 'an enumeration', type: 'step', values: text(...STEPS) },
      { about: 'whole numbers', type: 'bigint', values: NUMBERS },
      { about: 'decimals', type: 'numeric', values: [...DECIMALS, "'NaN'", "'Infinity'", "'-Infinity'"] },
      { about: 'times', type: 'timestamp', values: [...TIMES, "'infinity'", "'-infinity'", "'0044-03-15 BC'"] },
      { about: 'times with a zone', type: 'timestamptz', values: TIMES },
      { about: 'dates', type: 'date', values: text('2026-01-02', '2026-01-10', '0001-01-01') },
      { about: 'times of a day', type: 'time', values: text('00:00', '23:59:59.999999', '24:00', '09:30') },
      { about: 'intervals', type: 'interval', values: text('1 day', '25 hours', '-3 months', '1 year') },
      { about: 'bytes', type: 'bytea', values: ["'\\x00'", "'\\x'", "'\\xff'", "'\\x0001'", "'\\x41'"] },
      {
        about: 'UUIDs',
        type: 'uuid',
        values: text(
          '00000000-0000-0000-0000-000000000001',
          'ffffffff-0000-0000-0000-000000000000',
          '10000000-0000-1000-8000-000000000000',
        ),
      },
      { about: 'lists', type: 'int[]', values: ["'{1,2}'", "'{1}'", "'{10}'", "'{}'"] },
      { about: 'addresses', type: 'inet', values: text('10.0.0.1', '9.0.0.1', '::1') },
    ],
    [
      { about: 'approximate numbers', type: 'float8', values: ['0.1', '1'], says: 'numbers that are approximate' },
      { about: 'JSON', type: 'jsonb', values: ["'1'"], says: 'has JSON' },
      { about: 'boolean values', type: 'boolean', values: ['true'], says: 'boolean values' },
      { about: 'NULL', type: 'int', values: ['1', 'NULL'], says: 'is NULL in some rows' },
      { about: 'values that are there twice', type: 'int', values: ['1', '1'], says: 'have the same values' },
    ],
  );
});

describeMariaDb('MariaDB goes on behind each row', () => {
  const database = startServer(startMariaDb);
  const letters = LETTERS.map((value) => value.replaceAll('\\', '\\\\'));
  const latin = letters.filter((value) => !value.includes('日'));
  const padded = text('a', 'b', 'ba', 'c');
  suite(
    database,
    [
      { about: 'text by code', type: 'VARCHAR(20) COLLATE utf8mb4_bin', values: letters },
      { about: 'text of a language', type: 'VARCHAR(20) COLLATE utf8mb4_swedish_ci', values: letters },
      {
        about: 'text in another character set',
        type: 'VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci',
        values: latin,
      },
      {
        about: 'text of another character set, made by the query',
        type: 'VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci',
        values: latin.filter((value) => !/[öß]/.test(value)),
        query: "SELECT g, n, CONCAT(v, '') AS v FROM ordered",
      },
      { about: 'text of fixed length', type: 'CHAR(6)', values: padded },
      {
        about: 'an enumeration as text',
        type: `ENUM(${text(...STEPS).join(', ')})`,
        values: text(...STEPS),
        query: 'SELECT g, n, CAST(v AS CHAR(9)) AS v FROM ordered',
      },
      { about: 'whole numbers', type: 'BIGINT', values: NUMBERS },
      {
        about: 'whole numbers without a sign',
        type: 'BIGINT UNSIGNED',
        values: ['0', '18446744073709551615', '18446744073709551614', '7'],
      },
      { about: 'decimals', type: 'DECIMAL(40, 12)', values: DECIMALS },
      {
        about: 'long whole numbers',
        type: 'DECIMAL(30, 0)',
        values: ['-99999999999999999999', '-99999999999999999998', '99999999999999999999', '0', '-1'],
      },
      {
        about: 'times',
        type: 'DATETIME(6)',
        values: [...TIMES, "'0000-00-00 00:00:00'", "'2026-00-00 00:00:00'", "'1000-01-01'"],
      },
      {
        about: 'timestamps',
        type: 'TIMESTAMP(6) NULL',
        values: [...TIMES.filter((value) => value > "'1970"), "'0000-00-00 00:00:00'"],
      },
      {
        about: 'dates',
        type: 'DATE',
        values: text('2026-01-02', '2026-01-10', '0000-00-00', '2026-00-00', '1000-01-01'),
      },
      {
        about: 'times of a day',
        type: 'TIME(3)',
        values: text('-12:34:56.789', '838:59:59', '00:00:00', '09:30:00', '100:00:00', '-838:59:59'),
      },
      { about: 'years', type: 'YEAR', values: ['2026', '1901', '2155'] },
      { about: 'bytes', type: 'VARBINARY(9)', values: ["x'00'", "x''", "x'ff'", "x'0001'", "x'41'", "x'61'"] },
      { about: 'bytes of fixed length', type: 'BINARY(3)', values: ["x'00'", "x'ff'", "x'0001'", "x'41'"] },
      {
        about: 'UUIDs',
        type: 'UUID',
        values: text(
          '00000000-0000-0000-0000-000000000001',
          'ffffffff-0000-1000-8000-000000000000',
          '10000000-0000-1000-8000-000000000000',
          '2a5b1c00-0000-4000-8000-000000000000',
        ),
      },
    ],
    [
      {
        about: 'an enumeration',
        type: `ENUM(${text(...STEPS).join(', ')})`,
        values: text(...STEPS),
        says: 'is an ENUM or a SET',
      },
      {
        about: 'a set',
        type: `SET(${text(...STEPS).join(', ')})`,
        values: text('b', 'b,a', 'e'),
        says: 'is an ENUM or a SET',
      },
      { about: 'approximate numbers', type: 'DOUBLE', values: ['0.1', '1'], says: 'numbers that are approximate' },
      { about: 'NULL', type: 'INT', values: ['1', 'NULL'], says: 'is NULL in some rows' },
      { about: 'values that are there twice', type: 'INT', values: ['1', '1'], says: 'have the same values' },
    ],
  );
});

describe('SQLite goes on behind each row', () => {
  let folder: TemporaryFolder;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder[Symbol.asyncDispose]());
  const database = (): TestDatabase => ({
    options: { dialect: 'sqlite', file: 'x.db' },
    folder: folder.path,
    async run(statement) {
      const file = new Database(`${folder.path}/x.db`);
      file.exec(statement);
      file.close();
    },
  });
  const says = 'values of several types';
  suite(
    database,
    [
      { about: 'text', type: 'TEXT', values: LETTERS },
      { about: 'text without case', type: 'TEXT COLLATE NOCASE', values: LETTERS },
      { about: 'text without a type', type: '', values: text('9', '10', 'a', '1e3') },
      {
        about: 'text that the query makes',
        type: '',
        values: text('9', '10', 'a'),
        query: "SELECT g, n, v || '' AS v FROM ordered",
      },
      { about: 'numbers', type: 'NUMERIC', values: [...NUMBERS, '0.5', '1e300', '-1e300', '12345678901234567890'] },
      { about: 'numbers without a type', type: '', values: ['1', '2.5', '10', '9', '-3'] },
      { about: 'times', type: 'TIMESTAMP', values: TIMES },
      { about: 'dates', type: 'DATE', values: text('2026-01-02', '2026-01-10') },
      { about: 'bytes', type: 'BLOB', values: ["x'00'", "x''", "x'ff'", "x'0001'", "x'41'"] },
      {
        about: 'several types as text',
        type: '',
        values: ['1', "'a'", "x'62'"],
        query: 'SELECT g, n, CAST(v AS TEXT) AS v FROM ordered',
      },
    ],
    [
      { about: 'numbers beside text', type: '', values: ['1', '2', "'1'", "'a'"], says },
      { about: 'text in a column of numbers', type: 'INTEGER', values: ['1', "'a'"], says },
      { about: 'bytes beside text', type: 'TEXT', values: ["'a'", "x'61'"], says },
      { about: 'bytes in a column of text', type: 'TEXT', values: ["x'61'", "x'62'"], says },
      { about: 'text in a column of bytes', type: 'BLOB', values: ["'a'", "'b'"], says },
      { about: 'NULL', type: 'INT', values: ['1', 'NULL'], says: 'is NULL in some rows' },
      { about: 'values that are there twice', type: 'INT', values: ['1', '1.0'], says: 'have the same values' },
    ],
  );

  it.each(['snapshot', 'changes'] as const)('SQLite refuses a watermark of several types, in %s', async (mode) => {
    await fill(database(), { about: '', type: '', values: ['1', "'2026-01-01'"] });
    const { options } = database();
    const stream = { query: 'SELECT * FROM ordered', page: ['n'], watermark: 'v' };
    await expect(readRows(sql, { folder: folder.path, options, stream, mode })).rejects.toThrow(says);
  });

  it('SQLite reads rows without a watermark in snapshots', async () => {
    await fill(database(), { about: '', type: 'TEXT', values: ['NULL', "'2026-01-01 00:00:00'", 'NULL'] });
    const stream = { query: 'SELECT * FROM ordered', page: ['n'], watermark: 'v' };
    expect(await readRows(sql, { folder: folder.path, options: database().options, stream })).toHaveLength(3);
  });

  it('SQLite stops where the next row is still there and cannot be reached', async () => {
    await database().run('DROP TABLE IF EXISTS ordered');
    await database().run(`CREATE TABLE ordered (g INT, v REAL);
      WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 7) INSERT INTO ordered SELECT 0, n FROM r;
      INSERT INTO ordered VALUES (1, -9e999), (1, 1)`);
    const { options } = database();
    const stream = { query: 'SELECT * FROM ordered', page: ['g', 'v'] };
    // No statement can contain an infinite number, so the row after it is not found.
    await expect(readRows(sql, { folder: folder.path, options, stream })).rejects.toThrow(
      'in one order and compares them in another order, at g=1, v=1.',
    );
  });

  it('SQLite continues where the next row is deleted, and where rows are put before it', async () => {
    await database().run('DROP TABLE IF EXISTS ordered');
    await database().run(`CREATE TABLE ordered (v INTEGER PRIMARY KEY);
      WITH RECURSIVE r(n) AS (SELECT 10 UNION ALL SELECT n + 10 FROM r WHERE n < 7000) INSERT INTO ordered SELECT n FROM r`);
    const { options } = database();
    const stream = { query: 'SELECT * FROM ordered', page: ['v'] };
    const read: number[] = [];
    for await (const { rows } of readPages(sql, { folder: folder.path, options, stream })) {
      if (read.length === 0) await database().run('DELETE FROM ordered WHERE v = 90');
      else await database().run(`INSERT OR IGNORE INTO ordered VALUES (${Number(rows.at(-1)?.fields['v']) + 1})`);
      read.push(...rows.map(({ fields }) => Number(fields['v'])));
    }
    expect(read.filter((v) => v % 10 === 0).length).toBe(699);
    expect(read).toEqual([...new Set(read)].toSorted((a, b) => a - b));
  });
});
