import { beforeEach, describe, expect, it } from 'vitest';
import { type Authorization, createAuthorization } from '../../../src/delivery/admission/authorization.ts';
import { createScopeProbe, type ScopeProbe } from '../../../src/delivery/admission/sent-alone.ts';
import { createReceivedQueue, type Received, type ReceivedQueue } from '../../../src/delivery/delivery-window.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { covers } from '../../support/docs/reliability.ts';

const DENIED: Outcome = { kind: 'denied', by: 'scope', detail: { status: 403, message: 'No.' } };
const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: null };
const THROTTLED: Outcome = { kind: 'throttled', retryAfterMs: null, detail: { status: 429, message: 'Slowly.' } };

describe('a scope probe', () => {
  let authorization: Authorization;
  let queue: ReceivedQueue;
  let probe: ScopeProbe;
  let denials: Map<number, number>;
  let now: number;
  beforeEach(() => {
    now = 1000;
    denials = new Map();
    authorization = createAuthorization({ ownPublishKey: false });
    queue = createReceivedQueue();
    const denialsOf = async (ids: readonly number[]) =>
      new Map(ids.map((id) => [id, { at: denials.get(id) ?? null, isAskedAgain: false }]));
    probe = createScopeProbe({ authorization, ledger: { denialsOf } });
  });

  function receive(ids: readonly number[], operation: Operation = 'passport.publish'): void {
    for (const id of ids) queue.append({ id, revision: 1, operation, urgent: false, receivedAt: now, lookedAt: now });
  }
  async function free(): Promise<number[]> {
    await probe.prepare(queue, now);
    return [...queue.inOrder()].filter((one) => probe.waitMs(one, now) === 0).map(({ id }) => id);
  }
  /** Takes deliveries out of the queue as the admission does. Returns for each request a function that ends it. */
  async function send(): Promise<{ id: number; end: (outcome: Outcome) => void }[]> {
    const sent: { id: number; end: (outcome: Outcome) => void }[] = [];
    await probe.prepare(queue, now);
    for (const one of Array.from(queue.inOrder())) {
      const { operation } = one;
      if (!authorization.allows(operation) || probe.waitMs(one, now) > 0) continue;
      queue.remove(one);
      const request = { operation, begunAt: now };
      probe.begin(request);
      const end = (outcome: Outcome): void => {
        authorization.observe(outcome, operation);
        probe.end(request);
      };
      sent.push({ id: one.id, end });
    }
    return sent;
  }

  it('a scope probe costs one refusal, however many deliveries wait', covers('key-refused', 'I5'), async () => {
    receive(Array.from({ length: 50 }, (_, id) => id));
    const sent = await send();
    expect(sent.map(({ id }) => id)).toEqual([0]);
    for (const { end } of sent) end(DENIED);
    expect(authorization.allows('passport.publish')).toBe(false);
    expect(await send()).toEqual([]);
  });

  it('a scope probe that is accepted releases all others at once, and keeps no other scope waiting', async () => {
    receive([1, 2, 3, 4, 5]);
    receive([9], 'product.create');
    const sent = await send();
    expect(sent.map(({ id }) => id)).toEqual([9, 1]);
    sent[1]?.end(ACCEPTED);
    expect((await send()).map(({ id }) => id)).toEqual([2, 3, 4, 5]);
  });

  it('a scope probe is followed by another after a request that shows nothing, and after the scope was reopened', async () => {
    receive([1, 2, 3]);
    (await send())[0]?.end(THROTTLED);
    const second = await send();
    expect(second.map(({ id }) => id)).toEqual([2]);
    second[0]?.end(DENIED);
    authorization.reopenAccess('passport.publish');
    expect((await send()).map(({ id }) => id)).toEqual([3]);
  });

  it('a scope probe keeps no delivery waiting for longer than a second', async () => {
    receive([1, 2, 3, 4]);
    expect(await send()).toHaveLength(1);
    now += 999;
    expect(await free()).toEqual([]);
    now += 1;
    expect(await free()).toEqual([2, 3, 4]);
  });

  it('a scope probe is a delivery that was not refused before, or after a second the one that was refused longest ago', async () => {
    denials = new Map([[1, 7]]);
    receive([1, 2]);
    expect(await free()).toEqual([2]);
    for (const one of queue.inOrder()) queue.remove(one);
    denials = new Map([
      [1, 9],
      [2, 7],
      [3, 8],
    ]);
    receive([1, 2, 3]);
    expect(await free()).toEqual([]);
    now += 999;
    expect(await free()).toEqual([]);
    now += 1;
    expect(await free()).toEqual([2]);
  });

  it('a scope probe waits for a delivery that was not refused, as long as one comes within the second', async () => {
    denials = new Map([[1, 7]]);
    receive([1]);
    expect(await free()).toEqual([]);
    now += 500;
    receive([2]);
    expect(await free()).toEqual([2]);
  });

  it('no scope probe is sent where an answer has shown that the scope is granted', async () => {
    authorization.observe(ACCEPTED, 'passport.publish');
    receive([1, 2]);
    const looked: Received[] = [...queue.inOrder()];
    expect(looked.map((one) => probe.waitMs(one, now))).toEqual([0, 0]);
  });
});
