// The statements and the schema of the ledger in PostgreSQL. A ledger over PostgreSQL is planned, so both are written in words that
// both databases understand.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { orderedPlaces, SOUND_CHECKS } from '../../../src/ledger/backup/verify.ts';
import { readSchema } from '../../../src/ledger/schema.ts';
import { forPostgres, schemaForPostgres } from '../../../src/ledger/store/postgres.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { describePostgres, startPostgres } from '../../support/servers/postgres-server.ts';

/** The statements that are constants of the ledger's files. */
const constants = vi.hoisted(() => new Set<string>());
vi.mock(import('../../../src/ledger/store/tx.ts'), async (load) => {
  const { statement, column, ...others } = await load();
  const listed =
    <Make extends typeof statement>(make: Make) =>
    (text: string) => {
      constants.add(text);
      return make(text);
    };
  return { ...others, statement: listed(statement) as typeof statement, column: listed(column) as typeof column };
});

/** What only SQLite has: its own tables, and the words of transactions. */
const OF_SQLITE = /\bsqlite_\w+|^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/;

describePostgres('the ledger in PostgreSQL', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgres();
    await server.run(readFileSync(new URL('../../../src/ledger/store/postgres.sql', import.meta.url), 'utf8'));
    await server.run(schemaForPostgres(readSchema()));
  });
  afterAll(() => server.stop());

  it('has the tables, the columns and the first rows of SQLite', async () => {
    const { default: Database } = await import('better-sqlite3');
    const sqlite = new Database(':memory:');
    sqlite.exec(readSchema());
    const columns = sqlite
      .prepare(
        `SELECT t.name, c.name, CASE WHEN t.type = 'table' THEN iif(c.type = 'INTEGER', 'bigint', 'text') END,
           iif(c."notnull" OR c.pk, 1, 0) FROM pragma_table_list t JOIN pragma_table_info(t.name) c
         WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid`,
      )
      .raw()
      .all();
    const found = await server.ask(
      `SELECT c.table_name, c.column_name, CASE WHEN t.table_type = 'BASE TABLE' THEN c.data_type END,
         CASE WHEN t.table_type = 'BASE TABLE' AND c.is_nullable = 'NO' THEN 1 ELSE 0 END
       FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
       WHERE c.table_schema = 'public' ORDER BY c.table_name COLLATE "C", c.ordinal_position`,
    );
    expect(found).toEqual(columns);
    const indexes = sqlite
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
      .pluck()
      .all();
    const named = await server.ask(
      `SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname = ANY (ARRAY[${indexes.map((name) => `'${String(name)}'`).join(', ')}]) ORDER BY indexname COLLATE "C"`,
    );
    expect(named.flat()).toEqual(indexes);
    const rows = 'SELECT kind, needed, shown FROM listings ORDER BY kind';
    expect((await server.ask(rows)).map(([kind, needed, shown]) => [kind, Number(needed), shown])).toEqual(
      sqlite.prepare(rows).raw().all(),
    );
    sqlite.close();
  });

  it('reads members of stored JSON as SQLite does, also beside characters that PostgreSQL refuses', async () => {
    const { default: Database } = await import('better-sqlite3');
    const sqlite = new Database(':memory:');
    const object = { a: 'x\0y', b: '\\u0000', c: [{ d: '\ud800z', e: true }], f: 1.5, g: null, h: '😀', 'i.j': 'k' };
    const json = JSON.stringify(object);
    for (const path of ['$.a', '$.b', '$.c[0].d', '$.c[0].e', '$.f', '$.g', 'h', 'i.j', '$.none']) {
      const inSqlite = sqlite
        .prepare<[string, string], string | number | null>('SELECT ? ->> ?')
        .pluck()
        .get(json, path);
      const [[found]] = (await server.ask(`SELECT '${json}'::text ->> '${path}'`)) as [[unknown]];
      // SQLite gives three of them for half a surrogate pair.
      const text =
        inSqlite === null || inSqlite === undefined ? null : String(inSqlite).replaceAll(/\0|\ufffd{3}/g, '\ufffd');
      expect([path, found]).toEqual([path, text]);
    }
    sqlite.close();
    const [[list]] = (await server.ask(
      `SELECT string_agg(value, ',' ORDER BY key) FROM each_text('["a","\\u0000"]')`,
    )) as [[string]];
    expect(list).toBe('a,\ufffd');
  });

  it('can prepare every statement of the ledger', async () => {
    // Another test of this worker may have loaded the files of the ledger before.
    vi.resetModules();
    await import('../../../src/ledger/sqlite-ledger.ts');
    await import('../../../src/ledger/backup/restore.ts');
    const { listStatements } = await import('../support/all-statements.ts');
    const { statements, db, fixture } = await listStatements(constants);
    db.close();
    await fixture.remove();
    for (const { sql } of SOUND_CHECKS) statements.add(orderedPlaces(sql));
    const common = [...statements].filter((sql) => !OF_SQLITE.test(sql));
    expect(common.length).toBeGreaterThan(400);
    const refused: string[] = [];
    for (const sql of common) {
      const { text } = forPostgres(sql);
      try {
        await server.run(`PREPARE one AS ${text}`);
        await server.run('DEALLOCATE one');
      } catch (error) {
        refused.push(`${(error as Error).message}: ${text}`);
      }
    }
    expect(refused).toEqual([]);
  });

  it('a statement has the parameters of SQLite, each in its place', () => {
    const one = forPostgres(
      "SELECT i.id FROM items i INDEXED BY items_due CROSS JOIN refs r ON r.item_id = +i.id WHERE i.key = +? AND i.state IS ? AND '@a' <> '?'",
    );
    expect(one).toEqual({
      text: "SELECT i.id FROM items i JOIN refs r ON r.item_id = i.id WHERE i.key = $1 AND i.state IS NOT DISTINCT FROM $2 AND '@a' <> '?'",
      parameters: [0, 1],
    });
    const two = forPostgres('SELECT iif(@b > 1, @a, iif(max(@b, 2) = 2, 1, 0)) AS isDue -- a word, (@c\n FROM runs');
    expect(two).toEqual({
      text: 'SELECT iif($1 > 1, $2, iif(max($1, 2) = 2, 1, 0)) AS "isDue" FROM runs',
      parameters: ['b', 'a'],
    });
  });
});
