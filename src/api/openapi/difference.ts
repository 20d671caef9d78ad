import type { JsonValue } from '../../lib/json.ts';

/** One difference between an OpenAPI document and the profile. Every text is one line, ready to be shown. */
export interface Difference {
  /** The place: an operation such as `POST /api/products/`, or a part of the document such as `components.securitySchemes`. */
  path: string;
  /** The subject in a few words: `path`, `request field`, `id in the answer`. */
  what: string;
  found: string;
  expected: string;
  /**
   * `breaks`: requests will fail with the present settings. `unread`: this part of the document cannot be read, so it was not
   * compared. `note`: worth knowing, and perhaps worth a setting.
   */
  weight: 'breaks' | 'unread' | 'note';
  /** The setting that fixes the difference: a path in the profile such as `wireNames.product.sku`, or `target.baseUrl`. */
  setting?: string;
  /** The value for the setting, if the document shows it. */
  value?: JsonValue;
}

/** Collects the differences that the checks find. */
export type Report = (difference: Difference) => void;

/** Reports that a part of the document cannot be read, and why. */
export function reportUnread(report: Report, { what, why }: { what: string; why: string }): void {
  report({ path: '', what, found: why, expected: 'a readable document in a single file', weight: 'unread' });
}

const NAMES_SHOWN = 12;

/** Names for a message: the first ones, in quotes. */
export function listed(names: Iterable<string>): string {
  const all = [...names].map((name) => `"${name}"`);
  if (all.length === 0) return 'nothing';
  const shown = all.slice(0, NAMES_SHOWN).join(', ');
  return all.length > NAMES_SHOWN ? `${shown} and ${all.length - NAMES_SHOWN} more` : shown;
}
