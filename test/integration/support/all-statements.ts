import Database from 'better-sqlite3';
import { DELIVERY_STATES } from '../../../src/domain/delivery/delivery.ts';
import { PASSPORT_STATES } from '../../../src/domain/passport.ts';
import type { DashboardViews, ItemListFilter } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import type { LedgerViews } from '../../../src/domain/ports/ledger/ledger-views.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { items, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, FORMS, type LedgerFixture, NO_PASSPORTS } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const RULES = { ...NO_PASSPORTS, init: 'when-complete', publish: 'auto' } as const;
const LIST_STATES: readonly ItemListFilter['state'][] = [
  ...DELIVERY_STATES,
  'missing',
  'missing_decided',
  'held',
  'incomplete',
  'open',
  'attention',
];

export interface AllStatements {
  fixture: LedgerFixture;
  /** A connection to the ledger of the fixture. */
  db: Database.Database;
  statements: Set<string>;
  /** Those that are prepared when the dashboard is asked for everything. */
  ofDashboard: Set<string>;
}

/**
 * Opens a ledger, asks the dashboard everything, and lists each statement that is prepared meanwhile.
 *
 * @param constants the statements that are constants of the ledger's files: the caller replaces the module
 *   `store/tx.ts`, because a mock belongs to its test file
 */
export async function listStatements(constants: ReadonlySet<string>): Promise<AllStatements> {
  const statements = new Set<string>();
  const ofDashboard = new Set<string>();
  // Rules under which products without a passport are looked for as well.
  const fixture = createLedgerFixture({ rules: RULES });
  const original = Object.getOwnPropertyDescriptor(Database.prototype, 'prepare') ?? {};
  const prepare = original.value as (sql: string) => Database.Statement<unknown[]>;
  Object.defineProperty(Database.prototype, 'prepare', {
    configurable: true,
    value(this: Database.Database, sql: string) {
      statements.add(sql);
      return prepare.call(this, sql);
    },
  });
  try {
    // A second time, without the statements that make the tables.
    await fixture.reopen();
    await fillALittle(fixture);
    const db = new Database(fixture.file, { readonly: true });
    const before = new Set(statements);
    askEverything(createDashboard(db, RULES, FORMS).views);
    for (const sql of statements) if (!before.has(sql)) ofDashboard.add(sql);
    askLedger(fixture.ledger.views);
    for (const sql of constants) db.prepare(sql);
    return { fixture, db, statements, ofDashboard };
  } finally {
    Object.defineProperty(Database.prototype, 'prepare', original);
  }
}

/** So that lists have something to continue after, and causes have members. */
async function fillALittle(fixture: LedgerFixture): Promise<void> {
  const issues = [{ code: 'country.unknown' as const, message: 'No.', field: 'country_of_origin' }];
  await stageRows(fixture.ledger, {
    1: items(product('1'), product('2')),
    2: { status: 'quarantined', issues, blockedProducts: ['1'] },
  });
  const [due] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 1 });
  const reason = { code: 'internal' as const, message: 'It failed.' };
  const { id, revision } = due ?? { id: 0, revision: 0 };
  await fixture.ledger.deadLetter({ deliveryId: id, revision, reason, isOneOfMany: false });
}

/** Asks what commands ask, each with and without sources. */
function askLedger(views: LedgerViews): void {
  for (const sources of [[], ['erp']]) {
    views.standing({ sources, watched: sources, configured: sources });
    views.sourceRuns(sources);
    views.attention(sources);
    views.itemCounts(sources);
    views.stuck(1, sources);
  }
  for (const filter of [{}, { source: 'erp' }]) {
    views.lastRuns({ ...filter, limit: 1 });
    views.quarantined({ ...filter, afterId: 0, limit: 1 });
  }
  for (const state of DELIVERY_STATES)
    views.itemsAfter({ state, source: 'erp', kind: 'product', afterId: 0, limit: 1 });
  views.item('product', '1');
  views.passportsOf(['1']);
  views.passportBlockers();
  views.stuckItems(['erp']);
  views.emptyStreams();
  views.quarantinedRow('2');
}

/** Asks each view of the dashboard, with each filter. */
function askEverything(views: DashboardViews): void {
  const page = { limit: 1 };
  for (const state of LIST_STATES) views.items({ state, source: 'erp', kind: 'product', search: 's' }, page);
  for (const filter of [{}, { search: 's' }, { source: 'erp' }, { kind: 'product' as const }, { run: 1 }]) {
    views.items(filter, page);
  }
  for (const filter of [{}, { source: 'erp' }]) views.quarantine(filter, page);
  views.quarantinedRows(views.searchQuarantined({ search: '2', source: 'erp' }).map(({ record }) => record.id));
  views.why('1');
  for (const { id } of views.causes({})) {
    views.cause(id);
    views.causeMembers(id, page);
    views.items({ cause: id }, page);
  }
  views.itemDetail('product', '1');
  for (const state of PASSPORT_STATES) views.passports({ state, source: 'erp' }, page);
  views.passports({ search: 's' }, page);
  views.passportCounts({ source: 'erp' });
  views.runs({ source: 'erp', stream: 'default', result: 'guarded' }, page);
  views.activity({ from: 0, to: 1 });
  views.history({ passportsFrom: 0, runsFrom: 0, to: 1 });
  views.actions(page);
  views.lookupValues();
  views.goneEffects('erp');
  for (const of of ['lost', 'released'] as const) {
    views.goneRows({ source: 'erp', stream: 'default', of, afterId: 0, limit: 1 });
  }
}
