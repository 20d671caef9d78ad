import { z } from 'zod';
import { RESOLUTIONS, type Resolution } from '../../domain/delivery/manual-resolution.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { Fault } from '../../lib/errors.ts';
import type { Handler } from '../handler.ts';
import { membersOf, nothingStuck } from './replay-cause.ts';
import { settle } from './settle.ts';

export interface SettleCauseAsked {
  /** The id of the cause. */
  cause: string;
  resolution: Resolution;
  /** One member of the cause; null for all members. */
  item: { kind: SubjectKind; key: string } | null;
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
  /** Deliveries that became due. */
  released: number;
}

/** At most this many failures are returned with their reasons. */
const FAILURES_KEPT = 50;

/** Settles the stuck items of one cause one after the other, and reports those that cannot be settled in this way. */
export const settleCause: Handler<SettleCauseAsked, CauseSettled> = {
  name: 'settle-cause',
  request: z.strictObject({
    cause: z.string(),
    resolution: z.enum(RESOLUTIONS),
    item: z
      .strictObject({ kind: z.enum(SUBJECT_KINDS), key: z.string() })
      .nullable()
      .default(null),
  }),
  async handle({ cause: id, resolution, item }, context) {
    const cause = await context.runtime.dashboard.cause(id);
    if (cause === null) throw nothingStuck();
    const members: { kind: SubjectKind; key: string }[] = [];
    for await (const member of membersOf(id, context)) if (member.item !== null) members.push(member.item);
    const meant = item === null ? members : members.filter(({ kind, key }) => kind === item.kind && key === item.key);
    if (meant.length === 0) throw nothingStuck();
    const { title } = cause;
    const done: CauseSettled = {
      cause: id,
      title,
      resolution,
      members: meant.length,
      settled: 0,
      failed: [],
      failedCount: 0,
      released: 0,
    };
    for (const { kind, key } of meant) {
      context.abort.throwIfAborted();
      try {
        const result = await settle.handle({ names: [key], resolution, id: null, kind }, context);
        done.settled += 1;
        done.released += 'released' in result ? result.released : 0;
      } catch (error) {
        if (!(error instanceof Fault) || error.code === 'interrupted') throw error;
        done.failedCount += 1;
        if (done.failed.length < FAILURES_KEPT) done.failed.push({ kind, key, message: error.message });
      }
    }
    return done;
  },
};
