import { z } from 'zod';
import type { Runtime } from '../../daemon/runtime.ts';
import { fault } from '../../domain/faults.ts';
import { ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import type { FormReplayOutcome } from '../../domain/ports/replay.ts';
import type { Handler } from '../handler.ts';
import { assertSources } from '../named-sources.ts';
import { findPastedKey } from '../pasted-keys.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface FormReplayAsked {
  /** Source ids; an empty list stands for all. */
  sources: string[];
  /** Item keys or natural keys; an empty list stands for all. */
  keys: string[];
  /** An empty list stands for all. Items of a named kind that the API cannot update are blocked, so that a person can settle them. */
  kinds: ItemKind[];
  /** True to count what would be sent, without sending anything. */
  dryRun: boolean;
  waitMs: number;
}

export interface FormReplayed {
  form: FormReplayOutcome;
  /** Null after a dry run. */
  synced: Synced | null;
}

/**
 * Sends items again that were sent in another form than the profile has now.
 *
 * @throws Fault `config.invalid` if a daemon has refused the present config, `item.unknown`
 */
export const replayInPresentForm: Handler<FormReplayAsked, FormReplayed> = {
  name: 'replay-form',
  request: z.strictObject({
    sources: z.array(z.string()).default([]),
    keys: z.array(z.string()).default([]),
    kinds: z.array(z.enum(ITEM_KINDS)).default([]),
    dryRun: z.boolean().default(false),
    waitMs: WaitMs,
  }),
  async handle({ sources, keys: pasted, kinds, dryRun, waitMs }, context) {
    const { runtime } = context;
    assertSources(runtime.config, sources);
    const keys: string[] = [];
    for (const key of pasted) keys.push(await findPastedKey(key, { views: runtime.views, isQuarantined: isNever }));
    await runtime.lookAtConfig();
    assertUsesConfig(runtime);
    const form = await runtime.replayForm({ sources, keys, kinds, dryRun });
    if (dryRun) return { form, synced: null };
    const of = { sources: selectedSources(context, sources) };
    return { form, synced: await syncIn(context, { sources, waitMs, pull: false }, of) };
  },
};

/** A quarantined row has no item that could be sent. */
const isNever = (): Promise<boolean> => Promise.resolve(false);

/** A daemon keeps the profile with which it was started, so it would send the items in the form that they have. */
function assertUsesConfig({ care }: Pick<Runtime, 'care'>): void {
  const last = care?.lastReload() ?? null;
  if (last === null || last.ok) return;
  throw fault(
    'config.invalid',
    `The daemon does not use the present config, so it knows no form of its profile: ${last.errors.join(' ')}`,
    { path: 'target.profile', suggestion: 'Do what this says, then run the command again. Nothing was sent.' },
  );
}
