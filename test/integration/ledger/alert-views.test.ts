import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimDue, settleOne } from '../../support/ledger/deliveries.ts';
import { createPageWorld, type PageWorld, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';

let world: PageWorld;
beforeEach(async () => {
  world = await createPageWorld();
});
afterEach(() => world.remove());

const STRICT = { maxMissing: 0.1, maxMissingCount: 1, maxDrop: 0.1 };
const rows = (count: number) =>
  pagesOf(
    Array.from({ length: count }, (_, at) => sourceRow({ id: `P-${at}` }, at + 1)),
    10,
  );
const empty = () => world.ledger.views.emptyStreams();

it('a stream without rows is new after a read with rows, and known until a read has rows again', async () => {
  await world.pull({ pages: rows(0) });
  expect(empty()).toEqual([{ source: 'erp', stream: 'default', isNew: false }]);
  await world.pull({ pages: rows(3) });
  expect(empty()).toEqual([]);
  await world.pull({ pages: rows(0) });
  expect(empty()).toEqual([{ source: 'erp', stream: 'default', isNew: true }]);
  await world.pull({ pages: rows(0) });
  expect(empty()).toEqual([{ source: 'erp', stream: 'default', isNew: false }]);
  await world.pull({ pages: rows(3) });
  expect(empty()).toEqual([]);
});

it('a stream without rows is new also after runs that found nothing new, and while they find nothing new again', async () => {
  const nothingNew = async function* () {
    yield { rows: [], nothingNew: true as const };
  };
  await world.pull({ pages: rows(3) });
  await world.pull({ pages: nothingNew });
  await world.pull({ pages: rows(0) });
  expect(empty()).toEqual([{ source: 'erp', stream: 'default', isNew: true }]);
  await world.pull({ pages: nothingNew });
  expect(empty()).toEqual([{ source: 'erp', stream: 'default', isNew: true }]);
});

it('a stream without rows is not reported any more once a read that is not complete brings rows', async () => {
  await world.pull({ pages: rows(3) });
  await world.pull({ pages: rows(0) });
  const broken = async function* () {
    yield { rows: [sourceRow({ id: 'P-1' })] };
    throw new Error('The connection was lost.');
  };
  await world.pull({ pages: broken }).catch(() => undefined);
  expect(empty()).toEqual([]);
});

it('a stream without rows is not reported where the guard holds the read, nor where a person has accepted it', async () => {
  await world.pull({ pages: rows(30) });
  await world.pull({ pages: rows(0), guard: STRICT });
  expect(world.ledger.views.guardedReads(['erp'])).toHaveLength(1);
  expect(empty()).toEqual([]);
  await world.ledger.accept({ sources: ['erp'] });
  await world.pull({ pages: rows(0), guard: STRICT });
  expect(empty().filter(({ isNew }) => isNew)).toEqual([]);
  await world.pull({ pages: rows(0), guard: STRICT });
  expect(empty().filter(({ isNew }) => isNew)).toEqual([]);
});

it('the items of each source that need a person are counted by their state', async () => {
  await world.pull({ pages: rows(2) });
  const [due] = await world.ledger.dueDeliveries({ afterId: 0, limit: 1 });
  const reason = { code: 'internal' as const, message: 'It failed.' };
  const { id, revision } = due ?? { id: 0, revision: 0 };
  const stuck = () => world.ledger.views.stuckItems([]).counts;
  expect(stuck()).toEqual([]);
  await world.ledger.deadLetter({ deliveryId: id, revision, reason, isOneOfMany: false });
  expect(stuck()).toEqual([{ source: 'erp', state: 'rejected', count: 1 }]);
});

it('a source is sending while an item of it is due, being sent or looked up', async () => {
  await world.pull({ pages: rows(1) });
  await world.pull({ source: 'pim', pages: [] });
  const sending = () => world.ledger.views.stuckItems(['erp', 'pim']).sending;
  expect(sending()).toEqual(['erp']);
  const { id } = await claimDue(world.ledger);
  expect(sending()).toEqual(['erp']);
  const reason = { code: 'timeout' as const, message: 'No answer.' };
  await settleOne(world.ledger, { id, decision: { kind: 'unconfirmed', reason, nextLookAt: 1e15, spend: true } });
  expect(sending()).toEqual(['erp']);
  await settleOne(world.ledger, { id, decision: { kind: 'unconfirmed', reason, nextLookAt: null, spend: true } });
  expect(sending()).toEqual([]);
});
