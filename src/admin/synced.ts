import { type SyncReport, type SyncRequest, sync } from '../daemon/sync.ts';
import { type Attention, attentionOf } from '../daemon/views/attention.ts';
import type { WorkOf } from '../domain/ports/due.ts';
import { type Failure, failureOf } from './failure.ts';
import type { HandlerContext } from './handler.ts';

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
  const attention = attentionOf(runtime.views, request.sources);
  return { ...report, fault: report.fault === null ? null : failureOf(report.fault), attention };
}

/** The named sources; all sources of the config if none are named. */
export function selectedSources({ runtime }: Pick<HandlerContext, 'runtime'>, named: readonly string[]): string[] {
  return named.length > 0 ? [...named] : runtime.config.sources.map(({ id }) => id);
}
