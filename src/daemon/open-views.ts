import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import { openLedgerViews } from '../ledger/sqlite-ledger.ts';
import type { RuntimeConfig } from './open-source.ts';

/** Opens the ledger of a config for reading, beside whoever writes it. Null where there is none yet. */
export function openViews(config: RuntimeConfig): { views: LedgerViews; close(): void } | null {
  return openLedgerViews({ file: config.ledger, profile: config.profile });
}
