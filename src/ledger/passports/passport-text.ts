import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';

/** A passport's desire as the ledger stores it. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** A passport's status as the ledger stores it. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}

/** The desire that is stored; null where none is. */
export function desireIn(text: string | null): PassportDesire | null {
  return parseJsonOrNull<PassportDesire>(text);
}

/** The status in a stored baseline: the one that the API has acknowledged. */
export function statusIn(baseline: string | null): PassportStatus | null {
  return baseline === null ? null : (parseJson<{ status?: PassportStatus }>(baseline).status ?? null);
}
