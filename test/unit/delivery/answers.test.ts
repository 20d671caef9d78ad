import { describe, expect, it } from 'vitest';
import { type Answered, createAnswers } from '../../../src/delivery/settling.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const answer = (id: number, latencyMs = 0): Answered => ({
  request: { request: id, sends: 1, operation: 'product.create', path: '/', body: '', idempotencyKey: '', members: [] },
  outcome: { kind: 'accepted', evidence: 'echo', remoteId: id },
  latencyMs,
  times: { sentAt: 0, answeredAt: latencyMs },
  forbidden: false,
  from: {
    deliveries: [{ id, revision: 1, operation: 'product.create', urgent: false, receivedAt: 0, lookedAt: 0 }],
    operation: 'product.create',
    asImport: false,
    begunAt: 0,
    wasTried: true,
  },
});
const idsOf = (group: readonly Answered[]) => group.map(({ request }) => request.request);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('answers', () => {
  function given(underWay: number) {
    const clock = createManualClock();
    return { clock, answers: createAnswers({ underWay: () => underWay, clock }) };
  }

  it('answers are one group where they come in the same turn of the event loop', async () => {
    const { answers } = given(0);
    for (const id of [1, 2, 3]) answers.add(answer(id));
    expect(idsOf(await answers.next())).toEqual([1, 2, 3]);
  });

  it('answers wait for others for 2 ms at most, where many can be expected within that time', async () => {
    const { clock, answers } = given(20);
    answers.add(answer(1));
    expect(idsOf(await answers.next())).toEqual([1]);
    answers.add(answer(2));
    const group = answers.next();
    await turn();
    answers.add(answer(3));
    await clock.sleepers(1);
    clock.advance(1);
    answers.add(answer(4));
    await turn();
    clock.advance(1);
    expect(idsOf(await group)).toEqual([2, 3, 4]);
  });

  it('answers do not wait until the time is over once the group is large', async () => {
    const { clock, answers } = given(20);
    answers.add(answer(0));
    await answers.next();
    answers.add(answer(1));
    const group = answers.next();
    await clock.sleepers(1);
    for (let id = 2; id <= 48; id += 1) answers.add(answer(id));
    expect(await group).toHaveLength(48);
  });

  it('answers of a slow platform do not wait for each other', async () => {
    const { answers } = given(20);
    answers.add(answer(1, 20));
    await answers.next();
    answers.add(answer(2, 20));
    expect(idsOf(await answers.next())).toEqual([2]);
  });

  it('answers end with an empty group once they are closed, after all that was gathered', async () => {
    const { answers } = given(0);
    answers.add(answer(1));
    answers.close();
    expect([idsOf(await answers.next()), await answers.next()]).toEqual([[1], []]);
  });
});
