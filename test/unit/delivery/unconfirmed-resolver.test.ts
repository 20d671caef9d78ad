import { expect, it } from 'vitest';
import { createRetryBudget } from '../../../src/delivery/admission/retry-budget.ts';
import { createCreatePause } from '../../../src/delivery/unconfirmed/list-read-back.ts';
import { createUnconfirmedResolver } from '../../../src/delivery/unconfirmed/unconfirmed-resolver.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { Decision, UnconfirmedDelivery } from '../../../src/domain/ports/deliveries.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { Listing, RemoteItem } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { covers } from '../../support/docs/reliability.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const COUNT = 1000;

/** Unconfirmed deliveries with one reason, and a complete listing that resolves them. With `unclear` they are members of imports. */
function given(
  code: Reason['code'],
  listed: RemoteItem[],
  {
    takesOnlyReads = false,
    lagMs = 0,
    acknowledged = [],
    listing = { complete: true, count: null },
    count = COUNT,
    isApplied = () => true,
    isStorable = () => true,
    withoutProof = 'hold',
    passes = false,
  }: {
    takesOnlyReads?: boolean;
    lagMs?: number;
    /** The creates that the API has acknowledged. */
    acknowledged?: { remoteId: number; sentAt: number }[];
    listing?: Listing;
    count?: number;
    /** Whether a delivery has not changed since the list was read. */
    isApplied?: (id: number) => boolean;
    /** Whether the ledger can store the decision about a delivery. */
    isStorable?: (id: number) => boolean;
    withoutProof?: 'hold' | 'accept';
    /** True if a millisecond passes whenever the time is asked for. */
    passes?: boolean;
  } = {},
) {
  const manual = createManualClock();
  const clock = { ...manual, now: () => (passes && manual.advance(1), manual.now()) };
  const calls: number[] = [];
  const decisions: Decision[] = [];
  const events: ProgressEvent[] = [];
  const retries = createRetryBudget();
  const pause = createCreatePause(clock);
  const unconfirmed = Array.from({ length: count }, (_, id): UnconfirmedDelivery => {
    const key = `P${id}`;
    const isStep = code === 'pending';
    const reason = {
      code,
      message: 'No answer.',
      ...(code === 'change_proof' && { since: clock.now() }),
      ...(isStep && { atRest: true as const }),
    };
    const sentKey = { field: 'sku', value: key };
    const common = { id, key, revision: 1, source: 'erp', path: '', body: '' } as const;
    const names = { naturalKey: key, sentKey };
    const sent = { payload: { sku: key, name: 'New' }, changed: ['name'], former: { name: 'Old' }, remoteId: id };
    const what =
      code === 'unclear' || code === 'change_proof'
        ? ({ operation: 'product.import', sent } as const)
        : ({ operation: isStep ? 'passport.publish' : 'product.create', sent: null } as const);
    return {
      ...common,
      kind: isStep ? 'passport' : 'product',
      ...names,
      ...what,
      reason,
      productId: null,
      importId: null,
      isImportedCreate: false,
      since: clock.now(),
      sentAt: clock.now(),
      attempts: 1,
    };
  });
  const resolver = createUnconfirmedResolver({
    ledger: {
      unconfirmedDeliveries: async () => unconfirmed,
      endRest: async () => undefined,
      acknowledgedCreates: async ({ sentAfter }) => acknowledged.filter(({ sentAt }) => sentAt > sentAfter),
      unprovenKinds: async () => [],
      hasUnbound: async () => false,
      endProof: async () => undefined,
      async settle(requests) {
        calls.push(requests.length);
        const ids = requests.flatMap(({ settlements }) => settlements.map(({ id }) => id));
        if (!ids.every(isStorable)) throw new Error('This decision breaks a rule of the ledger.');
        return requests.flatMap(({ settlements }) =>
          settlements.map(({ id, revision, decision }) => {
            decisions.push(decision);
            return { id, revision, released: 0, applied: isApplied(id) };
          }),
        );
      },
    },
    target: {
      list: async (_kind, onPage) => {
        await onPage(listed, '');
        return listing;
      },
    },
    reader: { publications: async () => ({ complete: true, count: null }) },
    health: {
      answers: async () => true,
      observe: () => undefined,
      allows: () => true,
      refused: () => new Map(),
      wasOut: () => false,
      takesOnlyReads: () => takesOnlyReads,
    },
    retries,
    pause,
    echoes: { has: () => false, ready: async () => undefined },
    assumesEmpty: false,
    isStaging: () => false,
    bulk: {
      looked: async () => undefined,
      lookedAtChange: async () => undefined,
      tookChange: async () => undefined,
      absent: async () => undefined,
      mayMakeUntil: async () => 0,
      mayRepeat: async () => true,
    },
    profile: Profile.parse({ list: { lagMs }, answers: { withoutProof } }),
    clock,
    random: () => 0,
    emit: (event) => void events.push(event),
  });
  const resolve = () => resolver.resolve(new AbortController().signal);
  return { clock, decisions, calls, events, retries, resolve, pause };
}

/** The decisions, and how long the next retry has to wait after them. */
async function settled(code: Reason['code'], listed: RemoteItem[]): Promise<{ decisions: Decision[]; nextMs: number }> {
  const { clock, decisions, retries, resolve } = given(code, listed);
  await resolve();
  return { decisions, nextMs: retries.reserve(clock.ticks()) };
}

const kinds = (decisions: Decision[]) => [...new Set(decisions.map(({ kind }) => kind))];

it('the read-back takes a slot of the retry budget for each resend', covers('server-error', 'I5'), async () => {
  const { decisions, nextMs } = await settled('reset', []);
  expect(kinds(decisions)).toEqual(['resend']);
  expect(nextMs).toBeGreaterThan(90_000);
});

it('the read-back sends an import of a change again only when a list that lags had the time to show the change', async () => {
  const listed = [{ remoteId: 0, naturalKey: 'P0', fields: { sku: 'P0', name: 'Old' } }];
  const { clock, decisions, resolve } = given('change_proof', listed, { count: 1, lagMs: 15_000 });
  await resolve();
  expect(decisions.pop()).toMatchObject({ kind: 'unconfirmed', nextLookAt: clock.now() + 1000 });
  clock.advance(15_000);
  await resolve();
  expect(kinds(decisions)).toEqual(['resend']);
});

it.each(['reset', 'unclear', 'conflict'] as const)(
  'deliveries of one read are settled in one call: %s',
  async (code) => {
    const { decisions, calls, resolve } = given(code, [], { count: 20 });
    await resolve();
    expect(decisions).toHaveLength(20);
    expect(calls).toEqual([1]);
  },
);

it('a decision that the ledger cannot store keeps no other decision of its read back', async () => {
  const { decisions, events, resolve } = given('reset', [], { count: 3, isStorable: (id) => id !== 1 });
  await expect(resolve()).rejects.toThrow('breaks a rule');
  expect(decisions).toHaveLength(2);
  expect(events.flatMap((event) => (event.type === 'settled' ? event.key : []))).toEqual(['P0', 'P2']);
});

it('the read-back reports nothing of a delivery that was settled by somebody else while the list was read', async () => {
  const { decisions, events, resolve } = given('reset', [], { count: 3, isApplied: (id) => id !== 1 });
  await resolve();
  expect(decisions).toHaveLength(3);
  expect(events.flatMap((event) => (event.type === 'settled' ? event.key : []))).toEqual(['P0', 'P2']);
});

it.each(['reset', 'unclear'] as const)('the read-back takes no slot for an item that is found, %s', async (code) => {
  const listed = Array.from({ length: COUNT }, (_, id) => ({
    remoteId: id,
    naturalKey: `P${id}`,
    fields: { sku: `P${id}`, name: 'New' },
  }));
  const { decisions, nextMs } = await settled(code, listed);
  expect([kinds(decisions), nextMs]).toEqual([['delivered'], 0]);
});

it(
  'the read-back takes no slot for the first send of a restored ledger, and does not delay it',
  covers('ledger-restored', 'I5'),
  async () => {
    const { decisions, nextMs } = await settled('restored', []);
    expect([kinds(decisions), nextMs]).toEqual([['resend'], 0]);
    expect(new Set(decisions.map((decision) => 'dueAt' in decision && decision.dueAt))).toEqual(new Set([0]));
  },
);

it.each([
  ['gate', 'blocked'],
  ['refused', 'rejected'],
] as const)(
  'the read-back keeps the refusal `%s` for an item that is not at the API, and for no other',
  covers('answer-lost', 'I6'),
  async (code, state) => {
    const { decisions } = await settled(code, []);
    expect(kinds(decisions)).toEqual([state]);
    const listed = Array.from({ length: COUNT }, (_, id) => ({
      remoteId: id,
      naturalKey: `P${id}`,
      fields: { sku: `P${id}` },
    }));
    expect(kinds((await settled(code, listed)).decisions)).toEqual(['delivered']);
  },
);

it(
  'the read-back leaves a delivery to a person if the listing hides keys and neither shows nor excludes it',
  covers('answer-lost', 'I6'),
  async () => {
    const { decisions } = await settled('reset', [{ remoteId: 1, naturalKey: null, fields: { name: 'New' } }]);
    expect(kinds(decisions)).toEqual(['unconfirmed']);
    expect(decisions[0]).toMatchObject({
      nextLookAt: null,
      reason: { message: expect.stringContaining('dpp-sync settle') },
    });
  },
);

it('the read-back sends an import again after a listing that proves nothing, because an import may be written twice', async () => {
  const { decisions } = await settled('unclear', [{ remoteId: 1, naturalKey: null, fields: { name: 'New' } }]);
  expect(new Set(decisions.map((decision) => 'absent' in decision && decision.absent))).toEqual(new Set([false]));
  expect(kinds(decisions)).toEqual(['resend']);
});

it(
  'the read-back sends one delivery again in half a minute while the API fails at every write',
  covers('server-error', 'I5'),
  async () => {
    const { clock, decisions, resolve } = given('server_error', [], { takesOnlyReads: true });
    const looks: number[] = [];
    for (let tenths = 0; tenths < 9; tenths += 1) {
      await resolve();
      looks.push(decisions.length);
      clock.advance(10_000);
    }
    expect(looks).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3]);
  },
);

it('publications that were read together are read together again', async () => {
  const { decisions, resolve } = given('pending', [], { count: 3, passes: true });
  await resolve();
  expect(kinds(decisions)).toEqual(['unconfirmed']);
  const times = decisions.map((decision) => decision.kind === 'unconfirmed' && decision.nextLookAt);
  expect([decisions.length, new Set(times).size]).toEqual([3, 1]);
});

it('deliveries that only need a read are still read back while every write fails', async () => {
  const { decisions, resolve } = given('exists', [], { takesOnlyReads: true });
  await resolve();
  expect(decisions).toHaveLength(COUNT);
});

const LATER = { remoteId: 9999, naturalKey: 'LATER', fields: { sku: 'LATER' } };

it('the read-back believes an absence at once if the list shows an item that was sent later', async () => {
  const { clock, decisions, resolve } = given('reset', [LATER], {
    lagMs: 30_000,
    acknowledged: [{ remoteId: 9999, sentAt: Number.MAX_SAFE_INTEGER }],
  });
  clock.advance(2_000);
  await resolve();
  expect(kinds(decisions)).toEqual(['resend']);
});

it.each([
  ['an item that was sent earlier', [LATER], [{ remoteId: 9999, sentAt: -1 }]],
  ['no item that was sent later', [], [{ remoteId: 9999, sentAt: Number.MAX_SAFE_INTEGER }]],
  ['a foreign item', [LATER], []],
])(
  'the read-back believes an absence after two lists that are far enough apart if they show %s',
  covers('answer-lost', 'I6'),
  async (_what, listed, acknowledged) => {
    const { clock, decisions, resolve } = given('reset', listed, { lagMs: 30_000, acknowledged, count: 1 });
    clock.advance(2_000);
    const seen: (string | undefined)[] = [];
    for (const waitMs of [29_000, 1_000, 0]) {
      await resolve();
      seen.push(decisions.at(-1)?.kind);
      clock.advance(waitMs);
    }
    expect(seen).toEqual(['unconfirmed', 'unconfirmed', 'resend']);
    expect(decisions[0]).toMatchObject({ nextLookAt: expect.any(Number), spend: false });
  },
);

it('an item that the platform called existing counts as absent only after lists that prove it', async () => {
  const { clock, decisions, resolve } = given('exists', [], { lagMs: 30_000, count: 1 });
  await resolve();
  expect(kinds(decisions)).toEqual(['unconfirmed']);
  clock.advance(30_000);
  await resolve();
  expect(kinds(decisions)).toEqual(['unconfirmed', 'rejected']);
});

it('the read-back pauses creates after a read in which entries moved, until the next read has ended', async () => {
  const outcome = { kind: 'ambiguous', cause: 'unreadable_answer', detail: { status: null, message: '' } } as const;
  const { clock, decisions, resolve, pause } = given('reset', [], {
    listing: { complete: false, outcome, moved: true },
    count: 1,
  });
  const paused: string[][] = [];
  for (let round = 0; round < 3; round += 1) {
    await resolve();
    paused.push(pause.operations());
    clock.advance(10_000);
  }
  // Entries that move during the pause are moved by others.
  expect(paused).toEqual([['product.create'], [], []]);
  expect(kinds(decisions)).toEqual(['unconfirmed']);
});

it.each(['hold', 'accept'] as const)(
  'a list that fails again and again is read for ever, or given up where the profile accepts answers: %s',
  covers('server-error', 'I5'),
  async (withoutProof) => {
    const failed: Listing = {
      complete: false,
      outcome: { kind: 'ambiguous', cause: 'server_error', detail: { status: 500, message: 'Broken.' } },
    };
    const { clock, decisions, events, resolve } = given('unechoed', [], { listing: failed, count: 2, withoutProof });
    const reads = (): number => events.filter(({ type }) => type === 'request').length;
    const kindsByRead: string[][] = [];
    for (let read = 0; read < 7; read += 1) {
      if (read > 0) clock.advance(300_000);
      decisions.length = 0;
      await resolve();
      kindsByRead.push(decisions.map(({ kind }) => kind));
    }
    const waits = Array.from({ length: 4 }, () => ['unconfirmed', 'unconfirmed']);
    const last = withoutProof === 'hold' ? ['unconfirmed', 'unconfirmed'] : ['delivered', 'delivered'];
    expect(kindsByRead).toEqual([...waits, last, last, last]);
    expect(reads()).toBe(7);
    // Before the list is read again, an answer that comes meanwhile is taken without it.
    clock.advance(1000);
    decisions.length = 0;
    await resolve();
    expect([kinds(decisions), reads()]).toEqual([withoutProof === 'hold' ? [] : ['delivered'], 7]);
    if (withoutProof === 'accept') expect(decisions[0]).toMatchObject({ by: 'answer', unproven: expect.any(String) });
  },
);
