import { z } from 'zod';
import type { Handler } from '../handler.ts';
import { assertSources } from '../named-sources.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface SyncAsked {
  /** Source ids; empty for all. */
  sources: string[];
  /** Sources of which a person accepts what is held. */
  accept: string[];
  waitMs: number;
}

/** Pulls, maps, pushes and publishes until nothing of the sources goes on by itself. */
export const syncSources: Handler<SyncAsked, Synced> = {
  name: 'sync',
  request: z.strictObject({
    sources: z.array(z.string()).default([]),
    accept: z.array(z.string()).default([]),
    waitMs: WaitMs,
  }),
  async handle(request, context) {
    assertSources(context.runtime.config, [...request.sources, ...request.accept]);
    return syncIn(context, request, { sources: selectedSources(context, request.sources) });
  },
};
