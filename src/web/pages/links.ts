// The addresses of the pages, in one place: every figure links to the list behind it.

import type { SubjectKind } from '../../domain/item.ts';
import { type Html, html } from '../html.ts';
import { formatCount } from './figures.ts';

type Filter = Record<string, string | number | null | undefined>;

/** A path with the parts of a filter that are set. */
export function withQuery(path: string, filter: Filter): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

export const itemsPath = (filter: Filter = {}): string => withQuery('/items', filter);
export const runsPath = (filter: Filter = {}): string => withQuery('/runs', filter);
export const passportsPath = (filter: Filter = {}): string => withQuery('/passports', filter);
export const attentionPath = (filter: Filter = {}): string => withQuery('/attention', filter);
export const causePath = (id: string): string => `/attention/${encodeURIComponent(id)}`;
export const runPath = (id: number): string => `/runs/${id}`;

/** A key may have any character; a path would be read anew with a key of dots alone, so these are encoded too. */
export function keySegment(key: string): string {
  const encoded = encodeURIComponent(key);
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded;
}

export const itemPath = (kind: SubjectKind, key: string): string => `/items/${kind}/${keySegment(key)}`;

/** A count as a link to the list behind it; zero is no link. */
export function countLink(count: number, to: string): Html {
  return count === 0 ? html`<span class="zero">0</span>` : html`<a href="${to}">${formatCount(count)}</a>`;
}
