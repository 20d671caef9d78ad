import { expect, it } from 'vitest';
import { createDoubts } from '../../src/delivery/doubts.ts';
import { createRetryBudget } from '../../src/delivery/retry-budget.ts';
import { createTargetGate } from '../../src/delivery/target-gate.ts';
import type { Reason } from '../../src/domain/delivery.ts';
import type { DoubtfulDelivery } from '../../src/domain/ports/doubt.ts';
import type { RemoteItem } from '../../src/domain/ports/target.ts';
import type { Verdict } from '../../src/domain/ports/verdict.ts';
import { Profile } from '../../src/domain/profile.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { covers } from '../support/reliability.ts';

const COUNT = 1000;

/** Creates in doubt for the same reason, or members of imports that nothing was said of, and a complete listing that settles them. */
function given(code: Reason['code'], listed: RemoteItem[], { failsAtWrites = false } = {}) {
  const clock = createManualClock();
  const verdicts: Verdict[] = [];
  const retries = createRetryBudget();
  const doubts = Array.from({ length: COUNT }, (_, id): DoubtfulDelivery => {
    const key = `P${id}`;
    const reason = { code, message: 'No answer.' };
    const sentKey = { field: 'sku', value: key };
    const common = { id, kind: 'product', key, source: 'erp', path: '', body: '', naturalKey: key, sentKey } as const;
    const sent = { payload: { sku: key, name: 'New' }, changed: ['name'], remoteId: id };
    const what =
      code === 'unclear'
        ? ({ operation: 'product.import', sent } as const)
        : ({ operation: 'product.create', sent: null } as const);
    return { ...common, ...what, reason, productId: null, importId: null, since: 0, attempts: 1 };
  });
  const settling = createDoubts({
    ledger: {
      doubtfulDeliveries: async () => doubts,
      unprovenKinds: async () => [],
      hasUnbound: async () => false,
      endProof: async () => undefined,
      settle: async ({ deliveryId, verdict }) => {
        verdicts.push(verdict);
        return { deliveryId, released: 0, applied: true };
      },
      settleImport: async () => [],
    },
    target: {
      list: async (_kind, onPage) => {
        await onPage(listed, '');
        return { complete: true, count: null };
      },
    },
    reader: { publications: async () => ({ complete: true, count: null }) },
    pacer: { answers: async () => true, heard: () => undefined },
    breaker: { wasOut: () => false, failsAtWrites: () => failsAtWrites },
    retries,
    gate: createTargetGate(clock),
    profile: Profile.parse({}),
    clock,
    random: () => 0,
    emit: () => undefined,
  });
  const resolve = () => settling.resolve(new AbortController().signal);
  return { clock, verdicts, retries, resolve };
}

/** The verdicts, and how long the next retry has to wait after them. */
async function settled(code: Reason['code'], listed: RemoteItem[]): Promise<{ verdicts: Verdict[]; nextMs: number }> {
  const { clock, verdicts, retries, resolve } = given(code, listed);
  await resolve();
  return { verdicts, nextMs: retries.reserve(clock.ticks()) };
}

const kinds = (verdicts: Verdict[]) => [...new Set(verdicts.map(({ kind }) => kind))];

it('takes a place in the retry budget for each that goes out again', covers('server-error', 'I5'), async () => {
  const { verdicts, nextMs } = await settled('reset', []);
  expect(kinds(verdicts)).toEqual(['resend']);
  expect(nextMs).toBeGreaterThan(90_000);
});

it.each(['reset', 'unclear'])('takes none for what is found at the API, %s', async (code) => {
  const listed = Array.from({ length: COUNT }, (_, id) => ({
    remoteId: id,
    naturalKey: `P${id}`,
    fields: { sku: `P${id}`, name: 'New' },
  }));
  const { verdicts, nextMs } = await settled(code, listed);
  expect([kinds(verdicts), nextMs]).toEqual([['delivered'], 0]);
});

it(
  'takes none for what a ledger that was put back sends first, and delays none of it',
  covers('ledger-restored', 'I5'),
  async () => {
    const { verdicts, nextMs } = await settled('restored', []);
    expect([kinds(verdicts), nextMs]).toEqual([['resend'], 0]);
    expect(new Set(verdicts.map((verdict) => 'dueAt' in verdict && verdict.dueAt))).toEqual(new Set([0]));
  },
);

it.each([
  ['gate', 'blocked'],
  ['refused', 'rejected'],
])(
  'lets a %s stand for what is not at the API, and for nothing else',
  covers('answer-lost', 'I6'),
  async (code, state) => {
    const { verdicts } = await settled(code, []);
    expect(kinds(verdicts)).toEqual([state]);
    const listed = Array.from({ length: COUNT }, (_, id) => ({
      remoteId: id,
      naturalKey: `P${id}`,
      fields: { sku: `P${id}` },
    }));
    expect(kinds((await settled(code, listed)).verdicts)).toEqual(['delivered']);
  },
);

it(
  'leaves to a person what a listing that hides keys can neither show nor rule out',
  covers('answer-lost', 'I6'),
  async () => {
    const { verdicts } = await settled('reset', [{ remoteId: 1, naturalKey: null, fields: { name: 'New' } }]);
    expect(kinds(verdicts)).toEqual(['doubt']);
    expect(verdicts[0]).toMatchObject({
      nextLookAt: null,
      reason: { message: expect.stringContaining('dpp-sync settle') },
    });
  },
);

it('sends an import again where such a listing cannot tell, since it may be written twice', async () => {
  const { verdicts } = await settled('unclear', [{ remoteId: 1, naturalKey: null, fields: { name: 'New' } }]);
  expect(new Set(verdicts.map((verdict) => 'absent' in verdict && verdict.absent))).toEqual(new Set([false]));
  expect(kinds(verdicts)).toEqual(['resend']);
});

it('sends one again in half a minute while the API fails at every write', covers('server-error', 'I5'), async () => {
  const { clock, verdicts, resolve } = given('server_error', [], { failsAtWrites: true });
  const looks: number[] = [];
  for (let tenths = 0; tenths < 9; tenths += 1) {
    await resolve();
    looks.push(verdicts.length);
    clock.advance(10_000);
  }
  expect(looks).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3]);
});

it('goes on looking up what only has to be looked up meanwhile', async () => {
  const { verdicts, resolve } = given('exists', [], { failsAtWrites: true });
  await resolve();
  expect(verdicts).toHaveLength(COUNT);
});
