import { z } from 'zod';
import type { Runtime } from '../../daemon/runtime.ts';
import { type SyncReport, type SyncRequest, sync } from '../../daemon/sync.ts';
import type { WorkOf } from '../../domain/ports/due.ts';
import type { Attention } from '../../domain/ports/ledger/ledger-views.ts';
import { type Failure, failureOf } from '../failure.ts';
import type { Handler, HandlerContext } from '../handler.ts';
import { assertSources } from '../named.ts';

/**
 * How long the API or the queue may be out of reach before a handler ends, in milliseconds. The default is a minute.
 */
export const WaitMs = z
  .number()
  .nonnegative()
  .default(60_000)
  .describe('How long the API or the queue may be out of reach, in milliseconds.');

const SyncAsked = z.strictObject({
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
  /** The sources whose guarded exports a person accepts. */
  accept: z.array(z.string()).default([]),
  waitMs: WaitMs,
});
export type SyncAsked = z.infer<typeof SyncAsked>;

/** Pulls, maps, delivers and publishes until all automatic work for the sources is done. */
export const syncSources: Handler<SyncAsked, Synced> = {
  name: 'sync',
  request: SyncAsked,
  async handle(request, context) {
    assertSources(context.runtime.config, [...request.sources, ...request.accept]);
    return syncIn(context, request, { sources: selectedSources(context, request.sources) });
  },
};

/** The report of a sync, as plain JSON. */
export interface Synced extends Omit<SyncReport, 'fault'> {
  fault: Failure | null;
  attention: Attention;
}

/**
 * Syncs within a handler.
 *
 * @param the work for which the sync waits, in a process that also does other work
 */
export async function syncIn(
  { runtime, clock, abort, who, goesOn }: HandlerContext,
  request: Omit<SyncRequest, 'abort' | 'of' | 'askedBy'>,
  of: WorkOf,
): Promise<Synced> {
  const report = await sync(runtime, { ...request, abort, askedBy: who, of: goesOn ? of : undefined }, clock);
  const attention = await runtime.reads.attention(request.sources);
  return { ...report, fault: report.fault === null ? null : failureOf(report.fault), attention };
}

/** The named sources; all sources of the config if none are named. */
export function selectedSources({ runtime }: HandlerContext, named: readonly string[]): string[] {
  return named.length > 0 ? [...named] : runtime.config.sources.map(({ id }) => id);
}

/**
 * Call it after a manual resolution. Running workers then send the deliveries that became due, including those of
 * passports.
 */
export function goOn({ passports, engine }: Runtime): void {
  passports.markDirty();
  engine.wake();
}
