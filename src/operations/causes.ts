// What is stuck, grouped by cause, and what a person can do about a whole cause.

import { z } from 'zod';
import { CAUSE_TYPES, type CauseType, fittingFor } from '../domain/advice.ts';
import { RESOLUTIONS, type Resolution } from '../domain/delivery/delivery.ts';
import { fault } from '../domain/faults.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import type { CauseMember } from '../domain/ports/ledger/dashboard-views.ts';
import { Fault } from '../lib/errors.ts';
import type { ReplayReport } from '../pipeline/replay.ts';
import { Cause, CauseMember as CauseMemberDocument, listOf, page, Source, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import { selectedSources, syncIn, WaitMs } from './runs.ts';
import type { LookContext, OperationContext, Synced } from './runtime.ts';
import { settleSeen } from './settle.ts';

const ReplayCauseAsked = z.strictObject({
  /** The id of the cause. */
  cause: z.string(),
  /** True to find out which records would pass, without sending anything. */
  dryRun: z.boolean().default(false),
  waitMs: WaitMs,
});
export type ReplayCauseAsked = z.infer<typeof ReplayCauseAsked>;

export interface CauseReplayed {
  cause: string;
  title: string;
  /** How many rows or items the cause had when the replay began. */
  members: number;
  dryRun: boolean;
  /** True if the daemon has refused the present config, so that the mapping before it was used. */
  usedFormerConfig: boolean;
  replayed: ReplayReport;
  /** How many members the cause has now. After a dry run, the number before it. */
  left: number;
  /** Null after a dry run. */
  synced: Synced | null;
}

/**
 * Maps the stored records of one cause again with the present mapping, and sends the items that pass.
 *
 * @throws Fault `usage` if nothing is stuck for this cause, or if its members cannot be mapped again
 */
export const replayCause: Operation<ReplayCauseAsked, CauseReplayed> = {
  name: 'replay-cause',
  kind: 'work',
  tag: 'attention',
  role: 'editor',
  summary: 'Maps all records of a cause again and sends the items that result.',
  request: ReplayCauseAsked,
  result: worked(),
  async run({ cause: id, dryRun, waitMs }, context) {
    const { runtime } = context;
    const cause = await runtime.reads.cause(id);
    if (cause === null) throw nothingStuck();
    if (!isReplayed(cause.type)) {
      throw fault('usage', 'This cause has no records that can be mapped again.', { suggestion: cause.cure });
    }
    const selection = { states: [], sources: [], keys: [], deliveryIds: [], cause: id };
    const replayed = await runtime.replay({ selection, force: false, dryRun });
    const usedFormerConfig = runtime.care?.lastReload()?.ok === false;
    const done = { cause: id, title: cause.title, members: cause.count, dryRun, usedFormerConfig, replayed };
    if (dryRun) return { ...done, left: cause.count, synced: null };
    const sources = cause.source === null ? [] : [cause.source];
    const of = { sources: selectedSources(context, sources) };
    const synced = await syncIn(context, { sources, waitMs, pull: false }, of);
    const after = await runtime.reads.cause(id);
    return { ...done, left: after?.count ?? 0, synced };
  },
};

/** The causes whose members can be mapped again. The others end with what their cure says. */
const REPLAYED: readonly CauseType[] = ['quarantine', 'blocked', 'rejected', 'parked', 'unconfirmed'];

export function isReplayed(type: CauseType): boolean {
  return REPLAYED.includes(type);
}

const SettleCauseAsked = z.strictObject({
  /** The id of the cause. */
  cause: z.string(),
  resolution: z.enum(RESOLUTIONS),
  /**
   * One member of the cause; null for all members. With a `revision`, the item is settled only if this revision is
   * still the stuck one.
   */
  item: z
    .strictObject({ kind: z.enum(SUBJECT_KINDS), key: z.string(), revision: z.int().optional() })
    .nullable()
    .default(null),
  /**
   * Leaves members that came into the cause after this time, such as the `lastSeenAt` of the cause that the person has
   * looked at; null settles all members.
   */
  until: z.number().nullable().default(null),
});
export type SettleCauseAsked = z.infer<typeof SettleCauseAsked>;

export interface CauseSettled {
  cause: string;
  title: string;
  resolution: Resolution;
  members: number;
  settled: number;
  /** The first items that could not be settled in this way, each with the reason. */
  failed: { kind: SubjectKind; key: string; message: string }[];
  failedCount: number;
  /** Members that came into the cause after `until`, and were left as they are. */
  later: number;
  /** Deliveries that became due. */
  released: number;
}

type Member = { kind: SubjectKind; key: string; revision: number };

/** At most this many failures are returned with their reasons. */
const FAILURES_KEPT = 50;

/** Settles the stuck items of one cause one after the other, and reports those that cannot be settled in this way. */
export const settleCause: Operation<SettleCauseAsked, CauseSettled> = {
  name: 'settle-cause',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Settles the items of a cause by hand.',
  request: SettleCauseAsked,
  result: worked(),
  async run({ cause: id, resolution, item, until }, context) {
    const cause = await context.runtime.reads.cause(id);
    if (cause === null) throw nothingStuck();
    if (fittingFor(cause).settling === 'never') {
      throw fault('usage', `A person cannot settle this cause by hand: ${cause.title}`, { suggestion: cause.cure });
    }
    const meant: Member[] = [];
    let later = 0;
    for await (const { item: member } of membersOf(id, context)) {
      if (member === null || (item !== null && (member.kind !== item.kind || member.key !== item.key))) continue;
      if (cameLater(member.since, { until, now: context.clock.now() })) later += 1;
      else meant.push({ kind: member.kind, key: member.key, revision: item?.revision ?? member.revision });
    }
    if (meant.length + later === 0) throw nothingStuck();
    const { title } = cause;
    const done: CauseSettled = {
      cause: id,
      title,
      resolution,
      members: meant.length,
      settled: 0,
      failed: [],
      failedCount: 0,
      later,
      released: 0,
    };
    for (const one of meant) {
      context.abort.throwIfAborted();
      try {
        const { released } = await settleSeen(one, resolution, context);
        done.settled += 1;
        done.released += released;
      } catch (error) {
        if (!(error instanceof Fault) || error.code === 'interrupted') throw error;
        done.failedCount += 1;
        if (done.failed.length < FAILURES_KEPT)
          done.failed.push({ kind: one.kind, key: one.key, message: error.message });
      }
    }
    return done;
  },
};

/**
 * True if something came into its state after a person has looked at it. A time after `now` is from before the clock was
 * set back, so it does not count as later.
 *
 * @param since when it came into its state; null if that was not stored
 * @param until when the person has looked; null if that does not matter
 */
export function cameLater(since: number | null, { until, now }: { until: number | null; now: number }): boolean {
  return until !== null && since !== null && since > until && since <= now;
}

function nothingStuck(): Error {
  return fault('usage', 'Nothing is stuck for this cause any more.', {
    suggestion: 'Look at the list "Needs attention".',
  });
}

const PAGE = 500;

/** All members of a cause, page by page. */
export async function* membersOf(
  cause: string,
  { runtime, abort }: { runtime: OperationContext['runtime']; abort: AbortSignal },
): AsyncGenerator<CauseMember> {
  let after: string | undefined;
  do {
    abort.throwIfAborted();
    const page = await runtime.reads.causeMembers(cause, { after, limit: PAGE });
    yield* page.rows;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

export const listCauses = defineOperation({
  name: 'list-causes',
  kind: 'look',
  tag: 'attention',
  role: 'viewer',
  summary: 'Lists what needs a person, grouped by cause, those that hold the most passports first.',
  at: 'GET /causes',
  request: z.strictObject({ source: Source, type: z.enum(CAUSE_TYPES).optional() }),
  result: z.array(Cause),
  run: (filter, { runtime: { reads } }: LookContext) => reads.causes(filter),
});

const Id = z.strictObject({ id: z.string() });

export const showCause = defineOperation({
  name: 'show-cause',
  kind: 'look',
  tag: 'attention',
  role: 'viewer',
  summary: 'Shows one cause.',
  at: 'GET /causes/:id',
  request: Id,
  result: Cause,
  absent: ({ id }) => `Nothing is stuck for the cause ${id}.`,
  run: ({ id }, { runtime: { reads } }: LookContext) => reads.cause(id),
});

export const listCauseMembers = defineOperation({
  name: 'list-cause-members',
  kind: 'look',
  tag: 'attention',
  role: 'viewer',
  summary:
    'Lists the quarantined rows, items or failed runs of a cause. An export that the guard holds, and a trouble with the API, have none.',
  at: 'GET /causes/:id/members',
  request: Id.extend({
    ...page,
    value: z.string().optional().describe('One of the `values` of the cause, to list only its members.'),
  }),
  result: listOf(CauseMemberDocument),
  run: ({ id, ...paged }, { runtime: { reads } }: LookContext) => reads.causeMembers(id, paged),
});

export const noteCause = defineOperation({
  name: 'note-cause',
  kind: 'act',
  tag: 'attention',
  role: 'editor',
  summary: 'Replaces the note and the owner of a cause. Empty texts remove them.',
  at: 'PUT /causes/:id/note',
  action: 'cause.note',
  request: Id.extend({ text: z.string().max(2000), owner: z.string().max(100) }),
  result: z.strictObject({ done: z.boolean() }),
  async run({ id, ...note }, { runtime, who }) {
    await runtime.ledger.noteCause(id, { ...note, by: who });
    return { done: true };
  },
});
