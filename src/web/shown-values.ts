// How pages show counts, times, kinds and states.

import type { SubjectKind } from '../domain/item.ts';
import { counted, formatCount } from '../lib/text/counted.ts';
import { type Html, html } from './html.ts';

export { counted, formatCount };

/** A count as a link to the list of the counted rows. A zero has no link, because the list would be empty. */
export function countLink(count: number, href: string, unit?: string): Html {
  const text = unit === undefined ? formatCount(count) : `${formatCount(count)} ${unit}`;
  return count === 0 ? html`<span class="zero">${text}</span>` : html`<a class="count" href="${href}">${text}</a>`;
}

/**
 * A time. It is written in UTC, and the script of the page writes it in the zone of the browser. The title has the
 * exact time.
 *
 * @param at milliseconds since the epoch; null becomes nothing
 */
export function timeOf(at: number | null): Html | null {
  if (at === null) return null;
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** A length of time in at most two units: `4 s`, `3 min`, `5 h 20 min`, `12 days`. */
export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 72) return `${Math.round(hours / 24)} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

type Tone = 'good' | 'warn' | 'bad' | 'idle';

/** The words that pages use for states, and how serious each state is. The word is always shown with the colour. */
const STATES: Record<string, { name: string; tone: Tone }> = {
  delivered: { name: 'delivered', tone: 'good' },
  due: { name: 'due', tone: 'idle' },
  sending: { name: 'sending', tone: 'idle' },
  waiting: { name: 'waiting', tone: 'idle' },
  superseded: { name: 'superseded', tone: 'idle' },
  in_doubt: { name: 'unconfirmed', tone: 'warn' },
  blocked: { name: 'blocked', tone: 'bad' },
  rejected: { name: 'rejected', tone: 'bad' },
  parked: { name: 'parked', tone: 'bad' },
  quarantine: { name: 'quarantined', tone: 'bad' },
  quarantined: { name: 'quarantined', tone: 'bad' },
  unconfirmed: { name: 'unconfirmed', tone: 'warn' },
  missing: { name: 'missing', tone: 'warn' },
  none: { name: 'none', tone: 'idle' },
  incomplete: { name: 'incomplete', tone: 'warn' },
  initialized: { name: 'initialised', tone: 'idle' },
  published: { name: 'published', tone: 'good' },
  unpublished: { name: 'unpublished', tone: 'idle' },
  complete: { name: 'complete', tone: 'good' },
  failed: { name: 'failed', tone: 'bad' },
  guarded: { name: 'held by the guard', tone: 'warn' },
  api: { name: 'platform', tone: 'bad' },
  interrupted: { name: 'interrupted', tone: 'warn' },
  running: { name: 'running', tone: 'idle' },
};

/** The word for a state on pages. */
export function stateName(state: string): string {
  return STATES[state]?.name ?? state.replaceAll('_', ' ');
}

export function stateBadge(state: string): Html {
  return html`<span class="badge ${STATES[state]?.tone ?? 'idle'}">${stateName(state)}</span>`;
}

// The words for kinds and states on pages.

export const KINDS: Record<SubjectKind, { one: string; many: string }> = {
  product: { one: 'Product', many: 'Products' },
  material: { one: 'Material', many: 'Materials' },
  bom_item: { one: 'BOM item', many: 'BOM items' },
  passport: { one: 'Passport', many: 'Passports' },
};

export const isSubjectKind = (text: string): text is SubjectKind => Object.hasOwn(KINDS, text);
