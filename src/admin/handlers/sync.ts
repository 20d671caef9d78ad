import { z } from 'zod';
import type { Handler } from '../handler.ts';
import { assertSources } from '../named-sources.ts';
import { type Synced, selectedSources, syncIn } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface SyncAsked {
  /** Source ids; an empty list stands for all. */
  sources: string[];
  /** The sources whose guarded exports a person accepts. */
  accept: string[];
  waitMs: number;
}

/** Pulls, maps, delivers and publishes until all automatic work for the sources is done. */
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
