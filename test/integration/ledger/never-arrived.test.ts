// Items that the platform never got, after their rows are gone: in a real ledger, for each kind of item and each state of its
// delivery.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Reason, ReasonCode } from '../../../src/domain/delivery/stored-reason.ts';
import type { ItemKind } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { claimOne, delivered, NEVER_ANSWERED, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const ERP = { sources: ['erp'], watched: ['erp'], configured: ['erp'] };

const fixture = useLedger();

const because = (code: ReasonCode, more: Partial<Reason> = {}): Reason => ({ code, message: 'no', ...more });
const rejected = (reason: Reason): Decision => ({ kind: 'rejected', reason });
const blocked = (reason: Reason): Decision => ({ kind: 'blocked', reason });
const parked: Decision = { kind: 'parked', reason: because('exhausted') };
const later = (code: ReasonCode, uncertain?: true): Decision => ({
  kind: 'retry',
  dueAt: 4_000_000_000_000,
  spend: false,
  ...(uncertain ? { uncertain } : {}),
  reason: because(code),
});

/** So many rows that the guard allows the others to be gone. */
const BASE: Record<string, MapResult> = {
  p: items(product('P')),
  p2: items(product('P2')),
  p3: items(product('P3')),
  m: items(material('M')),
};
const DELIVERED: Record<ItemKind, number> = { product: 3, material: 1, bom_item: 0 };
const ROWS: Record<ItemKind, MapResult> = {
  product: items(product('X')),
  material: items(material('X')),
  bom_item: items(bomItem('X', 'P', 'M')),
};
const WAITING = items(bomItem('X', 'P', 'UNKNOWN'));
const KINDS = Object.keys(ROWS) as ItemKind[];

const view = (kind: ItemKind) => fixture.ledger.views.item(kind, 'X');

function idOf(kind: ItemKind): number {
  const db = new Database(fixture.file, { readonly: true });
  const id = db.prepare<[string], number>("SELECT id FROM items WHERE kind = ? AND key = 'X'").pluck().get(kind);
  db.close();
  return id ?? 0;
}

function write(sql: string): void {
  const db = new Database(fixture.file);
  db.exec(sql);
  db.close();
}

const rowsOf = (kinds: readonly ItemKind[], made?: MapResult): Record<string, MapResult> =>
  Object.fromEntries(kinds.map((kind) => [kind, made ?? ROWS[kind]]));

/** The platform has the products and the material, and the items X of these kinds are staged. */
async function given(kinds: readonly ItemKind[], made?: MapResult): Promise<void> {
  const { ledger } = fixture;
  await stageRows(ledger, BASE);
  for (const [at, due] of (await ledger.dueDeliveries({ afterId: 0, limit: 9 })).entries()) {
    await claimOne(ledger, due);
    await settleOne(ledger, { id: due.id, decision: delivered(at + 1) });
  }
  await stageRows(ledger, { ...BASE, ...rowsOf(kinds, made) });
}

/** Sends X, with this answer; without an answer the request stays in flight. */
async function send(kind: ItemKind, decision?: Decision): Promise<void> {
  const id = idOf(kind);
  expect(await claimOne(fixture.ledger, id)).not.toBeNull();
  if (decision !== undefined) await settleOne(fixture.ledger, { id, decision });
}

/** A person ends the delivery of X. */
async function ignore(kind: ItemKind): Promise<void> {
  const [seen] = (await fixture.ledger.deliveriesNamed('X')).filter((one) => one.kind === kind);
  if (seen === undefined) throw new Error('X has no delivery.');
  const decision: Decision = { kind: 'ignored', reason: because('ignored') };
  await settleOne(fixture.ledger, { id: seen.id, decision, seen });
}

const gone = () => stageRows(fixture.ledger, BASE);

/** What each view counts of the items X of a kind. */
function counted(kind: ItemKind) {
  const { views } = fixture.ledger;
  const db = new Database(fixture.file, { readonly: true });
  const dashboard = createDashboard(db, NO_PASSPORTS, FORMS).views;
  const list = (state: 'missing' | 'superseded' | 'delivered') =>
    dashboard.items({ kind, state }, { limit: 9 }).rows.filter(({ key }) => key === 'X').length;
  const others = DELIVERED[kind];
  const result = {
    states: Object.entries(views.itemCounts()[kind]).map(
      ([state, n]) => `${state} ${n - (state === 'delivered' ? others : 0)}`,
    ),
    metrics: dashboard
      .sourceCounts(0)
      .items.filter((one) => one.kind === kind)
      .map(({ state, count }) => `${state} ${count - (state === 'delivered' ? others : 0)}`),
    missing: views
      .standing(ERP)
      .missingOutcomes.filter((one) => one.kind === kind)
      .map(({ outcome, count }) => `${outcome} ${count}`),
    listed: (['missing', 'missing_decided', 'superseded'] as const).filter(
      (state) => views.itemsAfter({ state, kind, afterId: 0, limit: 9 }).items.length > 0,
    ),
    dashboard: (['missing', 'superseded', 'delivered'] as const).filter((state) => list(state) > 0),
    total: dashboard.items({ kind, state: 'delivered' }, { limit: 1 }).total.count - others,
  };
  db.close();
  return result;
}

const zero = (counts: readonly string[]) => counts.filter((one) => !one.endsWith(' 0'));

interface Case {
  state: string;
  kinds?: readonly ItemKind[];
  made?: MapResult;
  to: (kind: ItemKind) => Promise<void>;
  /** The state after the read, if it is another one. */
  after?: 'in_doubt';
}

const NEVER: Case[] = [
  { state: 'waiting', kinds: ['bom_item'], made: WAITING, to: async () => {} },
  { state: 'waiting and ignored', kinds: ['bom_item'], made: WAITING, to: ignore },
  { state: 'due', to: async () => {} },
  { state: 'due after a 429', to: (kind) => send(kind, later('throttled')) },
  { state: 'due after a 503', to: (kind) => send(kind, later('unavailable')) },
  { state: 'rejected', to: (kind) => send(kind, rejected(because('refused'))) },
  { state: 'rejected by a person', to: (kind) => send(kind, rejected(because('person'))) },
  { state: 'blocked by a rule', to: (kind) => send(kind, blocked(because('gate'))) },
  { state: 'blocked by a 403', to: (kind) => send(kind, blocked(because('forbidden'))) },
];

const MAYBE: Case[] = [
  { state: 'sending', to: (kind) => send(kind) },
  { state: 'in_doubt', to: (kind) => send(kind, NEVER_ANSWERED) },
  { state: 'due, and may have arrived', to: (kind) => send(kind, later('in_flight', true)) },
  { state: 'delivered', to: (kind) => send(kind, delivered(77)) },
  { state: 'parked', to: (kind) => send(kind, parked) },
  { state: 'rejected, since it exists', to: (kind) => send(kind, rejected(because('exists'))) },
  {
    state: 'rejected, and looked for',
    to: (kind) => send(kind, rejected(because('refused', { lookAgain: true }))),
    // Each run looks such a create up again.
    after: 'in_doubt',
  },
  { state: 'blocked, since its key is ambiguous', to: (kind) => send(kind, blocked(because('ambiguous_key'))) },
  {
    state: 'rejected, since it exists, and ignored',
    async to(kind) {
      await send(kind, rejected(because('exists')));
      await ignore(kind);
    },
  },
  {
    state: 'due again, after an answer that it exists',
    async to(kind) {
      await send(kind, rejected(because('exists')));
      const changed =
        kind === 'bom_item' ? bomItem('X', 'P', 'M', '2') : (kind === 'product' ? product : material)('X', 'New');
      await stageRows(fixture.ledger, { ...BASE, ...rowsOf(KINDS), [kind]: items(changed) });
      expect(view(kind)).toMatchObject({ state: 'due', revision: 2 });
    },
  },
  {
    state: 'a BOM item of an adopted product',
    kinds: ['bom_item'],
    to: async () => write("UPDATE items SET parts_unknown = 1 WHERE kind = 'product'"),
  },
  {
    state: 'due in a restored ledger',
    to: async () =>
      write(
        `INSERT OR IGNORE INTO meta (name, value) VALUES ('restored_at', '1'), ('unproven:product', '1'), ('unproven:material', '1')`,
      ),
  },
];

describe('an item whose row is gone', () => {
  it.each(NEVER)('that never arrived needs nothing, and is counted nowhere: $state', async (one) => {
    const { kinds = KINDS, made, state, to } = one;
    await given(kinds, made);
    for (const kind of kinds) await to(kind);
    await gone();
    for (const kind of kinds) {
      expect(view(kind)).toMatchObject({
        state: 'superseded',
        missing: true,
        neverArrived: true,
        missingDecided: true,
      });
      const { states, metrics, total, ...none } = counted(kind);
      expect({ kind, states: zero(states), metrics: zero(metrics), total, ...none }).toEqual({
        kind,
        states: [],
        metrics: [],
        total: 0,
        missing: [],
        listed: [],
        dashboard: [],
      });
      const all = fixture.ledger.views.itemsAfter({ kind, afterId: 0, limit: 9 }).items.map(({ key }) => key);
      expect(all).toContain('X');
    }
    expect(verifyLedger(fixture.file, () => {})?.findings).toEqual([]);

    // An export without changes, a restart and another profile stage nothing.
    await gone();
    await fixture.reopen({ productUpdate: 'import' });
    expect(fixture.ledger.views.openDeliveries()).toMatchObject({ due: 0, sending: 0, waiting: 0, unconfirmed: 0 });

    await stageRows(fixture.ledger, { ...BASE, ...rowsOf(kinds, made) });
    const back = made === WAITING ? 'waiting' : 'due';
    for (const kind of kinds) {
      const expected = state.endsWith('ignored') ? 'superseded' : back;
      expect(view(kind)).toMatchObject({ state: expected, missing: false, neverArrived: false });
    }
  });

  it.each(MAYBE)('that may have arrived keeps its delivery, and counts as missing: $state', async (one) => {
    const { kinds = KINDS, made, to, after } = one;
    await given(kinds, made);
    for (const kind of kinds) await to(kind);
    const before = kinds.map((kind) => view(kind)?.state);
    await gone();
    for (const [at, kind] of kinds.entries()) {
      const state = after ?? before[at];
      expect(view(kind)).toMatchObject({ state, missing: true, neverArrived: false, missingDecided: false });
      expect(counted(kind)).toMatchObject({ missing: ['kept 1'], listed: expect.arrayContaining(['missing']) });
    }
  });

  it('of a ledger that another version has written needs nothing from the next complete read on', async () => {
    await given(['bom_item'], WAITING);
    const now = fixture.clock.now();
    write(`UPDATE records SET missing_since = ${now} WHERE key = 'bom_item';
      UPDATE items SET missing_since = ${now} WHERE kind = 'bom_item'`);
    expect(fixture.ledger.views.standing(ERP).missingOutcomes).toEqual([]);
    expect(view('bom_item')).toMatchObject({ state: 'waiting', neverArrived: true });
    await gone();
    expect(view('bom_item')).toMatchObject({ state: 'superseded' });
    const opened = new Database(fixture.file, { readonly: true });
    expect(opened.prepare("SELECT state FROM v_items WHERE kind = 'bom_item'").pluck().all()).toEqual(['superseded']);
    opened.close();
  });
});
