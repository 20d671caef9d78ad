import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';

/** The stored text of a passport's desire. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** The stored text of a passport's status. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}

/** Parses a stored desire; null if there is none. */
export function desireIn(text: string | null): PassportDesire | null {
  return parseJsonOrNull<PassportDesire>(text);
}

/** The status in a stored baseline: the one that the API has acknowledged. */
export function statusIn(baseline: string | null): PassportStatus | null {
  return baseline === null ? null : (parseJson<{ status?: PassportStatus }>(baseline).status ?? null);
}
