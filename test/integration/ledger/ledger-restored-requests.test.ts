import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { hasTrait, type Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimDue, deliverAll, delivered, LOST, settleOne } from '../../support/ledger/deliveries.ts';
import { items, material, product } from '../../support/ledger/items.ts';
import { NO_PARTS, TARGET, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger();
afterEach(() => expect(verifyLedger(fixture.file, () => {})?.findings).toEqual([]));

const UNCONFIRMED: Decision = { kind: 'unconfirmed', nextLookAt: 1, spend: true, reason: LOST };
const RESEND: Decision = { kind: 'resend', dueAt: 0, absent: false, reason: LOST };

const backup = () => join(fixture.file, '../backup.db');
const backUp = () =>
  backUpLedger({ file: fixture.file, to: backup(), force: true, now: fixture.clock.now(), onStep: () => undefined });

/** Puts the backup in the ledger's place, and opens it as the next process does. */
async function restore(): Promise<void> {
  await fixture.ledger.close();
  const { file, clock } = fixture;
  restoreLedger({ file, from: backup(), target: TARGET, profile: Profile.parse({}), clock });
  expect(verifyLedger(file, () => {})?.findings).toEqual([]);
  await fixture.reopen();
  await fixture.ledger.recover(400);
}

/** Claims the only delivery that is due. */
async function claimOnly() {
  expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toHaveLength(1);
  return claimDue(fixture.ledger);
}

/** Has the only unconfirmed delivery sent again once its settling delay is over. */
async function resendUnconfirmed(): Promise<void> {
  fixture.clock.advance(60_000);
  const unconfirmed = await fixture.ledger.unconfirmedDeliveries({ limit: 9 });
  expect(unconfirmed).toHaveLength(1);
  await settleOne(fixture.ledger, { id: unconfirmed[0]?.id ?? 0, decision: RESEND });
}

const CASES: [kind: string, of: (name: string) => Item, whole: object][] = [
  ['import', (name) => product('1', name), [{ name: 'B', sku: 'SKU-1' }]],
  ['update', (name) => material('1', name), { code: 'M-1', name: 'B' }],
];

it.each(CASES)(
  'a restored ledger sends an %s under a new key, since the server may repeat an answer that is older than its data',
  covers('ledger-restored', 'I4'),
  async (_, itemNamed, whole) => {
    for (const wasLost of [false, true]) {
      await stageRows(fixture.ledger, { 1: items(itemNamed('A')) });
      await deliverAll(fixture.ledger);
      await stageRows(fixture.ledger, { 1: items(itemNamed('B')) });
      const sent = await claimOnly();
      if (wasLost) await settleOne(fixture.ledger, { id: sent.id, decision: UNCONFIRMED });
      backUp();

      // Since the backup: the update is acknowledged, and then a newer one.
      if (wasLost) {
        await resendUnconfirmed();
        await claimOnly();
      }
      await settleOne(fixture.ledger, { id: sent.id, decision: delivered() });
      await stageRows(fixture.ledger, { 1: items(itemNamed('C')) });
      await deliverAll(fixture.ledger);

      await restore();
      await resendUnconfirmed();
      const again = await claimOnly();
      expect(again.idempotencyKey).not.toBe(sent.idempotencyKey);
      expect(JSON.parse(again.body ?? '')).toEqual(whole);
      await settleOne(fixture.ledger, { id: again.id, decision: delivered() });
    }
  },
);

it.each(CASES)(
  'a restored ledger does not believe the answer to an %s that no list has confirmed, since a later write may have replaced its content',
  covers('ledger-restored', 'I4'),
  async (kind, itemNamed, whole) => {
    await stageRows(fixture.ledger, { 1: items(itemNamed('A')) });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { 1: items(itemNamed('B')) });
    const sent = await claimOnly();
    const reason: Reason = { code: kind === 'import' ? 'change_proof' : 'unechoed', message: 'No list was read.' };
    await settleOne(fixture.ledger, { id: sent.id, decision: { ...UNCONFIRMED, reason } });
    backUp();

    await settleOne(fixture.ledger, { id: sent.id, decision: delivered() });
    await stageRows(fixture.ledger, { 1: items(itemNamed('C')) });
    await deliverAll(fixture.ledger);

    await restore();
    const [unconfirmed] = await fixture.ledger.unconfirmedDeliveries({ limit: 9 });
    expect(unconfirmed?.reason.message).toContain('later writes may have replaced the content');
    expect(hasTrait(unconfirmed?.reason ?? reason, 'was_answered')).toBe(false);
    await resendUnconfirmed();
    const again = await claimOnly();
    expect(again.idempotencyKey).not.toBe(sent.idempotencyKey);
    expect(JSON.parse(again.body ?? '')).toEqual(whole);
  },
);

it('a restored ledger keeps the key of a create that it repeats', covers('ledger-restored', 'I2', 'I6'), async () => {
  await stageRows(fixture.ledger, { 1: items(material('1')) });
  const sent = await claimOnly();
  backUp();
  await restore();
  await resendUnconfirmed();
  expect((await claimOnly()).idempotencyKey).toBe(sent.idempotencyKey);
});

it.each<[gone: string, result: MapResult | null]>([
  ['missing from its source', null],
  ['excluded by the mapping', { status: 'excluded' }],
])(
  'a restored ledger writes an item that was %s at the backup once it comes back, since the API may differ by then',
  covers('ledger-restored', 'I4'),
  async (_, result) => {
    const others = { 2: items(material('2')), 3: items(material('3')) };
    await stageRows(fixture.ledger, { 1: items(material('1')), ...others });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { ...(result === null ? {} : { 1: result }), ...others });
    backUp();
    await restore();
    await stageRows(fixture.ledger, { 1: items(material('1')), ...others });
    const sent = (await deliverAll(fixture.ledger)).map(({ key, operation, body }) => [key, operation, body]);
    expect(sent).toContainEqual(['1', 'material.update', JSON.stringify({ code: 'M-1', name: 'Material 1' })]);
    expect(sent).toHaveLength(3);
  },
);

it(
  'a restored ledger looks up a publication, and repeats it under a new key, since it may have been withdrawn',
  covers('ledger-restored', 'I4', 'I6'),
  async () => {
    await fixture.reopen({}, { ...NO_PARTS, init: 'when-complete', publish: 'auto' });
    await stageRows(fixture.ledger, { 1: items(product('1')) });
    await deliverAll(fixture.ledger);
    await fixture.ledger.evaluatePassports({ afterKey: null, limit: 9 });
    const init = await claimOnly();
    await settleOne(fixture.ledger, { id: init.id, decision: delivered() });
    const sent = await claimOnly();
    expect(sent.operation).toBe('passport.publish');
    backUp();

    await restore();
    const [unconfirmed] = await fixture.ledger.unconfirmedDeliveries({ limit: 9 });
    expect(unconfirmed).toMatchObject({ operation: 'passport.publish', reason: { code: 'restored' } });
    await resendUnconfirmed();
    expect((await claimOnly()).idempotencyKey).not.toBe(sent.idempotencyKey);
  },
);
