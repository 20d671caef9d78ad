// Reads from real PostgreSQL and MariaDB servers: exact values, changes, and faults that a person can act on.

import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../../connectors/sql/index.ts';
import type { JsonObject, JsonValue, Page } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows } from '../../support/connectors/connector-reader.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../../support/servers/postgres-server.ts';
import { describePgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { syncExample } from './page-example.ts';

let server: DatabaseServer;

interface Reading {
  options?: JsonObject;
  cursor?: JsonValue;
  mode?: 'snapshot' | 'changes';
  signal?: AbortSignal;
}

const setupOf = (stream: object, { options = {}, ...rest }: Reading = {}) => ({
  folder: '/',
  options: { ...server.options, ...options },
  stream: { page: ['id'], ...stream },
  ...rest,
});

async function read(stream: object, reading: Reading = {}): Promise<JsonObject[]> {
  return (await readRows(sql, setupOf(stream, reading))).map(({ fields }) => fields);
}

async function ids(stream: object, reading: Reading = {}): Promise<JsonValue[]> {
  return (await read(stream, reading)).map(({ id = null }) => id);
}

async function pagesOf(stream: object, reading: Reading = {}): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const page of readPages(sql, setupOf(stream, reading))) pages.push(page);
  return pages;
}

const faultOf = (stream: object, reading: Reading = {}): Promise<unknown> =>
  probe(sql, setupOf(stream, reading)).then(
    () => 'no error',
    (error: unknown) => error,
  );
const saying = (...texts: string[]) => ({
  code: 'source.unreadable',
  message: expect.stringMatching(new RegExp(texts.join('.*'), 's')),
  suggestion: expect.stringMatching(/\.$/),
});

async function run(...statements: string[]): Promise<void> {
  for (const text of statements) await server.run(text);
}

const EVENTS = { query: 'SELECT * FROM event', page: ['id'], watermark: 'at', overlap: 60 };
const events = (...rows: [id: number, at: string | null][]): string =>
  `INSERT INTO event VALUES ${rows.map(([id, at]) => `(${id}, ${at === null ? 'NULL' : `'${at}'`})`).join(', ')}`;

/** The tests that run on every server. */
function onEveryServer(): void {
  it('the example of docs/connectors/sql.md passes `check`, and what it maps is delivered', async () => {
    const found = await syncExample('sql.md', {
      options: server.options,
      async prepare(_folder, files) {
        for (const statement of String(files['erp.sql']).split(';\n'))
          if (statement !== '') await server.run(statement);
      },
    });
    expect(found).toEqual({
      products: ['A-100, Pump, 04006381333931', 'A-200, Seal'],
      materials: [],
      bomItems: ['A-100 ← 2.5 A-200'],
    });
  });

  describe('changes', () => {
    const table = ['DROP TABLE IF EXISTS event', 'CREATE TABLE event (id INT PRIMARY KEY, at TIMESTAMP(6) NULL)'];
    const endOf = async (): Promise<JsonValue> => (await pagesOf(EVENTS)).at(-1)?.cursor ?? null;

    it('changes begin at the last watermark less the overlap, so that late commits are found', async () => {
      await run(...table, events([1, '2026-01-01 10:00:00.123456'], [2, '2026-01-01 10:05:00']));
      const cursor = await endOf();
      await run(events([3, '2026-01-01 10:04:00'], [4, '2026-01-01 10:03:59.999999'], [5, '2026-01-01 10:06:00']));
      expect(await ids(EVENTS, { mode: 'changes', cursor })).toEqual(['3', '2', '5']);
    });

    it('changes read rows of one instant together, and none of them is lost between pages', async () => {
      const rows = Array.from({ length: 700 }, (_, at): [number, string] => [at, '2026-01-01 10:00:00']);
      await run(...table, events([9000, '2026-01-01 09:00:00']));
      const cursor = await endOf();
      await run(events(...rows));
      const pages = await pagesOf(EVENTS, { mode: 'changes', cursor });
      expect(pages.length).toBeGreaterThan(2);
      expect(pages.flatMap((page) => page.rows)).toHaveLength(701);
      let given = 0;
      for (const page of pages.slice(0, -1)) {
        given += page.rows.length;
        const rest = await ids(EVENTS, { mode: 'changes', cursor: page.cursor ?? null });
        expect(rest).toHaveLength(701 - given);
      }
    });

    it('changes leave rows without a watermark to snapshots, which read them', async () => {
      await run(...table, events([1, null], [2, '2026-01-01 10:00:00']));
      const cursor = await endOf();
      expect(await ids(EVENTS)).toEqual(['1', '2']);
      expect(await ids(EVENTS, { mode: 'changes', cursor })).toEqual(['2']);
    });

    it('changes begin where a snapshot began, not where it ended', async () => {
      const rows = Array.from({ length: 300 }, (_, at): [number, string] => [at, '2026-01-01 10:00:00']);
      await run(...table, events(...rows));
      let cursor: JsonValue = null;
      let page = 0;
      for await (const { cursor: at = null } of readPages(sql, setupOf(EVENTS))) {
        cursor = at;
        page += 1;
        // Two rows appear while the snapshot is read: one before the rows of the first page, and one after them.
        if (page === 1) await run(events([-1, '2026-01-01 11:00:00'], [900, '2026-01-01 12:00:00']));
      }
      const changed = await ids({ ...EVENTS, overlap: 0 }, { mode: 'changes', cursor });
      expect(changed.slice(-2)).toEqual(['-1', '900']);
    });

    it('changes begin again if the newest row is no longer the newest, since others may be older than it was', async () => {
      await run(...table, events([1, '2026-03-01 10:00:00'], [2, '2037-01-01 00:00:00'], [3, '2026-03-02 10:00:00']));
      const cursor = await endOf();
      // The clock is set right: row 2 gets its real time, and row 3 changes before it.
      await run("UPDATE event SET at = '2026-03-03 10:00:00' WHERE id = 2");
      await run("UPDATE event SET at = '2026-03-03 09:00:00' WHERE id = 3");
      const pages = await pagesOf(EVENTS, { mode: 'changes', cursor });
      expect(pages).toEqual([{ rows: [], beginAgain: expect.stringMatching(/event|default.*at=2037-01-01/) }]);
    });

    it('changes begin again if the newest row is gone and another one is within the overlap', async () => {
      await run(...table, events([1, '2026-03-01 10:00:00'], [2, '2026-03-02 09:58:00'], [3, '2026-03-02 10:00:00']));
      const cursor = await endOf();
      await run('DELETE FROM event WHERE id = 3', "UPDATE event SET at = '2026-03-02 09:00:00' WHERE id = 1");
      const pages = await pagesOf({ ...EVENTS, overlap: 300 }, { mode: 'changes', cursor });
      expect(pages).toEqual([{ rows: [], beginAgain: expect.stringContaining('at=2026-03-02') }]);
    });

    it('changes begin again where the watermark is another column', async () => {
      await run(...table, events([1, '2026-01-01 10:00:00']));
      const cursor = await endOf();
      const other = { ...EVENTS, query: 'SELECT id, at AS changed_at FROM event', watermark: 'changed_at' };
      expect(await ids(other, { mode: 'changes', cursor })).toEqual(['1']);
    });

    it('changes may be counted by a number that no double can hold', async () => {
      await run('DROP TABLE IF EXISTS versioned', 'CREATE TABLE versioned (id BIGINT PRIMARY KEY, version BIGINT)');
      const first = 9_007_199_254_740_993n;
      const all = Array.from({ length: 350 }, (_, at) => first + BigInt(at));
      await run(`INSERT INTO versioned VALUES ${all.map((id) => `(${id}, ${id})`).join(', ')}`);
      const query = 'SELECT id + 0 AS id, version + 0 AS version FROM versioned';
      const stream = { query, watermark: 'version', overlap: 10 };
      const pages = await pagesOf(stream);
      const found = pages.flatMap((page) => page.rows.map(({ fields }) => fields['id']));
      expect(found).toEqual(all.map(String));
      const changed = await ids(stream, { mode: 'changes', cursor: pages.at(-1)?.cursor ?? null });
      expect(changed).toEqual(all.slice(-11).map(String));
    });
  });

  describe('the columns of `page`', () => {
    it('the columns of `page` are bound as values, whatever they hold', async () => {
      await run('DROP TABLE IF EXISTS named', 'CREATE TABLE named (a VARCHAR(60), b INT, PRIMARY KEY (a, b))');
      const names = ["'; DROP TABLE named; --", 'ü"%_', '日本'];
      for (const name of names) {
        const values = Array.from({ length: 120 }, (_, at) => `('${name.replaceAll("'", "''")}', ${at})`);
        await run(`INSERT INTO named VALUES ${values.join(', ')}`);
      }
      expect(await read({ query: 'SELECT * FROM named', page: ['a', 'b'] })).toHaveLength(360);
    });

    it('the columns of `page` must identify a row', async () => {
      await run('DROP TABLE IF EXISTS twice', 'CREATE TABLE twice (id INT, n INT)');
      await run(`INSERT INTO twice VALUES (1, 1), (2, 1), (2, 2)`);
      await expect(read({ query: 'SELECT * FROM twice' })).rejects.toMatchObject(saying('same values in `page`: id=2'));
      await run('INSERT INTO twice VALUES (NULL, 1)');
      await expect(read({ query: 'SELECT * FROM twice' })).rejects.toMatchObject(saying('column id .* is NULL'));
    });
  });

  describe('a fault', () => {
    const one = 'SELECT 1 AS id';
    it.each<[string, string, JsonObject, string[]]>([
      ['a table that is missing', 'SELECT * FROM nowhere', {}, ['refuses the query', 'nowhere']],
      ['a wrong query', 'SELEC 1', {}, ['refuses the query', 'syntax']],
      ['two columns of one name', 'SELECT 1 AS id, 2 AS x, 3 AS x', {}, ['x']],
      ['a page column that is missing', 'SELECT 2 AS n', {}, ['no column id', 'It has n']],
      ['a wrong password', one, { password: 'not-the-password' }, ['refuses the user']],
      ['a missing database', one, { database: 'nowhere' }, ['nowhere']],
      ['a server that does not run', one, { port: 1 }, ['127.0.0.1:1 does not take connections']],
      ['a certificate that nobody knows', one, { tls: 'verify' }, ['with TLS', 'certificate']],
    ])('a fault of %s says what to do', async (_name, query, options, texts) => {
      const fault = await faultOf({ query }, { options });
      expect(fault).toMatchObject(saying(...texts));
      expect(String(fault)).not.toContain('not-the-password');
    });

    it('a statement of a database that takes too long is reported in time', async () => {
      const fault = await read({ query: SLOW[server.dialect] }, { options: { statementMs: 300 } }).catch(
        (error: unknown) => error,
      );
      expect(fault).toMatchObject(saying('has stopped a statement'));
    });
  });

  it('a database is read over TLS with the certificates that the options name', async () => {
    expect(await read({ query: 'SELECT 1 AS id' }, { options: { tls: 'verify', ca: server.ca } })).toEqual([
      { id: '1' },
    ]);
  });

  it('an abort stops a statement at the database server', async () => {
    const abort = new AbortController();
    const reading = read({ query: SLOW[server.dialect] }, { signal: abort.signal });
    const dialect = server.dialect;
    while ((await server.ask(RUNNING[dialect] ?? '')).length === 0) await delay(20);
    abort.abort(new Error('The test stops it.'));
    await expect(reading).rejects.toThrow('The test stops it.');
    // The server needs a moment to stop the statement. Without the stop, the statement would take minutes.
    const stoppedAt = Date.now();
    while ((await server.ask(RUNNING[dialect] ?? '')).length > 0) await delay(20);
    expect(Date.now() - stoppedAt).toBeLessThan(WAIT_MS);
  });
}

/** A query that takes some minutes. Its columns are known at once. */
const SLOW: Readonly<Record<string, string>> = {
  postgresql: 'SELECT n AS id, pg_sleep(60)::text AS slept FROM generate_series(1, 3) AS n',
  mariadb: 'SELECT seq AS id, SLEEP(60) AS slept FROM seq_1_to_3',
};
const RUNNING: Readonly<Record<string, string>> = {
  postgresql: "SELECT 1 FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active' AND query LIKE '%slept%'",
  mariadb: "SELECT 1 FROM information_schema.processlist WHERE user = 'reader' AND info LIKE '%slept%'",
};

/** The last test of a server. */
function dies(): void {
  it('a database that dies in the middle of a read is named, and nothing is taken for gone', async () => {
    await run('DROP TABLE IF EXISTS many', 'CREATE TABLE many (id INT PRIMARY KEY)');
    const rows = Array.from({ length: 2_000 }, (_, at) => `(${at})`);
    await run(`INSERT INTO many VALUES ${rows.join(', ')}`);
    // More than the buffers of a connection take, so that the server has not sent everything when it dies.
    const query = "SELECT id, repeat('x', 8000) AS pad FROM many";
    let given = 0;
    const reading = async (): Promise<void> => {
      for await (const page of readPages(sql, setupOf({ query }))) {
        if (given === 0) await server.kill();
        given += page.rows.length;
      }
    };
    await expect(reading()).rejects.toMatchObject(saying('has ended the connection'));
    expect(given).toBeLessThan(2_000);
    expect(await faultOf({ query: 'SELECT * FROM many' })).toMatchObject(saying('does not take connections'));
  });
}

describePostgres('a PostgreSQL server', () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  onEveryServer();

  it('PostgreSQL gives every value exactly', async () => {
    const query = `SELECT 1 AS id, 12345678901234567890.1234567890::numeric AS d, 9223372036854775807::bigint AS b,
      timestamp '2026-01-02 03:04:05.678901' AS t, timestamptz '2026-01-02 03:04:05+02' AS tz, date '2026-01-02' AS day,
      0.1::real AS r, 0.1::float8 AS f, true AS yes, false AS no, NULL::int AS nothing, '\\x00ff'::bytea AS bytes,
      '{"a": 12345678901234567890, "b": [1.5, null]}'::jsonb AS j, '007' AS text, 'null'::json AS jnull`;
    expect(await read({ query })).toEqual([
      {
        id: '1',
        d: '12345678901234567890.1234567890',
        b: '9223372036854775807',
        t: '2026-01-02 03:04:05.678901',
        tz: '2026-01-02 01:04:05+00',
        day: '2026-01-02',
        r: '0.1',
        f: '0.1',
        yes: true,
        no: false,
        nothing: null,
        bytes: 'AP8=',
        j: { a: '12345678901234567890', b: [1.5, null] },
        text: '007',
        jnull: null,
      },
    ]);
  });

  it('PostgreSQL has an issue for JSON in which an object has a name twice', async () => {
    const query = `SELECT id, j::json FROM (VALUES (1, '{"a": 1, "a": 2}'), (2, '{"a": 1}')) AS t (id, j)`;
    const rows = (await pagesOf({ query })).flatMap((page) => page.rows);
    expect(rows.map(({ issues }) => issues?.map(({ code, field }) => `${code} ${field}`))).toEqual([
      ['row.duplicate j'],
      undefined,
    ]);
  });

  it('a composite value with a part that is NULL has no position in the order of `page`', async () => {
    const query = 'SELECT n AS id, ROW(n, CASE WHEN n < 3 THEN n END) AS pair FROM generate_series(1, 5) AS n';
    expect(await read({ query })).toHaveLength(5);
    await expect(read({ query, page: ['pair'] })).rejects.toMatchObject(saying('a part that is NULL', 'pair='));
  });

  it('a watermark whose type has no numbers below 0 is refused, where a subtraction would begin at its end', async () => {
    const query = 'SELECT n AS id, n::oid AS version FROM generate_series(1, 5) AS n';
    await expect(read({ query, watermark: 'version' })).rejects.toMatchObject(saying('number in a column'));
  });

  it('a database is never written to', async () => {
    await run('CREATE SEQUENCE counter', 'GRANT ALL ON SEQUENCE counter TO reader');
    await expect(read({ query: "SELECT nextval('counter') AS id" })).rejects.toMatchObject(saying('read-only'));
  });

  it('a database is never written to by a query that takes the setting of the session back', async () => {
    await run('CREATE SEQUENCE taken', 'GRANT ALL ON SEQUENCE taken TO reader');
    const off = "set_config('default_transaction_read_only', 'off', false)";
    const query = `SELECT n AS id, CASE WHEN n > 200 THEN nextval('taken')::text ELSE ${off} END AS x FROM generate_series(1, 400) AS n`;
    await expect(read({ query })).rejects.toMatchObject(saying('read-only'));
    const twice = "SELECT 1 AS id) AS x; SELECT nextval('taken'); SELECT 1 FROM (SELECT 2 AS id";
    await expect(read({ query: twice })).rejects.toMatchObject(saying('refuses the query'));
    expect(await server.ask('SELECT last_value, is_called FROM taken')).toEqual([['1', false]]);
  });

  it('a database that denies a right says so', async () => {
    await run(
      'CREATE SCHEMA hidden',
      'CREATE TABLE hidden.t (id INT)',
      "CREATE ROLE poor LOGIN PASSWORD 'poor-password'",
    );
    const options = { user: 'poor', password: 'poor-password' };
    expect(await faultOf({ query: 'SELECT * FROM hidden.t' }, { options })).toMatchObject(
      saying('denies a right', 'hidden'),
    );
  });

  dies();
});

describePgBouncer('a PostgreSQL server behind a pooler', () => {
  let pooler: Awaited<ReturnType<typeof startPgBouncer>>;
  let other: Client;
  beforeAll(async () => {
    server = await startPostgres();
    pooler = await startPgBouncer(server);
    other = new Client({ host: '127.0.0.1', port: pooler.port, database: 'postgres', user: 'reader' });
    await other.connect();
  });
  afterAll(async () => {
    await other?.end();
    await pooler?.stop();
    await server.stop();
  });

  it('a session that programs share has no setting of a read, and a read has none of the other programs', async () => {
    const ask = async (text: string): Promise<unknown[][]> =>
      (await other.query<unknown[]>({ text, rowMode: 'array' })).rows;
    const settings = `SELECT name, setting FROM pg_settings WHERE name IN ('default_transaction_read_only',
      'statement_timeout', 'lock_timeout', 'TimeZone', 'IntervalStyle', 'bytea_output', 'extra_float_digits') ORDER BY 1`;
    for (const set of ["timezone = 'Asia/Tokyo'", 'extra_float_digits = 0', "bytea_output = 'escape'"])
      await other.query(`SET ${set}`);
    const before = await ask(settings);
    const query = `SELECT n AS id, timestamptz '2026-01-02 03:04:05+00' AS at, '\\x00ff'::bytea AS bytes, 0.1::float8 + 0.2 AS f
      FROM generate_series(1, 20) AS n`;
    const rows = await read({ query }, { options: { port: pooler.port } });
    expect(rows).toHaveLength(20);
    expect(rows[19]).toMatchObject({ at: '2026-01-02 03:04:05+00', bytes: 'AP8=', f: '0.30000000000000004' });
    expect(await ask(settings)).toEqual(before);
  });
});

describeMariaDb('a MariaDB server', () => {
  beforeAll(async () => {
    server = await startMariaDb();
  });
  afterAll(() => server.stop());
  onEveryServer();

  it('MariaDB gives every value exactly', async () => {
    await run(`CREATE TABLE kinds (id INT, d DECIMAL(40, 10), b BIGINT UNSIGNED, t DATETIME(6), ts TIMESTAMP NULL, day DATE,
      tm TIME(3), r FLOAT, f DOUBLE, yes BIT(1), bits BIT(12), few BIT(8), flag BOOLEAN, nothing INT, bytes VARBINARY(8), blobs BLOB,
      j JSON, txt TEXT CHARACTER SET latin1, y YEAR, e ENUM('a', 'b'))`);
    await run(`SET time_zone = '+02:00'`);
    await run(`INSERT INTO kinds VALUES (1, 12345678901234567890.1234567890, 18446744073709551615, '2026-01-02 03:04:05.678901',
      '2026-01-02 03:04:05', '2026-01-02', '-12:34:56.789', 0.1, 0.1, b'1', b'100000000001', b'0', TRUE, NULL, x'00ff', x'c3',
      '{"a": 12345678901234567890}', 'ü', 2026, 'b')`);
    expect(await read({ query: 'SELECT * FROM kinds', json: ['j'] })).toEqual([
      {
        id: '1',
        d: '12345678901234567890.1234567890',
        b: '18446744073709551615',
        t: '2026-01-02 03:04:05.678901',
        ts: '2026-01-02 01:04:05',
        day: '2026-01-02',
        tm: '-12:34:56.789',
        r: '0.1',
        f: '0.1',
        yes: true,
        bits: '2049',
        few: '0',
        flag: '1',
        nothing: null,
        bytes: 'AP8=',
        blobs: 'ww==',
        j: { a: '12345678901234567890' },
        txt: 'ü',
        y: '2026',
        e: 'b',
      },
    ]);
  });

  it('MariaDB gives the zeros of a ZEROFILL column, and reads it page by page', async () => {
    await run('CREATE TABLE filled (no INT(8) ZEROFILL PRIMARY KEY, changed INT(10) ZEROFILL)');
    await run('INSERT INTO filled SELECT seq, seq FROM seq_1_to_30');
    const filled = { query: 'SELECT * FROM filled', page: ['no'], watermark: 'changed', overlap: 0 };
    const rows = await read(filled);
    expect(rows).toHaveLength(30);
    expect(rows[29]).toEqual({ no: '00000030', changed: '0000000030' });
    const cursor = (await pagesOf(filled)).at(-1)?.cursor ?? null;
    await run('UPDATE filled SET changed = 31 WHERE no = 7');
    expect(await read(filled, { mode: 'changes', cursor })).toEqual([
      { no: '00000030', changed: '0000000030' },
      { no: '00000007', changed: '0000000031' },
    ]);
  });

  it('a collation that takes two keys for one stops the read where a row would be lost', async () => {
    await run('CREATE TABLE cased (a VARCHAR(20) COLLATE utf8mb4_general_ci, n INT)');
    const rows = Array.from({ length: 7 }, (_, at) => `('a${String(at).padStart(3, '0')}', 1)`);
    await run(`INSERT INTO cased VALUES ${rows.join(', ')}, ('Z', 1), ('z', 2)`);
    await expect(read({ query: 'SELECT * FROM cased', page: ['a'] })).rejects.toMatchObject(
      saying('same values', 'a=[zZ]'),
    );
    // A read of changes may be stopped after any page. The next read continues after its last row.
    const changes = { query: 'SELECT a, IF(n = 2, 1, n) AS n FROM cased', page: ['a'], watermark: 'n' };
    const pages = readPages(sql, setupOf(changes, { mode: 'changes' }));
    await expect(pages.next()).rejects.toMatchObject(saying('same values', 'a=[zZ]'));
  });

  it('a database is never written to', async () => {
    await run('CREATE TABLE counted (n INT)', 'GRANT ALL ON shop.* TO reader@"%"');
    await run('CREATE FUNCTION counting() RETURNS INT BEGIN INSERT INTO counted VALUES (1); RETURN 1; END');
    await expect(read({ query: 'SELECT counting() AS id' })).rejects.toMatchObject(saying('read-only|READ ONLY'));
    expect(await server.ask('SELECT * FROM counted')).toEqual([]);
  });

  it('a database that denies a right says so', async () => {
    await run("CREATE USER poor@'%' IDENTIFIED BY 'poor-password'", 'CREATE TABLE hidden (id INT)');
    await run("GRANT SELECT ON shop.kinds TO poor@'%'");
    const options = { user: 'poor', password: 'poor-password' };
    expect(await faultOf({ query: 'SELECT * FROM hidden' }, { options })).toMatchObject(
      saying('denies a right', 'hidden'),
    );
  });

  dies();
});
