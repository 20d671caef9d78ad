import { afterEach, describe, expect, it } from 'vitest';
import { createDelivery, type Delivery, type DeliveryOptions } from '../../../src/delivery/create-delivery.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate } from '../../../src/delivery/rate/request-gate.ts';
import { type ImportProof, UNTRIED } from '../../../src/domain/delivery/import-proof.ts';
import { OPERATIONS } from '../../../src/domain/delivery/operation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { fault } from '../../../src/domain/faults.ts';
import type {
  DeliveryName,
  DueDelivery,
  NewClaim,
  RequestSettlement,
  ToClaim,
} from '../../../src/domain/ports/deliveries.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { SentWrite, Target } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createPlainQueues } from '../../support/time/plain-queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: 1 };

const due = (id: number, operation: DueDelivery['operation'] = 'product.create'): DueDelivery => ({
  id,
  revision: 1,
  kind: 'product',
  key: `P${id}`,
  operation,
  source: 'erp',
});

function claimedRequest(names: readonly DeliveryName[], operation: DueDelivery['operation'], list: number): NewClaim[] {
  const [first] = names;
  if (first === undefined) return [];
  const known = {
    naturalKey: null,
    remoteId: null,
    attempts: 0,
    groupMax: null,
    uncertain: false,
    busySince: null,
    awaySince: null,
  };
  const members = names.map(({ id }) => ({ ...due(id, operation), ...known }));
  const write = { operation, path: '/', body: `${first.id}`, idempotencyKey: `key-${first.id}` };
  return [{ list, request: first.id, sends: 1, ...write, members }];
}

const PROVEN: ImportProof = { state: 'proven', size: 100, answersIds: true, form: [] };

describe('the way of deliveries', () => {
  let delivery: Delivery;
  afterEach(() => delivery.path.stop());

  /** The real parts over a ledger and an API that do as a test says. */
  function given({
    claim = async (lists) => lists.flatMap(({ deliveries }, at) => claimedRequest(deliveries, 'product.create', at)),
    settle = async () => undefined,
    send = async () => ACCEPTED,
    isApplied = () => true,
    deadLetter = async () => undefined,
    random = () => 0,
    connections = 8,
    profile = Profile.parse({ imports: { creates: 'off' } }),
  }: {
    claim?: (lists: readonly ToClaim[]) => Promise<NewClaim[]>;
    settle?: (groups: readonly RequestSettlement[]) => Promise<void>;
    send?: (write: SentWrite) => Promise<Outcome>;
    /** Whether a delivery has not changed since its claim. */
    isApplied?: (id: number) => boolean;
    deadLetter?: (id: number) => Promise<void>;
    random?: () => number;
    connections?: number;
    profile?: Profile;
  }) {
    const clock = createManualClock();
    const claims: number[][][] = [];
    const settled: { id: number; kind: string }[][] = [];
    const sent: string[] = [];
    const deadLettered: number[] = [];
    const events: ProgressEvent[] = [];
    const ledger: Partial<DeliveryOptions['ledger']> = {
      dueAmong: async (ids) => new Set(ids),
      echoedOperations: async () => [],
      storeEcho: async () => undefined,
      importProofs: async () => ({ creates: UNTRIED, changes: PROVEN }),
      importGain: async () => ({ due: 100, listed: 0 }),
      lostImports: async () => [],
      denialsOf: async () => new Map(),
      claim(lists) {
        claims.push(lists.map(({ deliveries }) => deliveries.map(({ id }) => id)));
        return claim(lists);
      },
      async settle(groups) {
        await settle(groups);
        const all = groups.flatMap(({ settlements }) => settlements);
        settled.push(all.map(({ id, decision }) => ({ id, kind: decision.kind })));
        return all.map(({ id, revision }) => ({ id, revision, released: 0, applied: isApplied(id) }));
      },
      async deadLetter({ deliveryId }) {
        await deadLetter(deliveryId);
        deadLettered.push(deliveryId);
      },
    };
    const target: Partial<Target> = {
      async send(write) {
        sent.push(write.body ?? '');
        return { outcome: await send(write), latencyMs: 1 };
      },
    };
    const unread = () => Promise.reject(new Error('Nobody reads this here.'));
    delivery = createDelivery({
      ledger: ledger as DeliveryOptions['ledger'],
      queues: createPlainQueues(),
      target: target as Target,
      reader: { publications: unread, reports: unread, passportPdf: unread, createReport: unread },
      profile,
      clock,
      random,
      emit: (event) => void events.push(event),
      log: createRecordingLog(),
      scrub: (text) => text,
      connections,
      gate: createRequestGate(createLearntRate(null, random), clock),
      assumesEmpty: false,
      ownPublishKey: false,
      failedJobs: null,
      isStaging: () => false,
      eachRound: async () => undefined,
    });
    for (const access of OPERATIONS) delivery.health.observe({ outcome: ACCEPTED, access, subject: null }, null);
    delivery.path.start();
    return { clock, claims, settled, sent, deadLettered, events };
  }
  async function turns(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  it('the delivery path claims and settles many deliveries in one call each', async () => {
    const { claims, settled, sent } = given({});
    delivery.window.receive(
      [1, 2, 3].map((id) => due(id)),
      false,
    );
    await turns();
    expect(claims).toEqual([[[1], [2], [3]]]);
    expect(sent).toEqual(['1', '2', '3']);
    expect(settled).toEqual([[1, 2, 3].map((id) => ({ id, kind: 'delivered' }))]);
    expect(delivery.window.size()).toBe(0);
  });

  it('the delivery path reports nothing of a delivery that has changed since it was claimed', async () => {
    const { events } = given({ isApplied: (id) => id !== 1 });
    delivery.window.receive([due(1), due(2)], false);
    await turns();
    expect(events.flatMap((event) => (event.type === 'settled' ? event.key : []))).toEqual(['P2']);
    expect(delivery.window.size()).toBe(0);
  });

  it('the delivery path claims no more than can be handed to a connection at once', async () => {
    const answers: (() => void)[] = [];
    const send = () => new Promise<Outcome>((resolve) => answers.push(() => resolve(ACCEPTED)));
    const { claims, sent } = given({ send, connections: 5 });
    delivery.window.receive(
      Array.from({ length: 30 }, (_, id) => due(id)),
      false,
    );
    await turns();
    expect(claims.flat().length).toBe(sent.length);
    expect(sent.length).toBeLessThanOrEqual(5);
    for (let round = 0; round < 40; round += 1) {
      answers.shift()?.();
      await turns();
      expect(claims.flat().length - round - 1).toBeLessThanOrEqual(5);
    }
    expect(sent).toHaveLength(30);
  });

  it('the delivery path claims nothing more in place of a request whose answer is not on its way to the ledger', async () => {
    const answers: (() => void)[] = [];
    const { claims, settled } = given({
      send: () => new Promise<Outcome>((resolve) => answers.push(() => resolve(ACCEPTED))),
      connections: 2,
    });
    delivery.window.receive([due(1), due(2)], false);
    await turns();
    answers.shift()?.();
    // The answer waits for others, and a delivery that is received meanwhile makes the admission look again.
    for (let step = 0; step < 20; step += 1) {
      await Promise.resolve();
      if (step === 10) delivery.window.receive([due(3)], false);
    }
    expect([claims.flat(2), settled]).toEqual([[1, 2], []]);
    await turns();
    expect([claims.flat(2), settled.length]).toEqual([[1, 2, 3], 1]);
    for (const answer of answers) answer();
    await turns();
  });

  it('the delivery path sends each claimed import once, where a kept import brings members that another list names', async () => {
    // The kept import holds 1 and 3, whoever names them; 4 is gathered again, and 2 is left for another import.
    let isFirst = true;
    const claim = async (lists: readonly ToClaim[]) => {
      const names = lists.flatMap(({ deliveries }) => deliveries);
      if (!isFirst || names.length === 0) return [];
      isFirst = false;
      const of = (list: number, ids: number[]) =>
        claimedRequest(
          names.filter(({ id }) => ids.includes(id)),
          'product.import',
          list,
        );
      return [...of(0, [1, 3]), ...of(1, [4])];
    };
    const profile = Profile.parse({ imports: { membersMax: 2 } });
    const { sent, settled } = given({ claim, profile });
    delivery.window.receive(
      [1, 2, 3, 4].map((id) => due(id, 'product.import')),
      false,
    );
    await turns();
    expect(sent.toSorted()).toEqual(['1', '4']);
    expect(
      settled
        .flat()
        .map(({ id }) => id)
        .toSorted((a, b) => a - b),
    ).toEqual([1, 3, 4]);
    expect([delivery.window.count('received'), delivery.window.size()]).toEqual([1, 1]);
  });

  it('the delivery path sends the members of an import that did not fit with the next one', async () => {
    const claim = async (lists: readonly ToClaim[]) =>
      lists.flatMap(({ deliveries }, at) => claimedRequest(deliveries.slice(0, 2), 'product.import', at));
    const accepted = { kind: 'accepted', effect: 'updated', remoteId: null } as const;
    const members = [accepted, accepted];
    const { clock, claims, settled } = given({ claim, send: async () => ({ ...ACCEPTED, remoteId: null, members }) });
    delivery.window.receive(
      [1, 2, 3].map((id) => due(id, 'product.import')),
      false,
    );
    await clock.sleepers(1);
    clock.advance(2);
    await turns();
    expect(claims).toEqual([[[1, 2, 3]], [[3]]]);
    expect(settled.flat().map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('the delivery path dead-letters a delivery whose claim throws, and sends the others', async () => {
    const claim = async (lists: readonly ToClaim[]) => {
      if (lists.some(({ deliveries }) => deliveries.some(({ id }) => id === 2)))
        throw new Error('It cannot be encoded.');
      return lists.flatMap(({ deliveries }, at) => claimedRequest(deliveries, 'product.create', at));
    };
    const { sent, deadLettered } = given({ claim });
    delivery.window.receive(
      [1, 2, 3].map((id) => due(id)),
      false,
    );
    await turns();
    expect([sent, deadLettered]).toEqual([['1', '3'], [2]]);
    expect(delivery.window.size()).toBe(0);
  });

  it('the delivery path dead-letters a delivery whose settling throws, and settles the others', async () => {
    const settle = async (groups: readonly RequestSettlement[]) => {
      if (groups.some(({ settlements }) => settlements.some(({ id }) => id === 2))) throw new Error('A defect.');
    };
    const { settled, deadLettered } = given({ settle });
    delivery.window.receive(
      [1, 2, 3].map((id) => due(id)),
      false,
    );
    await turns();
    expect([settled.flat().map(({ id }) => id), deadLettered]).toEqual([[1, 3], [2]]);
    expect(delivery.window.size()).toBe(0);
  });

  it('the delivery path dead-letters a delivery once the ledger can store that, and settles the others meanwhile', async () => {
    const settle = async (groups: readonly RequestSettlement[]) => {
      if (groups.some(({ settlements }) => settlements.some(({ id }) => id === 1))) throw new Error('A defect.');
    };
    let isFull = true;
    const deadLetter = async () => {
      if (isFull) throw fault('ledger.unwritable', 'The disk is full.');
    };
    const { clock, settled, deadLettered } = given({ settle, deadLetter });
    delivery.window.receive([due(1), due(2)], false);
    await turns();
    expect([settled.flat().map(({ id }) => id), deadLettered]).toEqual([[2], []]);
    expect([delivery.path.trouble()?.code, delivery.window.size()]).toEqual(['ledger.unwritable', 1]);
    isFull = false;
    clock.advance(1000);
    await turns();
    expect([deadLettered, delivery.path.trouble(), delivery.window.size()]).toEqual([[1], null, 0]);
  });

  it('the delivery path shows why a delivery cannot be dead-lettered while another one is', async () => {
    const settle = async () => {
      throw new Error('A defect.');
    };
    const blocked = new Set([1, 2]);
    const deadLetter = async (id: number) => {
      if (blocked.has(id)) throw fault('ledger.unwritable', 'The disk is full.');
    };
    const { clock, deadLettered } = given({ settle, deadLetter });
    delivery.window.receive([due(1), due(2)], false);
    await turns();
    blocked.delete(1);
    clock.advance(1000);
    await turns();
    expect([deadLettered, delivery.path.trouble()?.code, delivery.window.size()]).toEqual([
      [1],
      'ledger.unwritable',
      1,
    ]);
    blocked.clear();
    clock.advance(1000);
    await turns();
    expect([delivery.path.trouble(), delivery.window.size()]).toEqual([null, 0]);
  });

  it('the delivery path leaves a delivery that the ledger refuses to dead-letter to the next process', async () => {
    const defect = async () => {
      throw new Error('A defect.');
    };
    given({ settle: defect, deadLetter: defect });
    delivery.window.receive([due(1)], false);
    await turns();
    expect([delivery.path.trouble(), delivery.window.size()]).toEqual([null, 0]);
  });

  it('the delivery path waits at its end until a delivery is dead-lettered that nothing could be decided about', async () => {
    let isDeciding = false;
    const random = () => {
      if (isDeciding) throw new Error('A defect.');
      return 0;
    };
    const stored = Promise.withResolvers<void>();
    const send = async () => {
      isDeciding = true;
      return ACCEPTED;
    };
    const { deadLettered } = given({ send, random, deadLetter: () => stored.promise });
    delivery.window.receive([due(1)], false);
    await turns();
    let hasStopped = false;
    const stopped = delivery.path.stop().then(() => {
      hasStopped = true;
    });
    await turns();
    expect(hasStopped).toBe(false);
    stored.resolve();
    await stopped;
    expect(deadLettered).toEqual([1]);
  });

  it('the delivery path keeps what the API has answered until the ledger can store it', async () => {
    let isFull = true;
    const settle = async () => {
      if (isFull) throw fault('ledger.unwritable', 'The disk is full.');
    };
    const { clock, settled } = given({ settle });
    delivery.window.receive([due(1)], false);
    await turns();
    expect([delivery.path.trouble()?.code, settled]).toEqual(['ledger.unwritable', []]);
    isFull = false;
    clock.advance(1000);
    await turns();
    expect([delivery.path.trouble(), settled]).toEqual([null, [[{ id: 1, kind: 'delivered' }]]]);
  });

  it('the delivery path tries a claim again that the ledger could not store, a second later', async () => {
    let isFull = true;
    const claim = async (lists: readonly ToClaim[]) => {
      if (isFull) throw fault('ledger.unwritable', 'The disk is full.');
      return lists.flatMap(({ deliveries }, at) => claimedRequest(deliveries, 'product.create', at));
    };
    const { clock, claims, sent } = given({ claim });
    delivery.window.receive([due(1), due(2)], false);
    await turns();
    expect([claims.length, sent]).toEqual([1, []]);
    isFull = false;
    clock.advance(1000);
    await turns();
    expect([claims.length, sent]).toEqual([2, ['1', '2']]);
  });

  it('the delivery path that is stopped settles what is in flight, and sends nothing more', async () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const { settled, sent } = given({ send: () => promise });
    delivery.window.receive([due(1)], false);
    await turns();
    const stopped = delivery.path.stop();
    delivery.window.receive([due(2)], false);
    await turns();
    resolve(ACCEPTED);
    await stopped;
    expect([sent, settled]).toEqual([['1'], [[{ id: 1, kind: 'delivered' }]]]);
  });

  it('the delivery path that is stopped sends and settles the deliveries that were being claimed', async () => {
    const committed = Promise.withResolvers<void>();
    const second = Promise.withResolvers<Outcome>();
    const claim = async (lists: readonly ToClaim[]) => {
      const requests = lists.flatMap(({ deliveries }, at) => claimedRequest(deliveries, 'product.create', at));
      if (requests.some(({ request }) => request === 2)) await committed.promise;
      return requests;
    };
    const { settled, sent } = given({ claim, send: async ({ body }) => (body === '1' ? second.promise : ACCEPTED) });
    delivery.window.receive([due(1)], false);
    await turns();
    delivery.window.receive([due(2)], false);
    await turns();
    const stopped = delivery.path.stop();
    second.resolve(ACCEPTED);
    await turns();
    committed.resolve();
    await stopped;
    expect([sent, settled.flat().map(({ id }) => id)]).toEqual([
      ['1', '2'],
      [1, 2],
    ]);
  });
});
