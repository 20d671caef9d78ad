// One item of each state that an older ledger can hold, named by its key.

import type { ItemRef } from '../../../src/domain/item.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { type Columns, type OldDelivery, type OldLedger, oldHash, sentBytes } from './old-ledger.ts';

export const LATER = 4_000_000_000_000;

const reason = (code: string, rest: JsonObject = {}): Columns => ({
  reason: JSON.stringify({ code, message: `Because of ${code}.`, ...rest }),
});
const of = (key: string, name = 'now'): JsonObject => ({ name: `${key} ${name}`, sku: `SKU-${key}` });
const materialOf = (key: string, name = 'now'): JsonObject => ({ code: `M-${key}`, name: `${key} ${name}` });
const line = (product: string, material: string): ItemRef[] => [
  { role: 'product', kind: 'product', key: product },
  { role: 'material', kind: 'material', key: material },
];
const toProduct = (key: string): ItemRef[] => [{ role: 'product', kind: 'product', key }];
const DELIVERED: OldDelivery = { operation: 'product.create', state: 'delivered' };
/** The columns of a delivery that was unconfirmed and is not settled yet. */
const UNCONFIRMED: Columns = { uncertain: 1, settled_at: 1600, due_at: 2000 };

/** Fills a ledger of the last version in which deliveries had separate rows. */
export function fillOldLedger(old: OldLedger): void {
  plainProducts(old);
  stuckProducts(old);
  imports(old);
  materialsAndParts(old);
  passports(old);
  theRest(old);
}

function plainProducts(old: OldLedger): void {
  const known = (key: string) =>
    ({ kind: 'product', key, desired: of(key), baseline: of(key), remoteId: key }) as const;
  const fresh = (key: string) => ({ kind: 'product', key, desired: of(key) }) as const;
  const create = (state: string, columns: Columns = {}): OldDelivery[] => [
    { operation: 'product.create', state, columns },
  ];

  old.item(known('delivered'), [DELIVERED]);
  old.item(fresh('due'), create('due'));
  old.item(
    fresh('throttled'),
    create('due', { ...sentBytes('throttled'), due_at: LATER, ...reason('throttled', { since: 1400 }) }),
  );
  old.item(
    fresh('uncertain'),
    create('due', { ...sentBytes('uncertain'), uncertain: 1, attempts: 2, ...reason('timeout') }),
  );
  old.item(fresh('sending'), create('sending', sentBytes('sending')));
  old.item(fresh('readable'), create('in_doubt', { ...sentBytes('readable'), ...UNCONFIRMED, ...reason('timeout') }));
  // The item changed while it was unknown whether its former content had arrived.
  old.item(fresh('moved-on'), [
    {
      operation: 'product.create',
      state: 'in_doubt',
      desired: of('moved-on', 'before'),
      columns: { ...sentBytes('moved-on'), ...UNCONFIRMED, ...reason('timeout') },
    },
  ]);
  // The item changed back, so the API acknowledged its desired content long ago.
  old.item(known('changed-back'), [
    DELIVERED,
    {
      operation: 'product.import',
      state: 'superseded',
      desired: of('changed-back', 'else'),
      columns: { sent_at: null, attempts: 0 },
    },
  ]);
  old.item({ ...known('written-blind'), baseline: { sku: 'SKU-written-blind' }, baselineHash: 'presence' }, [
    DELIVERED,
    { operation: 'product.import', state: 'due' },
  ]);
  // The first revisions of a long history were pruned. One revision between the others was dropped.
  const revisions = [6, 7, 9, 25];
  old.item(
    known('long-lived'),
    revisions.map((revision) => ({
      ...DELIVERED,
      operation: 'product.import',
      revision,
      desired: of('long-lived', revision === 25 ? 'now' : String(revision)),
    })),
  );
  old.item({ ...known('withdrawn'), columns: { record_id: null, missing_since: 1700, missing_accepted: 1700 } }, [
    DELIVERED,
  ]);
}

function stuckProducts(old: OldLedger): void {
  const stuck = (key: string, state: string, columns: Columns, rest: Partial<OldDelivery> = {}) =>
    old.item({ kind: 'product', key, desired: of(key) }, [
      { operation: 'product.create', state, columns: { settled_at: 1600, ...columns }, ...rest },
    ]);
  const changed = (key: string, delivery: Partial<OldDelivery>, columns: Columns = {}) =>
    old.item({ kind: 'product', key, desired: of(key), baseline: of(key, 'before'), remoteId: key, columns }, [
      DELIVERED,
      { operation: 'product.import', state: 'blocked', ...delivery },
    ]);

  stuck('gate', 'blocked', { ...sentBytes('gate'), due_at: LATER, ...reason('gate', { status: 409 }) });
  stuck('ambiguous', 'blocked', reason('ambiguous_key'));
  stuck('refused', 'rejected', { ...sentBytes('refused'), ...reason('refused', { status: 422 }) });
  stuck('sought', 'rejected', { ...sentBytes('sought'), ...reason('exists', { lookAgain: true, since: 1600 }) });
  stuck('parked', 'parked', { ...sentBytes('parked'), attempts: 8, ...reason('exhausted') });
  stuck('suspect', 'in_doubt', { uncertain: 1, due_at: 2000, ...reason('restored') });
  changed('adopted', { columns: reason('adopted') }, { adopted: 1 });
  changed('unsupported', { operation: 'product.update', columns: reason('unsupported') });
  changed('renamed', { columns: reason('renamed') });
  // The item changed again. Only a person can cause another import of it.
  changed('not-upserted', {
    state: 'rejected',
    desired: of('not-upserted', 'between'),
    columns: { sent_at: 1500, ...reason('not_upserted') },
  });
  const ignored = of('ignored');
  old.item(
    {
      kind: 'product',
      key: 'ignored',
      desired: ignored,
      baseline: of('ignored', 'before'),
      remoteId: 'ignored',
      columns: { ignored_hash: oldHash('product', ignored) },
    },
    [DELIVERED, { operation: 'product.import', state: 'superseded', columns: reason('person') }],
  );
}

/** Imports that are kept, each with its members not in the order of their ids. */
function imports(old: OldLedger): void {
  const kept = (name: string, state: string, columns: Columns): void => {
    const id = old.insert('imports', {
      idempotency_key: `${name}-key`.padEnd(43, '_'),
      path: `/${name}/`,
      body: `{"${name}":[]}`,
      sends: 2,
      created_at: 1450,
    });
    for (const [at, key] of [`${name}-b`, `${name}-a`].entries()) {
      const desired = at === 0 ? of(key, 'sent') : of(key);
      const member = { import_id: id, import_place: 1 - at, sent_at: 1500, ...columns };
      old.item({ kind: 'product', key, desired: of(key), baseline: of(key, 'before'), remoteId: key }, [
        DELIVERED,
        { operation: 'product.import', state, desired, columns: member },
      ]);
    }
  };
  // Numbers that were used once and are not used any more.
  const gone = old.insert('imports', { idempotency_key: '', path: '', sends: 0, created_at: 0 });
  kept('imp-doubt', 'in_doubt', { ...UNCONFIRMED, ...reason('timeout') });
  kept('imp-due', 'due', { uncertain: 1, due_at: LATER, ...reason('throttled') });
  kept('imp-sending', 'sending', {});
  const last = old.insert('imports', { id: 90, idempotency_key: '', path: '', sends: 0, created_at: 0 });
  for (const id of [gone, last]) old.db.prepare('DELETE FROM imports WHERE id = ?').run(id);
  // An import that was refused as a whole, so its member is sent alone.
  old.item(
    {
      kind: 'product',
      key: 'imp-alone',
      desired: of('imp-alone'),
      baseline: of('imp-alone', 'before'),
      remoteId: 'imp-alone',
    },
    [DELIVERED, { operation: 'product.import', state: 'due', columns: { group_max: 1, sent_at: 1500, attempts: 1 } }],
  );
}

function materialsAndParts(old: OldLedger): void {
  old.item(
    { kind: 'material', key: 'steel', desired: materialOf('steel'), baseline: materialOf('steel'), remoteId: 71 },
    [{ operation: 'material.create', state: 'delivered' }],
  );
  old.item(
    {
      kind: 'material',
      key: 'patched',
      desired: materialOf('patched'),
      baseline: materialOf('patched', 'before'),
      remoteId: 72,
    },
    [
      { operation: 'material.create', state: 'delivered' },
      { operation: 'material.update', state: 'due', columns: { ...sentBytes('patched'), by_hand: 1 } },
    ],
  );
  old.item({ kind: 'material', key: 'wool', desired: materialOf('wool') }, [
    { operation: 'material.create', state: 'due' },
  ]);
  const part = (key: string, refs: ItemRef[], delivery: OldDelivery | null, more: Columns = {}) =>
    old.item(
      { kind: 'bom_item', key, desired: { quantity: 1 }, refs, columns: more },
      delivery === null ? [] : [delivery],
    );
  part('line-waiting', line('delivered', 'wool'), { operation: 'bom_item.create', state: 'waiting' });
  part('line-doubt', line('delivered', 'steel'), {
    operation: 'bom_item.create',
    state: 'in_doubt',
    columns: { ...sentBytes('line-doubt'), uncertain: 1, settled_at: 1600, ...reason('crash') },
  });
  part('line-adopted', line('withdrawn', 'steel'), {
    operation: 'bom_item.create',
    state: 'blocked',
    columns: reason('adopted_bom'),
  });
  // The item counts as existing on the platform although it was not written.
  const refs = line('long-lived', 'steel');
  old.item({
    kind: 'bom_item',
    key: 'line-present',
    desired: { quantity: 2 },
    baseline: { quantity: 2 },
    remoteId: null,
    refs,
    revision: 1,
  });
}

function passports(old: OldLedger): void {
  const passport = (
    key: string,
    baseline: string | null,
    delivery: Partial<OldDelivery>[],
    columns: Columns = {},
    status = 'published',
  ) =>
    old.item(
      {
        kind: 'passport',
        key,
        desired: { because: 'policy', status },
        ...(baseline === null ? {} : { baseline: { status: baseline }, remoteId: null }),
        refs: toProduct(key),
        columns,
      },
      delivery as OldDelivery[],
    );
  const init: Partial<OldDelivery> = {
    operation: 'passport.init',
    state: 'delivered',
    desired: { status: 'initialized' },
  };
  passport('long-lived', null, [{ operation: 'passport.init', state: 'due', desired: { status: 'initialized' } }]);
  passport('changed-back', 'initialized', [
    init,
    {
      operation: 'passport.publish',
      state: 'sending',
      desired: { status: 'published' },
      columns: sentBytes('changed-back'),
    },
  ]);
  passport(
    'delivered',
    'published',
    [init, { operation: 'passport.publish', state: 'delivered', desired: { status: 'published' } }],
    { stirred: 1 },
  );
  passport(
    'withdrawn',
    'published',
    [
      init,
      { operation: 'passport.publish', state: 'delivered', desired: { status: 'published' } },
      {
        operation: 'passport.unpublish',
        state: 'in_doubt',
        desired: { status: 'unpublished' },
        columns: { ...sentBytes('withdrawn'), ...UNCONFIRMED, ...reason('timeout') },
      },
    ],
    {},
    'unpublished',
  );
  passport('adopted', 'published', []);
}

function theRest(old: OldLedger): void {
  const { db } = old;
  const idOf = (key: string) =>
    db.prepare('SELECT id FROM items WHERE key = ? AND kind = ?').pluck().get(key, 'product') as number;
  const deliveryOf = (key: string, revision: number) =>
    db
      .prepare('SELECT id FROM deliveries WHERE item_id = ? AND revision = ?')
      .pluck()
      .get(idOf(key), revision) as number;
  const event = (key: string, delivery: number | null, type: string, detail: Columns | null) =>
    old.insert('events', {
      item_id: idOf(key),
      delivery_id: delivery,
      at: 1650,
      type,
      detail: detail === null ? null : (detail['reason'] ?? null),
    });
  event('readable', deliveryOf('readable', 1), 'doubt', reason('timeout'));
  event('readable', null, 'id_left', null);
  event('long-lived', deliveryOf('long-lived', 9), 'retry', reason('unavailable'));
  event('long-lived', 1_000_000, 'doubt', reason('timeout'));
  const lost = event('delivered', null, 'person', null);
  db.prepare('DELETE FROM events WHERE id = ?').run(lost);

  const records = db.prepare('SELECT id FROM records ORDER BY id').pluck().all() as number[];
  old.insert('claims', { kind: 'product', key: 'delivered', record_id: records[1] ?? 0 });
  old.insert('holds', { record_id: records[2] ?? 0, product_key: 'due' });
  db.exec("UPDATE listings SET matched_to = 12, read_at = 1300 WHERE kind = 'product'");
  old.insert('contacts', { source: 'erp', kind: 'product', contacted: 1, creates: 3 });
  for (const [name, value] of Object.entries({
    restored_at: '1650',
    'unproven:product': '1',
    pruned_deliveries: '40',
    pruned_events: '3',
  })) {
    old.insert('meta', { name, value });
  }
  db.exec(
    "UPDATE items SET was_absent = 1 WHERE key = 'throttled'; UPDATE items SET parts_unknown = 1 WHERE key = 'withdrawn' AND kind = 'product'",
  );
  // An item that was dropped. Its number is never used again.
  db.exec(
    "INSERT INTO items (id, kind, key, source, appeared_at, desired, desired_hash) VALUES (500, 'product', 'dropped', 'erp', 0, '{}', ''); DELETE FROM items WHERE id = 500",
  );
}
