import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { JsonObject } from '../../../src/sdk/index.ts';
import type { ConnectorFixtures, Damage } from '../../../src/sdk/testing/index.ts';
import type { DatabaseServer } from '../servers/database-server.ts';

const STREAM = { query: 'SELECT * FROM part', page: ['id'] };
const LARGE = { query: 'SELECT * FROM large', page: ['id'] };

/** One row each second, so that the overlap covers only a few rows. */
const TIME_OF: Readonly<Record<string, string>> = {
  postgresql: "timestamptz '2026-01-01 00:00:00+00' + n * interval '1 second'",
  mariadb: "DATE_ADD('2026-01-01 00:00:00', INTERVAL n SECOND)",
  mysql: "DATE_ADD('2026-01-01 00:00:00', INTERVAL n SECOND)",
  sqlserver: "DATEADD(second, n, CAST('2026-01-01 00:00:00' AS DATETIME2(6)))",
  sqlite: "datetime('2026-01-01 00:00:00', n || ' seconds')",
};

/** The numbers from 1 to `rows`, in SQL that every server understands. */
function countedNumbers(rows: number): string {
  const digits = `(SELECT ${Array.from({ length: 10 }, (_, digit) => `${digit}${digit === 0 ? ' AS d' : ''}`).join(' UNION ALL SELECT ')})`;
  const places = ['a', 'b', 'c', 'd', 'e', 'f'];
  const sum = places.map((place, at) => `${place}.d * ${10 ** at}`).join(' + ');
  const from = places.map((place) => `${digits} AS ${place}`).join(' CROSS JOIN ');
  return `(SELECT 1 + ${sum} AS n FROM ${from}) AS numbers WHERE n <= ${rows}`;
}

function numbers(dialect: string, rows: number): string {
  if (dialect === 'mysql' || dialect === 'sqlserver') return countedNumbers(rows);
  if (dialect === 'postgresql') return `generate_series(1, ${rows}) AS n`;
  if (dialect === 'mariadb') return `(SELECT seq AS n FROM seq_1_to_${rows}) AS numbers`;
  return `(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${rows}) SELECT n FROM r)`;
}

function largeTable(dialect: string, rows: number): string[] {
  return [
    'DROP TABLE IF EXISTS large',
    `CREATE TABLE large (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(80), updated_at ${timeType(dialect)}(6) NULL)`,
    `INSERT INTO large SELECT n, 'A part with a name of some length', ${TIME_OF[dialect]} FROM ${numbers(dialect, rows)}`,
    'CREATE INDEX large_by_time ON large (updated_at, id)',
  ];
}

/** Changes a row that a read may have passed, and adds one before all others. Both get the time of the newest row. */
function changesOf(number: number): { statements: string[]; rows: JsonObject[] } {
  const newest = '(SELECT newest FROM (SELECT MAX(updated_at) AS newest FROM large) AS times)';
  return {
    statements: [
      `UPDATE large SET name = 'Changed ${number}', updated_at = ${newest} WHERE id = 5`,
      `INSERT INTO large SELECT -${number}, 'New', MAX(updated_at) FROM large`,
    ],
    rows: [{ id: '5', name: `Changed ${number}` }, { id: `-${number}` }],
  };
}

/** In SQL Server a TIMESTAMP is a number that counts changes. */
const timeType = (dialect: string): string => (dialect === 'sqlserver' ? 'DATETIME2' : 'TIMESTAMP');

const parts = (dialect: string): string[] => [
  'DROP TABLE IF EXISTS part',
  `CREATE TABLE part (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(80), weight DECIMAL(12, 3), updated_at ${timeType(dialect)} NULL)`,
  "INSERT INTO part VALUES (1, 'Frame', 12.500, '2026-01-01 00:00:00'), (2, NULL, NULL, NULL), (3, 'Wheel', 0.100, '2026-01-02 00:00:00')",
];

/** The fixtures with which the conformance kit checks the sql connector on a server. */
export async function serverFixtures(
  server: DatabaseServer,
  watermark: { watermark?: string },
): Promise<ConnectorFixtures> {
  const dialect = server.dialect;
  const options = server.options;
  for (const text of parts(dialect)) await server.run(text);
  const rename = dialect === 'sqlserver' ? "EXEC sp_rename 'large', 'larger'" : 'ALTER TABLE large RENAME TO larger';
  const damages: Damage[] = [
    { about: 'the connection ends', now: () => server.endConnections() },
    { about: 'the table is dropped', now: () => server.run('DROP TABLE large') },
    { about: 'the table is renamed', now: () => server.run(rename) },
    { about: 'a row is added behind the place', now: () => server.run("INSERT INTO large VALUES (0, 'new', NULL)") },
  ];
  return {
    ...shared(options, watermark),
    folder: '/nowhere',
    unreachable: {
      options: { ...options, host: 'no-such-host.invalid', tls: 'off' },
      stream: { ...STREAM, ...watermark },
      names: 'no-such-host.invalid',
    },
    secrets: [server.password],
    async large(rows) {
      await server.run('DROP TABLE IF EXISTS larger');
      for (const text of largeTable(dialect, rows)) await server.run(text);
      return { options, stream: { ...LARGE, ...watermark }, damages };
    },
    ...changingWith(watermark, async (rows) => {
      for (const text of largeTable(dialect, rows)) await server.run(text);
      return { options, run: server.run };
    }),
  };
}

/** A table with changes, if the stream has a watermark. */
function changingWith(
  watermark: { watermark?: string },
  make: (rows: number, folder: string) => Promise<{ options: JsonObject; run: (text: string) => Promise<void> }>,
): Pick<ConnectorFixtures, 'changing'> {
  if (watermark.watermark === undefined) return {};
  return {
    async changing(rows, folder) {
      const { options, run } = await make(rows, folder);
      let count = 0;
      return {
        options,
        stream: { ...LARGE, ...watermark },
        async change() {
          count += 1;
          const { statements, rows: changed } = changesOf(count);
          for (const text of statements) await run(text);
          return changed;
        },
      };
    },
  };
}

/** The fixtures with which the conformance kit checks the sql connector on SQLite files in a folder. */
export function sqliteFixtures(folder: string, watermark: { watermark?: string }): ConnectorFixtures {
  const options = { dialect: 'sqlite', file: 'parts.db' };
  fill(join(folder, 'parts.db'), parts('sqlite'));
  return {
    ...shared({ ...options, password: 'a-password-without-use' }, watermark),
    folder,
    unreachable: { options: { ...options, file: 'missing.db' }, stream: STREAM, names: 'missing.db' },
    secrets: ['a-password-without-use'],
    async large(rows, at) {
      const path = join(at, 'large.db');
      fill(path, largeTable('sqlite', rows));
      const damages: Damage[] = [
        { about: 'the table is dropped', now: async () => fill(path, ['DROP TABLE large']) },
        { about: 'the file is deleted', now: () => rm(path) },
      ];
      return { options: { dialect: 'sqlite', file: 'large.db' }, stream: { ...LARGE, ...watermark }, damages };
    },
    ...changingWith(watermark, async (rows, at) => {
      const path = join(at, 'changing.db');
      fill(path, largeTable('sqlite', rows));
      return { options: { dialect: 'sqlite', file: path }, run: async (text) => fill(path, [text]) };
    }),
  };
}

function shared(
  options: JsonObject,
  watermark: { watermark?: string },
): Pick<ConnectorFixtures, 'samples' | 'refused'> {
  const stream = { ...STREAM, ...watermark };
  return {
    samples: [
      { about: 'a table', options, stream, rows: 3 },
      { about: 'a query', options, stream: { ...stream, query: "SELECT * FROM part WHERE name = 'Wheel'; " }, rows: 1 },
      {
        about: 'an empty result',
        options,
        stream: { ...stream, query: 'SELECT * FROM part WHERE id < 0 -- none' },
        rows: 0,
      },
    ],
    refused: [
      { options: { dialect: 'oracle' }, stream },
      { options: { dialect: 'postgresql', file: 'x.db' }, stream },
      { options, stream: { query: 'SELECT 1', page: [] } },
      { options, stream: { query: 'SELECT 1', page: ['id'], watermark: 'id' } },
    ],
  };
}

/** Runs statements on a SQLite file. */
function fill(path: string, statements: readonly string[]): void {
  const database = new Database(path);
  try {
    for (const text of statements) database.exec(text);
  } finally {
    database.close();
  }
}
