import { z } from 'zod';
import { RESOLUTIONS, type Resolution } from '../../domain/delivery/manual-resolution.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { Fault } from '../../lib/errors.ts';
import { cameLater } from '../came-later.ts';
import type { Handler } from '../handler.ts';
import { membersOf, nothingStuck } from './replay-cause.ts';
import { settleSeen } from './settle.ts';

export interface SettleCauseAsked {
  /** The id of the cause. */
  cause: string;
  resolution: Resolution;
  /**
   * One member of the cause; null for all members. With a `revision`, the item is settled only if this revision is
   * still the stuck one.
   */
  item: { kind: SubjectKind; key: string; revision?: number | undefined } | null;
  /**
   * Leaves members that came into the cause after this time, such as the `lastSeenAt` of the cause that the person has
   * looked at; null settles all members.
   */
  until: number | null;
}

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
export const settleCause: Handler<SettleCauseAsked, CauseSettled> = {
  name: 'settle-cause',
  request: z.strictObject({
    cause: z.string(),
    resolution: z.enum(RESOLUTIONS),
    item: z
      .strictObject({ kind: z.enum(SUBJECT_KINDS), key: z.string(), revision: z.int().optional() })
      .nullable()
      .default(null),
    until: z.number().nullable().default(null),
  }),
  async handle({ cause: id, resolution, item, until }, context) {
    const cause = await context.runtime.dashboard.cause(id);
    if (cause === null) throw nothingStuck();
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
