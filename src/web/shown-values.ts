// How pages show counts, times, kinds and states.

import type { SubjectKind } from '../domain/item.ts';
import { stateWord } from '../domain/words/states.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
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

/** A number in a table. A zero is less visible. */
export function figure(count: number): Html {
  return html`<span class="${count === 0 ? 'zero' : ''}">${formatCount(count)}</span>`;
}

type Tone = 'good' | 'warn' | 'bad' | 'idle';

/** How serious each state is. The word is always shown with the colour. */
const TONES: Record<string, Tone> = {
  delivered: 'good',
  due: 'idle',
  sending: 'idle',
  waiting: 'idle',
  superseded: 'idle',
  in_doubt: 'warn',
  blocked: 'bad',
  rejected: 'bad',
  parked: 'bad',
  quarantine: 'bad',
  quarantined: 'bad',
  unconfirmed: 'warn',
  missing: 'warn',
  none: 'idle',
  incomplete: 'warn',
  initialized: 'idle',
  published: 'good',
  unpublished: 'idle',
  complete: 'good',
  failed: 'bad',
  guarded: 'warn',
  held: 'warn',
  api: 'bad',
  interrupted: 'warn',
  running: 'idle',
};

export function stateBadge(state: string): Html {
  return html`<span class="badge ${TONES[state] ?? 'idle'}">${stateWord(state)}</span>`;
}

// The words for kinds and states on pages.

export const KINDS: Record<SubjectKind, { one: string; many: string }> = {
  product: { one: 'Product', many: 'Products' },
  material: { one: 'Material', many: 'Materials' },
  bom_item: { one: 'BOM item', many: 'BOM items' },
  passport: { one: 'Passport', many: 'Passports' },
};
