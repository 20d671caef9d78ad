// The addresses of the pages, in one file. Every figure links to the list that it counts.

import type { SubjectKind } from '../../domain/item.ts';
import { type Html, html } from '../html.ts';

type Filter = Record<string, string | number | null | undefined>;

/** A path with the parts of a filter that are set. */
function withQuery(path: string, filter: Filter): string {
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
export const historyPath = '/history';
export const causePath = (id: string): string => `/attention/${encodeURIComponent(id)}`;
export const acceptPath = (source: string): string => withQuery('/runs/accept', { source });
/** The file with what is gone in a held read of a stream. */
export const goneFilePath = (format: 'csv' | 'xlsx', read: { source: string; stream: string; of: string }): string =>
  withQuery(`/runs/gone.${format}`, read);
/** The file with all that a held run would do. */
export const heldPlanPath = (source: string): string => withQuery('/runs/held.jsonl', { source });
export const runPath = (id: number): string => `/runs/${id}`;

/** The longest key in a path. A longer key is put into the query, because the server limits the parts of a path. */
const SEGMENT_MAX = 1000;

/**
 * A key may have any character. A browser changes a path with a segment of dots, so such a key is put into the query
 * too.
 */
export function itemPath(kind: SubjectKind, key: string): string {
  const segment = encodeURIComponent(key);
  return key === '' || segment.length > SEGMENT_MAX || /^\.+$/.test(key)
    ? withQuery(`/items/${kind}`, { key })
    : `/items/${kind}/${segment}`;
}

const LOOK = { export: 'Look at what is gone, and decide…', run: 'Look at what it would do, and decide…' } as const;

/** The link to the page on which a person decides about an export or a run that is held. A viewer has no such page. */
export function decideAbout(source: string, what: keyof typeof LOOK, mayDecide: boolean): Html {
  return mayDecide
    ? html`<a class="button" href="${acceptPath(source)}">${LOOK[what]}</a>`
    : html`<span class="quiet">An operator decides about it.</span>`;
}
