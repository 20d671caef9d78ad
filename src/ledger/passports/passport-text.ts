import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';

/** A passport's desire as the ledger stores it. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** A passport's status as the ledger stores it. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}
