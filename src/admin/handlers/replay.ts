import { z } from 'zod';
import type { Runtime } from '../../daemon/runtime.ts';
import { fault } from '../../domain/faults.ts';
import type { ReplayLedger } from '../../domain/ports/ledger/replay-ledger.ts';
import { REPLAY_STATES, type ReplayState } from '../../domain/ports/replay.ts';
import type { ReplayReport } from '../../pipeline/replay.ts';
import type { Handler } from '../handler.ts';
import { assertSources } from '../named-sources.ts';
import { findPastedKey } from '../pasted-keys.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface ReplayAsked {
  /** An empty list stands for the states of `statesToReplay`. */
  states: ReplayState[];
  /** Source ids; an empty list stands for all. */
  sources: string[];
  /** Item keys, natural keys or record keys; an empty list stands for all. */
  keys: string[];
  /** The id of a cause, which the dashboard shows. Only its members are replayed. */
  cause?: string | undefined;
  /** True to find out which records would pass, without sending anything. */
  dryRun: boolean;
  /** True to send unconfirmed deliveries again too; only with named keys. */
  force: boolean;
  waitMs: number;
}

export interface Replayed {
  replayed: ReplayReport;
  /** Null after a dry run. */
  synced: Synced | null;
}

/**
 * The states that are replayed if none is named. A delivery that a person has ended is sent again only if a person
 * names it.
 */
export function statesToReplay(keys: readonly string[]): readonly ReplayState[] {
  return keys.length > 0 ? REPLAY_STATES : REPLAY_STATES.filter((state) => state !== 'superseded');
}

/**
 * Maps stored records again with the present mapping, and sends the items that have changed or need another try.
 *
 * @throws Fault `usage` for `force` without keys, or for a whole cause
 */
export const replayRecords: Handler<ReplayAsked, Replayed> = {
  name: 'replay',
  request: z.strictObject({
    states: z.array(z.enum(REPLAY_STATES)).default([]),
    sources: z.array(z.string()).default([]),
    keys: z.array(z.string()).default([]),
    cause: z.string().optional(),
    dryRun: z.boolean().default(false),
    force: z.boolean().default(false),
    waitMs: WaitMs,
  }),
  async handle({ states, sources, keys: pasted, cause, dryRun, force, waitMs }, context) {
    const { runtime } = context;
    // With a cause, all its members are selected, even if keys are named.
    if (force && (pasted.length === 0 || cause !== undefined)) {
      throw fault(
        'usage',
        '`force` sends writes again that may have arrived, so it needs `keys` and cannot be used with `cause`.',
        {
          suggestion: 'Look for the item at the platform. If the item is not there, name its key.',
        },
      );
    }
    assertSources(runtime.config, sources);
    const keys = await knownKeys(runtime, pasted);
    const selection = {
      states: states.length > 0 ? states : statesToReplay(keys),
      sources,
      keys,
      deliveryIds: [],
      cause,
    };
    const replayed = await runtime.replay({ selection, force, dryRun });
    if (dryRun) return { replayed, synced: null };
    const of = { sources: selectedSources(context, sources) };
    return { replayed, synced: await syncIn(context, { sources, waitMs, pull: false }, of) };
  },
};

/**
 * The keys in the form of the ledger. Throws for a mistyped key, which must not look like a key that needs no replay.
 *
 * @throws Fault `item.unknown`
 */
async function knownKeys(
  { views, ledger }: Pick<Runtime, 'views'> & { ledger: Pick<ReplayLedger, 'replayCandidates'> },
  pasted: readonly string[],
): Promise<string[]> {
  async function isQuarantined(key: string): Promise<boolean> {
    const selection = { states: ['quarantined'] as const, sources: [], keys: [key], deliveryIds: [] };
    return (await ledger.replayCandidates({ selection, afterId: 0, limit: 1 })).length > 0;
  }
  const keys: string[] = [];
  for (const key of pasted) keys.push(await findPastedKey(key, { views, isQuarantined }));
  return keys;
}
