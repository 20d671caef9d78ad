import type { JsonValue } from '../../lib/json.ts';

/** One thing in which an OpenAPI document and the profile do not agree. Every text is one line, ready to be shown. */
export interface Difference {
  /** Where: an operation as `POST /api/products/`, or a part of the document as `components.securitySchemes`. */
  path: string;
  /** What is different, in a few words: `path`, `request field`, `id in the answer`. */
  what: string;
  found: string;
  expected: string;
  /**
   * `breaks`: as things are, requests will fail. `unread`: nothing was compared here, since the document cannot be read
   * there. `note`: worth knowing, and perhaps worth setting.
   */
  weight: 'breaks' | 'unread' | 'note';
  /** The setting that makes up for it: a path in the profile, as `wireNames.product.sku`, or `target.baseUrl`. */
  setting?: string;
  /** What to set it to, where the document tells. */
  value?: JsonValue;
}

/** Takes differences as the checks find them. */
export type Report = (difference: Difference) => void;

/** Says that a part of the document cannot be read, and why. */
export function reportUnread(report: Report, { what, why }: { what: string; why: string }): void {
  report({ path: '', what, found: why, expected: 'a document in one file that can be read', weight: 'unread' });
}

const NAMES_SHOWN = 12;

/** Names for a message: the first of them, in quotes. */
export function listed(names: Iterable<string>): string {
  const all = [...names].map((name) => `"${name}"`);
  if (all.length === 0) return 'nothing';
  const shown = all.slice(0, NAMES_SHOWN).join(', ');
  return all.length > NAMES_SHOWN ? `${shown} and ${all.length - NAMES_SHOWN} more` : shown;
}
