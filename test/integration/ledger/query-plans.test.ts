// The query plans of SQLite for the statements of the ledger. A ledger may have millions of items, so no statement that runs for each
// item, page or request may read all of them.

import type Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LedgerFixture } from '../../support/ledger/ledger.ts';
import { listStatements } from '../support/all-statements.ts';

/** The statements that are constants of the ledger's files, also those that nothing has used yet. */
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

describe('the statements of the ledger', () => {
  let fixture: LedgerFixture;
  let db: Database.Database;
  let statements: Set<string>;
  let ofDashboard: Set<string>;

  beforeAll(async () => {
    // Another test of this worker may have loaded the files of the ledger before.
    vi.resetModules();
    await import('../../../src/ledger/sqlite-ledger.ts');
    ({ fixture, db, statements, ofDashboard } = await listStatements(constants));
  });
  afterAll(async () => {
    db.close();
    await fixture.remove();
  });

  /** The steps of the plan that SQLite makes for a statement. */
  function planOf(sql: string): string[] {
    const names = [...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, '[]'] as const);
    const places = Array.from(sql.matchAll(/\?/g), () => '[]');
    const values: unknown[] = names.length > 0 ? [Object.fromEntries(names)] : places;
    const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    return steps.map(({ detail }) => detail);
  }

  /** The one statement that has this text in it. */
  function statementWith(text: string): string {
    const found = [...statements].filter((sql) => sql.includes(text));
    expect(found).toHaveLength(1);
    return found[0] ?? '';
  }

  /** Indexes that have an entry for every item or record. */
  const WHOLE = 'sqlite_autoindex_(items|records)_1|items_by_natural_key|items_by_record|items_by_time';

  /** The tables of items and records that a plan walks as a whole, or all items of one kind. */
  function walks(sql: string): string[] {
    const names = new Set(['items', 'records']);
    for (const [, alias] of sql.matchAll(/\b(?:items|records) (?:AS )?([a-z])\b/g)) names.add(alias ?? '');
    const wholeTable = new RegExp(`^SCAN (\\w+)( USING (COVERING )?INDEX (${WHOLE}))?$`);
    const wholeKind = new RegExp(
      `^SEARCH (\\w+)( EXISTS)? USING (COVERING )?INDEX (${WHOLE}) \\((kind|stream_id|source)=\\?\\)`,
    );
    return planOf(sql).filter((step) => {
      const [, table = ''] = wholeTable.exec(step) ?? wholeKind.exec(step) ?? [];
      return names.has(table);
    });
  }

  it('SQLite can compile every statement of the ledger, also those that no command has used yet', () => {
    expect(statements.size).toBeGreaterThan(400);
  });

  /** The statements that may read all items or records, and when they run. */
  const MAY_WALK: [text: string, when: string][] = [
    ['SELECT count(*) FROM items', 'for totals, in the smallest index'],
    ['FROM items NOT INDEXED GROUP BY source, kind', 'for the metrics, in a thread of their own'],
    ["i.kind = 'passport' AND i.revision = 0", 'for the metrics, in a thread of their own'],
    ['AS kind, count(*) AS n FROM items WHERE kind', 'for totals, in an index of the kinds'],
    ['INDEXED BY passports_by_standing', 'for totals of passports, in an index of passports'],
    ['count(*) AS n FROM items WHERE source IN', 'for totals of some sources'],
    ['SELECT count(*) AS present FROM records', 'for a picture, in the smallest index'],
    ['INDEXED BY items_by_time WHERE i.source = s.source', 'to the last entry of a source, which max() finds at once'],
    ['END AS state, count(*) AS count FROM items p LEFT JOIN items q', 'for totals of passports'],
    [
      "END AS state, count(*) AS count FROM items q CROSS JOIN items p ON q.kind = 'passport'",
      'for totals of passports',
    ],
    ['SET appeared_at = appeared_at + CASE', 'once the clock was set back'],
    ["WHERE remote_id = 'null' AND kind IN", 'once in the life of a ledger'],
    ['WHERE request_id IS NOT NULL AND operation IN', 'once when a restored ledger is accepted'],
    ['DELETE FROM requests WHERE id NOT IN', 'once when a restored ledger is accepted'],
    ['SET was_absent = 0', 'once when a restored ledger is accepted'],
    ["SELECT 1 FROM items WHERE kind = 'passport' LIMIT 1", 'up to the first one'],
    [
      's.source AND i.missing_since IS NULL AND i.acknowledged',
      'up to the first one, of a source that the config lacks',
    ],
    ['missing_since IS NULL ORDER BY key LIMIT @count', 'up to a limit in a run, for tombstones of unknown keys'],
    ["SET state = 'stale'", 'once for a changed mapping'],
    ["SET state = iif(missing_since IS NULL, 'pending', 'stale')", 'once for a changed mapping'],
    ['SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL', 'at the end of a whole export'],
    ['SELECT count(*) FROM records WHERE stream_id', 'at the end of a whole export'],
    ['SELECT 1 FROM records WHERE stream_id = ? LIMIT 1', 'up to the first one'],
    ['SELECT 1 FROM records r CROSS JOIN items i', 'up to a limit, where records have released items'],
    ['AND (EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)', 'up to a limit, where an export has lost items'],
  ];

  it('the statements of the ledger walk neither all items nor all records, but for those that are listed here', () => {
    const asked = [...statements].filter((sql) => /^\s*(SELECT|WITH|UPDATE|DELETE)\b/.test(sql));
    expect(asked.length).toBeGreaterThan(100);
    const walking = asked.filter((sql) => walks(sql).length > 0);
    expect(walking.filter((sql) => !MAY_WALK.some(([text]) => sql.includes(text)))).toEqual([]);
  });

  it('the statements of the dashboard use an index for each list and each page', () => {
    expect(ofDashboard.size).toBeGreaterThan(40);
    const walking = [...ofDashboard].filter((sql) => /^\s*(SELECT|WITH)\b/.test(sql) && walks(sql).length > 0);
    expect(walking.filter((sql) => !MAY_WALK.some(([text]) => sql.includes(text)))).toEqual([]);
  });

  it('the ledger looks up a product by its key and by its natural key, by an index', () => {
    const plan = planOf(statementWith('SELECT n.value AS asked'));
    expect(plan.filter((step) => step.includes('SEARCH'))).toEqual([
      'SEARCH p USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH items USING COVERING INDEX sqlite_autoindex_items_1 (kind=? AND key=?)',
      'SEARCH items USING COVERING INDEX items_by_natural_key (kind=? AND natural_key=?)',
      'SEARCH q USING INDEX sqlite_autoindex_items_1 (kind=? AND key=?) LEFT-JOIN',
    ]);
  });

  it('the ledger looks up an item by its remote id, by an index', () => {
    for (const text of ['remote_id = listed.remote_id', 'i.remote_id = k.value AND i.remote_id']) {
      expect(planOf(statementWith(text)).at(-1)).toMatch(/items_by_remote_id \(kind=\? AND remote_id=\?\)/);
    }
  });

  it('the ledger counts items by the indexes of those that are open', () => {
    const indexes = planOf(statementWith('GROUP BY +i.kind, +i.state')).flatMap((step) => /SCAN i .*/.exec(step) ?? []);
    expect(indexes).toEqual(['waiting', 'sending', 'stuck'].map((name) => `SCAN i USING INDEX items_${name}`));
    expect(planOf(statementWith('SELECT i.operation, count(*) AS n'))[0]).toBe('SCAN i USING INDEX items_due');
  });

  it('what alerts ask every ten seconds is read from an index alone, or of the few streams', () => {
    const stuck = planOf(statementWith("WHERE i.state = 'parked' AND i.kind <> 'passport'"));
    expect(stuck.filter((step) => / i\b/.test(step))).toEqual([
      'SEARCH i USING COVERING INDEX items_by_reason (state=?)',
      'SEARCH i USING COVERING INDEX items_by_reason (state=?)',
    ]);
    // This is asked only of sources of which an alert fires, and the first row that is found is enough.
    const sending = planOf(statementWith("i.state = 'due' AND i.kind <> 'passport' AND +i.source = s.value"));
    expect(sending.filter((step) => / i\b/.test(step))).toEqual(
      ['due', 'sending', 'scheduled'].map((name) => expect.stringContaining(`i USING INDEX items_${name}`)),
    );
    const empty = planOf(statementWith('s.emptied AS isNew')).filter((step) => /^(SCAN|SEARCH)/.test(step));
    expect(empty).toEqual([
      'SCAN s',
      'SEARCH a EXISTS USING PRIMARY KEY (run_id=? AND stream_id=?)',
      expect.stringMatching(/^SEARCH r USING INDEX runs_by_source \(source=\?/),
    ]);
  });

  it('the ledger finds what may be replayed by the indexes of stuck, ignored and quarantined entries', () => {
    const plan = planOf(statementWith('WITH found (record_id)'));
    expect(plan.filter((step) => /^SCAN [ir]\b/.test(step))).toEqual([
      'SCAN i USING INDEX items_stuck',
      'SCAN i USING INDEX items_ignored',
      'SCAN r USING COVERING INDEX records_quarantined',
    ]);
    const stuckPassports = planOf(statementWith("AND +q.kind = 'passport'"));
    expect(stuckPassports[0]).toBe('SCAN q USING INDEX items_stuck');
  });
});
