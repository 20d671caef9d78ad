import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import type { CauseMember, CauseType } from '../../domain/ports/dashboard-views.ts';
import type { ReplayState } from '../../domain/ports/replay.ts';
import type { ReplayReport } from '../../pipeline/replay.ts';
import type { Handler, HandlerContext } from '../handler.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface ReplayCauseAsked {
  /** The id of the cause. */
  cause: string;
  /** Only finds out what would pass. */
  dryRun: boolean;
  waitMs: number;
}

export interface CauseReplayed {
  cause: string;
  title: string;
  /** How many rows or items the cause had when the replay began. */
  members: number;
  dryRun: boolean;
  replayed: ReplayReport;
  /** How many it has now; as many as before after a dry run. */
  left: number;
  /** Null after a dry run. */
  synced: Synced | null;
}

const PAGE = 500;
const STATES: Record<CauseType, ReplayState | null> = {
  quarantine: 'quarantined',
  blocked: 'blocked',
  rejected: 'rejected',
  parked: 'parked',
  unconfirmed: 'in_doubt',
  run: null,
};

/**
 * Maps the stored records behind one cause again with the present mapping, and sends what passes.
 *
 * @throws Fault `usage` where nothing is stuck for this cause, or where it is about runs
 */
export const replayCause: Handler<ReplayCauseAsked, CauseReplayed> = {
  name: 'replay-cause',
  request: z.strictObject({ cause: z.string(), dryRun: z.boolean().default(false), waitMs: WaitMs }),
  async handle({ cause: id, dryRun, waitMs }, context) {
    const { runtime } = context;
    const cause = await runtime.dashboard.cause(id);
    if (cause === null) throw nothingStuck();
    const state = STATES[cause.type];
    if (state === null) {
      throw fault('usage', 'A failed run has no records to replay.', { suggestion: 'Run the source again.' });
    }
    // All names are gathered first, because a replay changes which members the cause has.
    const names = await namesOf(id, context);
    const replayed = nothingReplayed();
    for (const [source, keys] of names) {
      for (let at = 0; at < keys.length; at += PAGE) {
        context.abort.throwIfAborted();
        const sources = source === '' ? [] : [source];
        const selection = { states: [state], sources, keys: keys.slice(at, at + PAGE), deliveryIds: [] };
        add(replayed, await runtime.replay({ selection, force: false, dryRun }));
      }
    }
    const done = { cause: id, title: cause.title, members: cause.count, dryRun, replayed };
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
    suggestion: 'Look at the list of what needs attention.',
  });
}

/** The keys of the members, by source. */
async function namesOf(cause: string, { runtime, abort }: HandlerContext): Promise<Map<string, string[]>> {
  const names = new Map<string, string[]>();
  for await (const { record, item } of membersOf(cause, { runtime, abort })) {
    const source = record?.source ?? '';
    const key = record?.key ?? item?.key;
    if (key === undefined) continue;
    const keys = names.get(source) ?? [];
    keys.push(key);
    names.set(source, keys);
  }
  return names;
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

function nothingReplayed(): ReplayReport {
  const passports = { asked: 0, incomplete: 0 };
  return { records: 0, passing: 0, staged: 0, quarantined: 0, leftUnconfirmed: 0, passports };
}

function add(sum: ReplayReport, { passports, ...counts }: ReplayReport): void {
  sum.records += counts.records;
  sum.passing += counts.passing;
  sum.staged += counts.staged;
  sum.quarantined += counts.quarantined;
  sum.leftUnconfirmed += counts.leftUnconfirmed;
  sum.passports = {
    asked: sum.passports.asked + passports.asked,
    incomplete: sum.passports.incomplete + passports.incomplete,
  };
}
