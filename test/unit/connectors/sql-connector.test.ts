import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { singleText } from '../../../connectors/sql/dialect.ts';
import { sql } from '../../../connectors/sql/index.ts';
import { earlierBy } from '../../../connectors/sql/watermark.ts';
import type { JsonValue } from '../../../src/sdk/index.ts';
import { probe, readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { loadText, REPOSITORY } from '../../support/worlds/config-folder.ts';

describe('a watermark less the overlap', () => {
  it.each([
    ['2026-01-01 00:00:10.123456+00', 20, '2025-12-31 23:59:50.123456+00'],
    ['2026-03-01T00:00:00Z', 1, '2026-02-28T23:59:59Z'],
    ['2026-03-01', 300, '2026-02-28'],
    ['2026-03-01', 86_401, '2026-02-27'],
    ['9007199254740993', 300, '9007199254740693'],
    ['anything', 0, 'anything'],
    ['1000.25', 300, '700.25'],
    ['10.25', 300, '-290'],
    ['-10.25', 300, '-311'],
    ['0044-03-15', 300, '0044-03-15'],
    ['0000-00-00 00:00:00', 300, '0000-00-00 00:00:00'],
    ['2026-01-01 00:00:00 BC', 300, '2026-01-01 00:00:00 BC'],
    ['1901-01-01 00:00:00', 86_400 * 3650, '1900-01-01 00:00:00'],
  ])('the watermark %s less the overlap %i is %s', (watermark, overlap, expected) => {
    expect(earlierBy(watermark, overlap, 'number')).toBe(expected);
  });

  it('a watermark less the overlap is refused where it has no meaning', () => {
    expect(() => earlierBy('infinity', 300, 'time')).toThrow(
      'The watermark "infinity" is not a time, a date or a number.',
    );
  });
});

it.each([0.1, 16_777_216, 1 / 3, 3.4e38, 1e-45, -2.5])(
  'the sql connector writes %d in single precision so that it is read back',
  (value) => {
    const single = Math.fround(value);
    expect(Math.fround(Number(singleText(single)))).toBe(single);
    expect(singleText(single).length).toBeLessThan(15);
  },
);

describe('SQLite', () => {
  const read = async (statements: string, stream: object) => {
    await using folder = await temporaryFolder();
    const database = new Database(join(folder.path, 'x.db'));
    database.exec(statements);
    database.close();
    const rows = await readRows(sql, { folder: folder.path, options: { dialect: 'sqlite', file: 'x.db' }, stream });
    return rows.map(({ fields }) => fields);
  };

  it('SQLite gives the columns of a query before its rows, and without rows', async () => {
    await using folder = await temporaryFolder();
    new Database(join(folder.path, 'x.db')).exec('CREATE TABLE t (id TEXT, name TEXT)').close();
    const found: unknown[] = [];
    const stream = { query: 'SELECT * FROM t', page: ['id'] };
    const options = { dialect: 'sqlite', file: 'x.db' };
    await readRows(sql, { folder: folder.path, options, stream, onColumns: (one) => found.push(one) });
    expect(found).toEqual([{ names: ['id', 'name'], where: 'default' }]);
  });

  it('SQLite text that is not UTF-8 is an issue of its column, and the other rows are read', async () => {
    await using folder = await temporaryFolder();
    const database = new Database(join(folder.path, 'x.db'));
    database.exec(`CREATE TABLE p (id TEXT PRIMARY KEY, name TEXT, extra JSON);
      INSERT INTO p VALUES ('1', CAST(x'4772fc6e' AS TEXT), NULL), ('2', 'Gr\ufffdn', NULL), ('3', 'Grün', '{"a":"\ufffd"}')`);
    database.close();
    const stream = { query: 'SELECT * FROM p', page: ['id'], json: ['extra'] };
    const rows = await readRows(sql, { folder: folder.path, options: { dialect: 'sqlite', file: 'x.db' }, stream });
    const damage = (field: string) => [{ code: 'row.encoding', field, onlyField: true }];
    expect(rows).toMatchObject([
      { fields: { id: '1' }, issues: damage('name') },
      { fields: { id: '2' }, issues: damage('name') },
      { fields: { name: 'Grün' }, issues: damage('extra') },
    ]);
  });

  it('SQLite text that is not UTF-8 stops a read in the order of its column, because rows would be lost', async () => {
    const rows = Array.from({ length: 12 }, (_, at) => `(CAST(x'41${(0xb0 + at).toString(16)}' AS TEXT))`);
    const statements = `CREATE TABLE p (id TEXT); INSERT INTO p VALUES ${rows.join()}`;
    await expect(read(statements, { query: 'SELECT * FROM p', page: ['id'] })).rejects.toThrow(
      'The column id, by which the stream default is read, has text that is not valid in the encoding of the database',
    );
    const fine = `CREATE TABLE p (id TEXT); INSERT INTO p VALUES ('A\ufffd'), ('B')`;
    expect(await read(fine, { query: 'SELECT * FROM p', page: ['id'] })).toHaveLength(2);
  });

  it('SQLite gives numbers with every digit, bytes in Base64 and JSON where it is named', async () => {
    const query = `SELECT 9223372036854775807 AS id, 0.1 AS f, '007' AS t, x'00ff' AS b, NULL AS n, '{"a":[1]}' AS j`;
    expect(await read('', { query, page: ['id'], json: ['j'] })).toEqual([
      { id: '9223372036854775807', f: '0.1', t: '007', b: 'AP8=', n: null, j: { a: [1] } },
    ]);
  });

  it('SQLite text with JSON in which an object has a name twice is an issue of its column', async () => {
    await using folder = await temporaryFolder();
    const database = new Database(join(folder.path, 'x.db'));
    database.exec(`CREATE TABLE p (id TEXT, j TEXT, text TEXT);
      INSERT INTO p VALUES ('1', '{"a":[{"b":1,"b":2}]}', ''), ('2', '{"b":1}', '{"b":1,"b":2}')`);
    database.close();
    const stream = { query: 'SELECT * FROM p', page: ['id'], json: ['j'] };
    const rows = await readRows(sql, { folder: folder.path, options: { dialect: 'sqlite', file: 'x.db' }, stream });
    expect(rows.map(({ issues }) => issues)).toEqual([
      [
        {
          code: 'row.duplicate',
          field: 'j',
          message: expect.stringContaining('the column j has the name "b" twice'),
          cure: expect.any(String),
        },
      ],
      undefined,
    ]);
  });

  it.each([
    ['a number of the table', 'SELECT id FROM t'],
    ['a computed number', 'SELECT id + 0 AS id FROM t'],
    ['text that looks like numbers', "SELECT printf('%05d', id) AS id FROM t"],
  ])('SQLite compares %s by its type', async (_name, query) => {
    const table = `CREATE TABLE t (id INTEGER PRIMARY KEY);
      WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1500) INSERT INTO t SELECT n FROM r`;
    const rows = await read(table, { query, page: ['id'] });
    expect(rows.map(({ id }) => Number(id))).toEqual(Array.from({ length: 1_500 }, (_, at) => at + 1));
  });

  /** The watermarks that a read gives: of the changes after `later` was added to a snapshot, or else of the snapshot. */
  const changesAfter = async (values: readonly string[], later?: string) => {
    await using folder = await temporaryFolder();
    const insert = (value: string) => {
      const database = new Database(join(folder.path, 'x.db'));
      database.exec('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, w TEXT)');
      database.prepare('INSERT INTO t (w) VALUES (?)').run(value);
      database.close();
    };
    for (const value of values) insert(value);
    const stream = { query: 'SELECT id, w FROM t', page: ['id'], watermark: 'w', overlap: 300 };
    const setup = { folder: folder.path, options: { dialect: 'sqlite', file: 'x.db' }, stream };
    let cursor: JsonValue = null;
    for await (const page of readPages(sql, setup)) cursor = page.cursor ?? null;
    if (later === undefined) return (await readRows(sql, setup)).map(({ fields }) => fields['w']);
    insert(later);
    const rows = await readRows(sql, { ...setup, mode: 'changes', cursor });
    return rows.map(({ fields }) => fields['w']);
  };

  it('SQLite refuses a watermark of text from which the overlap cannot be taken, before the first row', async () => {
    for (const value of ['1000', '00010', '-5', 'anything', '12:30:00'])
      await expect(changesAfter([value]), value).rejects.toThrow(`The watermark "${value}"`);
    expect(await changesAfter(['20260101'], '20260102')).toEqual(['20260101', '20260102']);
  });

  it('SQLite refuses times in a column of text whose time zones differ', async () => {
    const [east, west] = ['2026-01-01 10:30:00+02:00', '2026-01-01 10:00:00+01:00'];
    await expect(changesAfter([east, west], east)).rejects.toThrow('several time zones');
    await expect(changesAfter([west], east)).rejects.toThrow('several time zones');
    expect(await changesAfter([east], east)).toEqual([east, east]);
  });

  it.each([
    ['SELECT 1 AS id; -- the end'],
    ['SELECT 1 AS id;\n/* the\n end; */ -- of it\n;'],
    ['SELECT 1 AS id /* no; end */'],
  ])('SQLite reads %j', async (query) => {
    expect(await read('', { query, page: ['id'] })).toEqual([{ id: '1' }]);
  });

  it('SQLite names a file that is missing or is no database', async () => {
    await using folder = await temporaryFolder({
      'x.db': 'This text is no database, and long enough to be read as one.',
    });
    const check = (file: string) =>
      probe(sql, {
        folder: folder.path,
        options: { dialect: 'sqlite', file },
        stream: { query: 'SELECT 1 AS id', page: ['id'] },
      });
    await expect(check('y.db')).rejects.toThrow('The SQLite database y.db cannot be opened.');
    await expect(check('x.db')).rejects.toThrow('The SQLite database x.db is not an SQLite database.');
  });
});

it('the preset of the sql connector is a whole config without a problem', async () => {
  const text = readFileSync(join(REPOSITORY, 'config/presets/sql.yaml'), 'utf8');
  const [host, database, user, password] = ['db.example.com', 'erp', 'reader', 'a-password'];
  const env = {
    DPP_BASE_URL: 'https://dpp.example.com',
    DPP_API_KEY: 'dpp_live_0123456789',
    ERP_HOST: host,
    ERP_DATABASE: database,
    ERP_USER: user,
    ERP_PASSWORD: password,
  };
  const { warnings } = await loadText(text, { env });
  expect(warnings).toEqual([]);
});

it('the examples of the documents fit the options of the sql connector', () => {
  for (const file of ['connectors/sql/README.md', 'docs/connectors/sql.md']) {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(readFileSync(join(REPOSITORY, file), 'utf8')) ?? [];
    const { sources } = parse(example) as {
      sources: { options: object; streams: Record<string, { key: string[] }> }[];
    };
    for (const { options, streams } of sources) {
      expect(sql.options.safeParse(options).error).toBeUndefined();
      for (const { key, ...stream } of Object.values(streams)) {
        expect(sql.streamOptions.safeParse(stream).error).toBeUndefined();
        expect(key.length).toBeGreaterThan(0);
      }
    }
  }
});
