import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import type { CauseMember } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ReplayReport } from '../../pipeline/replay.ts';
import type { Handler, HandlerContext } from '../handler.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface ReplayCauseAsked {
  /** The id of the cause. */
  cause: string;
  /** True to find out which records would pass, without sending anything. */
  dryRun: boolean;
  waitMs: number;
}

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

const PAGE = 500;
/**
 * Maps the stored records of one cause again with the present mapping, and sends the items that pass.
 *
 * @throws Fault `usage` if nothing is stuck for this cause, or if it is about runs
 */
export const replayCause: Handler<ReplayCauseAsked, CauseReplayed> = {
  name: 'replay-cause',
  request: z.strictObject({ cause: z.string(), dryRun: z.boolean().default(false), waitMs: WaitMs }),
  async handle({ cause: id, dryRun, waitMs }, context) {
    const { runtime } = context;
    const cause = await runtime.dashboard.cause(id);
    if (cause === null) throw nothingStuck();
    if (cause.type === 'run') {
      throw fault('usage', 'A failed run has no records to replay.', { suggestion: 'Run the source again.' });
    }
    const selection = { states: [], sources: [], keys: [], deliveryIds: [], cause: id };
    const replayed = await runtime.replay({ selection, force: false, dryRun });
    const usedFormerConfig = runtime.care?.lastReload()?.ok === false;
    const done = { cause: id, title: cause.title, members: cause.count, dryRun, usedFormerConfig, replayed };
    if (dryRun) return { ...done, left: cause.count, synced: null };
    const sources = cause.source === null ? [] : [cause.source];
    const of = { sources: selectedSources(context, sources) };
    const synced = await syncIn(context, { sources, waitMs, pull: false }, of);
    const after = await runtime.dashboard.cause(id);
    return { ...done, left: after?.count ?? 0, synced };
  },
};

export function nothingStuck(): Error {
  return fault('usage', 'Nothing is stuck for this cause any more.', {
    suggestion: 'Look at the list "Needs attention".',
  });
}

/** All members of a cause, page by page. */
export async function* membersOf(
  cause: string,
  { runtime, abort }: Pick<HandlerContext, 'abort'> & { runtime: Pick<HandlerContext['runtime'], 'dashboard'> },
): AsyncGenerator<CauseMember> {
  let after: string | undefined;
  do {
    abort.throwIfAborted();
    const page = await runtime.dashboard.causeMembers(cause, { after, limit: PAGE });
    yield* page.rows;
    after = page.next ?? undefined;
  } while (after !== undefined);
}
