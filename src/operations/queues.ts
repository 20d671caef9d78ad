import { z } from 'zod';
import type { Operation as Write } from '../domain/delivery/operation.ts';
import type { SubjectKind } from '../domain/item.ts';
import type { ItemState, StuckDelivery } from '../domain/ports/ledger/ledger-standing.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import type { ReplayReport } from '../pipeline/replay.ts';
import { worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import { selectedSources, syncIn, WaitMs } from './runs.ts';
import type { Synced } from './runtime.ts';

export interface RetryAsked {
  /** Ids of deliveries. */
  deliveries: number[];
  waitMs: number;
}

/** The result of a retry for one delivery. */
export interface RetriedDelivery {
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  operation: Write;
  /** The state of the item afterwards; null if it is gone. */
  state: ItemState | null;
  /** Why the item is in this state; null for a state that needs no explanation. */
  reason: string | null;
}

export interface Retried {
  /** Deliveries that no longer needed a person when the retry began. */
  needless: number;
  replayed: ReplayReport;
  /** The first of the retried deliveries. Deliveries that still fail come first. */
  outcomes: RetriedDelivery[];
  delivered: number;
  stillStuck: number;
  synced: Synced;
}

const DELIVERIES_MAX = 1_000;
const OUTCOMES_KEPT = 200;
const STATES = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
const STUCK: ReadonlySet<string> = new Set(STATES);

/**
 * Maps the stored records of deliveries that need a person again, sends the items that pass, and reports the result of
 * each delivery.
 */
export const retryDeliveries: Operation<RetryAsked, Retried> = {
  name: 'retry-deliveries',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary:
    'Maps the records of stuck deliveries again, sends the items that pass, and reports the result of each delivery.',
  request: z.strictObject({ deliveries: z.array(z.int()).min(1).max(DELIVERIES_MAX), waitMs: WaitMs }),
  result: worked(),
  async run({ deliveries, waitMs }, context) {
    const { runtime } = context;
    const known = await Promise.all(deliveries.map((id) => runtime.reads.delivery(id)));
    const stuck = known.flatMap((delivery) => (delivery?.needsPerson === true ? [delivery] : []));
    const selection = { states: STATES, sources: [], keys: [], deliveryIds: stuck.map(({ id }) => id) };
    const replayed = stuck.length === 0 ? NOTHING : await runtime.replay({ selection, force: false, dryRun: false });
    const named = [...new Set(stuck.flatMap(({ source }) => source ?? []))];
    const sources = stuck.some(({ source }) => source === null) ? [] : named;
    const of = { sources: selectedSources(context, sources) };
    const synced = await syncIn(context, { sources, waitMs, pull: false }, of);
    const outcomes = await Promise.all(stuck.map((delivery) => outcomeOf(delivery, runtime.reads)));
    outcomes.sort((a, b) => Number(isStuck(b)) - Number(isStuck(a)));
    return {
      needless: deliveries.length - stuck.length,
      replayed,
      outcomes: outcomes.slice(0, OUTCOMES_KEPT),
      delivered: outcomes.filter(({ state }) => state === 'delivered').length,
      stillStuck: outcomes.filter(isStuck).length,
      synced,
    };
  },
};

const NOTHING: ReplayReport = {
  records: 0,
  passing: 0,
  unmapped: 0,
  staged: 0,
  quarantined: 0,
  leftUnconfirmed: 0,
  passports: { asked: 0, incomplete: 0 },
};

function isStuck({ state }: RetriedDelivery): boolean {
  return state !== null && STUCK.has(state);
}

async function outcomeOf({ kind, key, naturalKey, operation }: StuckDelivery, reads: Reads): Promise<RetriedDelivery> {
  const item = await reads.item(kind, key);
  const quarantined = item?.record?.quarantined?.map(({ message }) => message).join(' ') ?? null;
  const reason = [item?.reason?.message ?? null, quarantined === null ? null : `Its row has an error: ${quarantined}`];
  return {
    kind,
    key,
    naturalKey,
    operation,
    state: item?.state ?? null,
    reason: reason.filter((text) => text !== null).join(' ') || null,
  };
}

/** Pauses or resumes a queue. A paused queue keeps its jobs. */
function pauseOperation(does: 'pause' | 'resume', summary: string) {
  const paused = does === 'pause';
  return defineOperation({
    name: `${does}-queue`,
    kind: 'act',
    tag: 'daemon',
    role: 'operator',
    summary,
    at: `POST /queues/:queue/${does}`,
    action: `queue.${does}`,
    request: z.strictObject({ queue: z.enum(QUEUE_NAMES) }),
    result: z.strictObject({ paused: z.boolean() }),
    async run({ queue }, { runtime }) {
      await runtime.queues.setPaused(queue, paused);
      runtime.engine.wake();
      return { paused };
    },
  });
}

export const pauseQueue = pauseOperation('pause', 'Pauses a queue. Its jobs wait until it is resumed.');
export const resumeQueue = pauseOperation('resume', 'Resumes a queue.');
