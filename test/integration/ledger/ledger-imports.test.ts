import Database from 'better-sqlite3';
import { beforeEach, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { ClaimedRequest, Decision } from '../../../src/domain/ports/deliveries.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { sha256Url } from '../../../src/lib/hash.ts';
import { canonicalJson, type JsonValue } from '../../../src/lib/json.ts';
import { claimOne, deliverAll, delivered, settleOne, together } from '../../support/ledger/deliveries.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullAndMap, pullRows, row } from '../../support/ledger/records.ts';

const fixture = useLedger();
beforeEach(async () => {
  await fixture.ledger.storeImportProof('changes', { state: 'proven', size: 100, answersIds: true, form: [] });
  await stage('A');
  await deliverAll(fixture.ledger);
});

/** Gives the products 1, 2 and 3 this name, and those in `others` another name. */
async function stage(name: string, others: Record<string, string> = {}): Promise<void> {
  const rows = ['1', '2', '3'].map((id) => row(id, { name: others[id] ?? name }));
  await pullAndMap(fixture.ledger, rows, (fields) => items(product(text(fields['id']), text(fields['name']))));
}

/** Claims the first due delivery, with the deliveries that are sent in the same request. */
async function claimFirst(): Promise<ClaimedRequest> {
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  const [claimed] = await fixture.ledger.claim([together(due)]);
  if (claimed?.operation !== 'product.import') throw new Error('There is no import to claim.');
  return claimed;
}

const reason: Reason = { code: 'refused', message: 'why' };
const DOUBT: Decision = { kind: 'unconfirmed', nextLookAt: 1, spend: false, reason };
const RESEND: Decision = { kind: 'resend', dueAt: 0, absent: false, reason };
const RETRY: Decision = { kind: 'retry', dueAt: 0, spend: false, reason };
const DELIVERED = delivered();

function settle(
  delivery: ClaimedRequest,
  decision: Decision | Decision[],
  company: { keep?: boolean; groupMax?: number } = {},
) {
  const settlements = delivery.members.map(({ id, revision }, index) => ({
    id,
    revision,
    decision: Array.isArray(decision) ? (decision[index] ?? DELIVERED) : decision,
  }));
  return fixture.ledger.settle([{ claim: delivery, settlements, keep: false, groupMax: null, ...company }]);
}

const keysOf = ({ members }: Pick<ClaimedRequest, 'members'>) => members.map(({ key }) => key);
const stateOf = (key: string) => fixture.ledger.views.item('product', key)?.state;

/** The imports that are stored. */
function stored(): unknown[] {
  const db = openDatabaseReadOnly(fixture.file);
  try {
    return (
      db
        ?.prepare(
          "SELECT path, body, idempotency_key AS idempotencyKey FROM requests WHERE operation = 'product.import'",
        )
        .all() ?? []
    );
  } finally {
    db?.close();
  }
}

it('the deliveries of one import are claimed at once, with their bytes and key', async () => {
  await stage('B');
  const ids = (await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).map(({ id }) => id);
  const { path, body, idempotencyKey, ...delivery } = await claimFirst();
  expect(stored()).toEqual([{ path, body, idempotencyKey }]);
  expect(body).toBe(JSON.stringify(['1', '2', '3'].map((id) => ({ name: 'B', sku: `SKU-${id}` }))));
  expect(idempotencyKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(delivery.members).toMatchObject([
    { key: '1', naturalKey: 'SKU-1', remoteId: 101 },
    { key: '2', naturalKey: 'SKU-2', remoteId: 102 },
    { key: '3', naturalKey: 'SKU-3', remoteId: 103 },
  ]);
  expect(await fixture.ledger.dueAmong(ids)).toEqual(new Set());
  for (const id of ids) {
    expect(await claimOne(fixture.ledger, id)).toBeNull();
  }
});

it('an import is forgotten once its result is known', async () => {
  await stage('B');
  await settle(await claimFirst(), [DELIVERED, { kind: 'rejected', reason }, RETRY]);
  expect([stateOf('1'), stateOf('2'), stateOf('3')]).toEqual(['delivered', 'rejected', 'due']);
  expect(stored()).toEqual([]);
  expect(keysOf(await claimFirst())).toEqual(['3']);
});

it('an import with the same members gets a new key after an answer, since a server may replay its old answer', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, RETRY);
  const second = await claimFirst();
  expect(second.body).toBe(first.body);
  expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
  expect(second).toMatchObject({ sends: 1 });
});

it('an import that may have arrived is sent again as it was, whatever its products want by now', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  await stage('C');
  await settle(first, RESEND, { keep: true });
  const again = await claimFirst();
  expect(again).toMatchObject({ body: first.body, idempotencyKey: first.idempotencyKey, sends: 2 });
  expect(again.members.map(({ key }) => key)).toEqual(keysOf(first));
});

it('a kept import is sent again once the last of its members is due, and no member before', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  await settle(first, RESEND, { keep: true });
  const again = await claimFirst();
  const now = fixture.clock.now();
  const waits = [1000, 3000, 2000].map((ms): Decision => ({ ...RETRY, dueAt: now + ms }));
  await settle(again, waits, { keep: true });
  const claimDue = async () => {
    const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
    return [due.map(({ key }) => key), (await fixture.ledger.claim([together(due)])).map(keysOf)];
  };
  expect(await claimDue()).toEqual([[], []]);
  fixture.clock.advance(1000);
  expect(await claimDue()).toEqual([['1'], []]);
  // Deliveries that could not be claimed are reported only once.
  expect(await claimDue()).toEqual([[], []]);
  expect(await fixture.ledger.nextDueAt()).toBe(now + 3000);
  fixture.clock.advance(2000);
  expect(await claimDue()).toEqual([['1', '2', '3'], [['1', '2', '3']]]);
});

it('a claim names the list of each request, also of an import whose members are in several lists', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  await settle(first, RESEND, { keep: true });
  const [one, two, three] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  if (one === undefined || two === undefined || three === undefined) expect.unreachable();
  const lists = [together([{ ...one, revision: 9 }]), together([two]), together([three])];
  const claimed = await fixture.ledger.claim(lists);
  expect(claimed.map((request) => [request.list, keysOf(request)])).toEqual([[1, ['1', '2', '3']]]);
});

it('a kept import stays after the end of the process', async () => {
  await stage('B');
  const first = await claimFirst();
  await fixture.reopen();
  expect(await fixture.ledger.recover(10)).toEqual({ voided: 3 });
  fixture.clock.advance(10);
  const unconfirmed = await fixture.ledger.unconfirmedDeliveries({ limit: 9 });
  expect(new Set(unconfirmed.map(({ importId }) => importId)).size).toBe(1);
  await settle(first, RESEND, { keep: true });
  expect(await claimFirst()).toMatchObject({ body: first.body, idempotencyKey: first.idempotencyKey, sends: 2 });
});

it('no member of a kept import is sent again that has changed by itself', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  await settleOne(fixture.ledger, {
    id: first.members[1]?.id ?? 0,
    decision: { ...DELIVERED, by: 'person' },
  });
  await stage('B', { 2: 'newer' });
  expect(stored()).toEqual([]);
  for (const place of [0, 2]) {
    await settleOne(fixture.ledger, { id: first.members[place]?.id ?? 0, decision: RESEND });
  }
  const next = await claimFirst();
  expect(JSON.parse(next.body ?? '')).toContainEqual({ name: 'newer', sku: 'SKU-2' });
  expect(next.body).not.toContain('{"name":"B","sku":"SKU-2"}');
});

it('a manual resolution holds for one member of an import alone', async () => {
  await stage('B');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  const selection = { states: ['in_doubt' as const], sources: [], keys: ['2'], deliveryIds: [] };
  expect(await fixture.ledger.forceUnconfirmed({ selection, dryRun: true })).toBe(1);
  expect(stored()).toHaveLength(1);
  expect(await fixture.ledger.forceUnconfirmed({ selection, dryRun: false })).toBe(1);
  expect([stateOf('1'), stateOf('2'), stateOf('3')]).toEqual(['in_doubt', 'due', 'in_doubt']);
  expect(stored()).toEqual([]);
  expect(keysOf(await claimFirst())).toEqual(['2']);
});

it('all members of an import are settled, or none', async () => {
  await stage('B');
  const delivery = await claimFirst();
  // A delivery that is being sent cannot take this event: the whole settlement is undone.
  await expect(settle(delivery, [DELIVERED, RESEND, DELIVERED])).rejects.toThrow('cannot take the event');
  expect([stateOf('1'), stateOf('2'), stateOf('3')]).toEqual(['sending', 'sending', 'sending']);
  expect(stored()).toHaveLength(1);
});

it('an import that is to be kept is taken apart when a member has left it', async () => {
  await stage('B');
  const delivery = await claimFirst();
  await settle(delivery, [DOUBT, DELIVERED, DOUBT], { keep: true });
  expect(stored()).toEqual([]);
  expect([stateOf('1'), stateOf('2'), stateOf('3')]).toEqual(['in_doubt', 'delivered', 'in_doubt']);
});

it('after a refused import each of its members is claimed alone, whatever has changed', async () => {
  await stage('A', { 1: 'B', 2: 'B' });
  await settle(await claimFirst(), RETRY, { groupMax: 1 });
  await stage('B');
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  for (const { id, key } of due.toReversed()) {
    expect(await claimOne(fixture.ledger, id)).toMatchObject({ members: [{ key }] });
  }
});

it('a product of an import is known by its own id, whatever the import did not update', async () => {
  await stage('B');
  await settle(await claimFirst(), { kind: 'blocked', reason: { code: 'not_upserted', message: 'twice' } });
  const item = fixture.ledger.views.item('product', '1');
  expect(item).toMatchObject({ state: 'blocked', remoteId: 101, reason: { code: 'not_upserted' } });
});

it('a product that an import has doubled is not imported again, until the profile or a person allows it', async () => {
  await stage('B');
  await settle(await claimFirst(), { kind: 'blocked', reason: { code: 'not_upserted', message: 'twice' } });
  await stage('C');
  expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
  await fixture.ledger.storeImportProof('changes', { state: 'failed', message: 'It has doubled.', at: 0 });
  const selection = { states: ['blocked' as const], sources: [], keys: ['1'], deliveryIds: [] };
  const [candidate] = await fixture.ledger.replayCandidates({ selection, afterId: 0, limit: 9 });
  const result = items(product('1', text(candidate?.fields['name'])));
  const record = { id: candidate?.id ?? 0, version: candidate?.version ?? 0, result };
  expect(await fixture.ledger.replay({ records: [record], dryRun: false })).toMatchObject({ staged: 1 });
  expect(keysOf(await claimFirst())).toEqual(['1']);
  // The person has asked for another import, which has to prove itself.
  expect((await fixture.ledger.importProofs()).changes).toEqual({ state: 'untried' });
});

it('changed products are not claimed while imports do not update, and are sent once they do', async () => {
  await fixture.ledger.storeImportProof('changes', { state: 'failed', message: 'It has doubled.', at: 0 });
  await stage('B');
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  expect(await fixture.ledger.claim([together(due)])).toEqual([]);
  expect(['1', '2', '3'].map(stateOf)).toEqual(['blocked', 'blocked', 'blocked']);
  const { reason: shown } = fixture.ledger.views.item('product', '1') ?? {};
  expect(shown).toMatchObject({ code: 'import_unproven', message: expect.stringContaining('It has doubled.') });
  expect(shown?.message).toContain('`productUpdate: none`');
  await fixture.ledger.storeImportProof('changes', { state: 'untried' });
  // Nothing is proven, so the next import has one product.
  expect(keysOf(await claimFirst())).toEqual(['1']);
  await fixture.ledger.storeImportProof('changes', { state: 'proven', size: 1, answersIds: true, form: [] });
  expect(keysOf(await claimFirst())).toEqual(['2', '3']);
});

it('what an earlier release has stored about imports is known for the one product that has shown it', async () => {
  const before = { state: 'proven', answersIds: true };
  await fixture.ledger.storeImportProof('creates', { state: 'untried' });
  const { imports, wireNames, idPaths } = Profile.parse({});
  const { words: _, ...importsBefore } = imports;
  const form = { imports: importsBefore, names: wireNames.product, ids: idPaths.product };
  const under = sha256Url(canonicalJson(form as unknown as JsonValue));
  const db = new Database(fixture.file);
  db.prepare("UPDATE meta SET value = ? WHERE name = 'import_proof'").run(JSON.stringify({ under, proof: before }));
  db.close();
  await fixture.reopen();
  expect(await fixture.ledger.importProofs()).toEqual({
    creates: { ...before, size: 1, form: [] },
    changes: { state: 'untried' },
  });
});

it('a later revision clears what a refused import may have brought, where it may have arrived before', async () => {
  const describe = (description?: string) =>
    mapRows(fixture.ledger, ({ id }) => {
      const { payload, ...rest } = product(text(id), 'A');
      return items({ ...rest, payload: { ...payload, ...(description === undefined ? {} : { description }) } });
    });
  await pullRows(fixture.ledger, { rows: [row('1', { described: true })], snapshot: false });
  await describe('New words.');
  const first = await claimFirst();
  await settle(first, DOUBT, { keep: true });
  await settle(first, RESEND, { keep: true });
  await settle(await claimFirst(), { kind: 'rejected', reason });
  await pullRows(fixture.ledger, { rows: [row('1', { described: false })], snapshot: false });
  await describe();
  expect(JSON.parse((await claimFirst()).body ?? '')).toEqual([{ sku: 'SKU-1', name: 'A', description: null }]);
});

it('a new product that was sent alone is sent again under its own key, and in no import', async () => {
  const rows = ['1', '2', '3', '4', '5', '6'].map((id) => row(id, { name: 'A' }));
  await pullAndMap(fixture.ledger, rows, (fields) => items(product(text(fields['id']), text(fields['name']))));
  const [fourth, fifth, sixth] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  if (fourth === undefined || fifth === undefined || sixth === undefined) throw new Error('Three are due.');

  const [alone] = await fixture.ledger.claim([{ deliveries: [fourth], asImport: false }]);
  if (alone === undefined) throw new Error('It is due.');
  await settle(alone, DOUBT);
  await settle(alone, { ...RESEND, absent: true }, { keep: true });

  const others = await fixture.ledger.claim([together([fifth, fourth, sixth])]);
  expect(others.map(keysOf)).toEqual([['5', '6']]);
  const again = await fixture.ledger.claim([together([fourth])]);
  expect(again).toMatchObject([{ operation: 'product.create', idempotencyKey: alone.idempotencyKey, sends: 2 }]);
});
