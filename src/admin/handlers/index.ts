import type { Handler } from '../handler.ts';
import { publishPassports } from './publish.ts';
import { publishComplete } from './publish-complete.ts';
import { replayRecords } from './replay.ts';
import { syncSources } from './sync.ts';
import { unpublishPassports } from './unpublish.ts';

/** All that a person can ask of the process that holds the ledger. */
export const handlers: readonly Handler<unknown, unknown>[] = [
  publishComplete,
  publishPassports,
  replayRecords,
  syncSources,
  unpublishPassports,
];
