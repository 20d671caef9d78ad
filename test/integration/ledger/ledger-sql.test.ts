import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { claimDue, deliverAll, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/ledger-sql.md'), 'utf8');
const EXAMPLES = [...PAGE.matchAll(/\n([^\n]+):\n\n```sql\n(.*?)\n```/gs)].map(([, title = '', sql = '']) => ({
  title,
  sql,
}));

const fixture = useLedger({ rules: { init: 'when-complete', publish: 'auto' } });
let db: Database.Database;

const QUARANTINED: MapResult = {
  status: 'quarantined',
  issues: [
    { code: 'country.unknown', message: '"XX" is no country.', field: 'country_of_origin', value: 'XX', cure: 'Cure.' },
    { code: 'field.required', message: 'name is required.', field: 'name' },
  ],
  blockedProducts: [],
};

/** P1 is published, a change of M1 has not arrived, and a row is in quarantine. */
beforeEach(async () => {
  const { ledger } = fixture;
  await stageRows(ledger, {
    P1: items(product('P1')),
    M1: items(material('M1')),
    B1: items(bomItem('B1', 'P1', 'M1')),
    'Q\u001f1': QUARANTINED,
  });
  await deliverAll(ledger);
  await ledger.evaluatePassports({ afterKey: null, limit: 10 });
  await deliverAll(ledger);
  const refused = { code: 'gate', message: 'review is missing', status: 409 } as const;
  const decision: Decision = { kind: 'blocked', reason: refused };
  await stageRows(ledger, {
    P1: items(product('P1')),
    M1: items(material('M1', 'Other')),
    B1: items(bomItem('B1', 'P1', 'M1')),
    'Q\u001f1': QUARANTINED,
  });
  await settleOne(ledger, { id: (await claimDue(ledger)).id, decision });
  db = new Database(fixture.file, { readonly: true });
});
afterEach(() => void db.close());

type Row = Record<string, unknown>;
const rows = (sql: string): Row[] => db.prepare<[], Row>(sql).all();

function columnsOf(view: string): string[] {
  return rows(`SELECT name FROM pragma_table_info('${view}')`).map(({ name }) => String(name));
}

describe('docs/ledger-sql.md', () => {
  it('docs/ledger-sql.md has every view with all its columns, and no other', () => {
    const documented = [...PAGE.matchAll(/^\| `(v_\w+)` \| [^|]+ \| (.*) \|$/gm)].map(([, view = '', columns = '']) => [
      view,
      columns.split(', ').map((column) => column.replaceAll('`', '')),
    ]);
    const views = rows("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY rowid").map(({ name }) =>
      String(name),
    );
    expect(documented).toEqual(views.map((view) => [view, columnsOf(view)]));
  });

  it.each(EXAMPLES)('docs/ledger-sql.md has a query that runs for reading only: $title', ({ sql }) => {
    expect(db.prepare(sql).readonly).toBe(true);
    expect(() => rows(sql)).not.toThrow();
  });

  it('docs/ledger-sql.md has examples', () => expect(EXAMPLES.length).toBeGreaterThan(8));
});

describe('the views for people', () => {
  it('the views for people show items with their states, names, reasons and times', () => {
    expect(rows("SELECT kind, key, natural_key, name, source, state, remote_id FROM v_items WHERE key = 'P1'")).toEqual(
      [
        {
          kind: 'product',
          key: 'P1',
          natural_key: 'SKU-P1',
          name: 'Product P1',
          source: 'erp',
          state: 'delivered',
          remote_id: expect.anything(),
        },
      ],
    );
    expect(rows("SELECT state, reason_code, appeared_at FROM v_items WHERE key = 'M1'")).toMatchObject([
      { appeared_at: '2027-01-15 02:30:00' },
    ]);
  });

  it('the views for people agree with the views of the program about states', () => {
    const { items: all } = fixture.ledger.views.itemsAfter({ afterId: 0, limit: 100 });
    const expected = all
      .filter(({ kind }) => kind !== 'passport')
      .map((item) => ({
        kind: item.kind,
        key: item.key,
        state: item.state,
        reason: item.reason?.message ?? null,
      }));
    expect(rows('SELECT kind, key, state, reason FROM v_items ORDER BY id')).toEqual(expected);
    expect(new Set(expected.map(({ state }) => state)).size).toBeGreaterThan(1);
    for (const { product: key, state } of rows('SELECT product, state FROM v_passports')) {
      expect(fixture.ledger.views.passport(String(key))?.state).toBe(state);
    }
  });

  it('the views for people show each issue of a row in quarantine, with the parts of its key', () => {
    expect(rows('SELECT row_key, rule, field, value, file, line, cure, fields FROM v_quarantine')).toMatchObject([
      {
        row_key: 'Q / 1',
        rule: 'country.unknown',
        field: 'country_of_origin',
        value: 'XX',
        file: 'test.csv',
        line: 1,
        cure: 'Cure.',
      },
      { row_key: 'Q / 1', rule: 'field.required', field: 'name', value: null, cure: null },
    ]);
  });

  it('the views for people show passports, parts, runs and deliveries', () => {
    expect(rows('SELECT product, state, wanted FROM v_passports')).toEqual([
      { product: 'P1', state: 'published', wanted: 'published' },
    ]);
    expect(rows('SELECT product, part_kind, part, quantity FROM v_bom')).toEqual([
      { product: 'P1', part_kind: 'material', part: 'M1', quantity: '1' },
    ]);
    const writable = new Database(fixture.file);
    writable.exec(
      "UPDATE refs SET kind = 'product', role = 'component', key = 'X9', either = 1 WHERE role = 'material'",
    );
    expect(rows('SELECT part_kind, part FROM v_bom')).toEqual([{ part_kind: null, part: 'X9' }]);
    writable.exec("UPDATE refs SET kind = 'material', role = 'material', key = 'M1', either = 0 WHERE key = 'X9'");
    writable.close();
    expect(rows('SELECT run, source, stream, result, read FROM v_runs ORDER BY run')).toMatchObject([
      { run: 1, source: 'erp', stream: 'default', result: 'complete', read: 4 },
      { run: 2 },
    ]);
    const written = rows("SELECT operation FROM v_deliveries WHERE state = 'delivered' ORDER BY operation");
    expect(written.map(({ operation }) => operation)).toEqual([
      'bom_item.create',
      'material.create',
      'passport.init',
      'passport.publish',
      'product.create',
    ]);
  });
});
