import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';

/** A desire as the ledger keeps it. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** What a step leaves behind at the API, as the ledger keeps it. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}
