// The states and kinds as people read them, each with the tone in which a page shows it.

import type { SubjectKind } from '../../domain/item.ts';
import type { ItemState, PassportState } from '../../domain/ports/ledger-views.ts';
import { type Html, html } from '../html.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'busy';

export const KINDS: Record<SubjectKind, { one: string; many: string }> = {
  product: { one: 'Product', many: 'Products' },
  material: { one: 'Material', many: 'Materials' },
  bom_item: { one: 'BOM item', many: 'BOM items' },
  passport: { one: 'Passport', many: 'Passports' },
};

/** In the order in which people read them. */
export const ITEM_STATES: Record<ItemState, { name: string; tone: Tone; means: string }> = {
  delivered: { name: 'delivered', tone: 'good', means: 'The platform has it as the source wants it.' },
  superseded: { name: 'superseded', tone: 'quiet', means: 'A person has ended its last write.' },
  due: { name: 'due', tone: 'busy', means: 'It is sent next.' },
  sending: { name: 'sending', tone: 'busy', means: 'Its request is under way.' },
  waiting: { name: 'waiting', tone: 'warn', means: 'It waits for an item that it refers to.' },
  in_doubt: { name: 'unconfirmed', tone: 'warn', means: 'The request went out and no answer came back.' },
  blocked: { name: 'blocked', tone: 'bad', means: 'A business rule of the platform refuses it.' },
  rejected: { name: 'rejected', tone: 'bad', means: 'The platform does not take this data.' },
  parked: { name: 'parked', tone: 'bad', means: 'It was tried too often. A person has to decide.' },
};

export const PASSPORT_STATES: Record<PassportState, { name: string; tone: Tone; means: string }> = {
  published: { name: 'published', tone: 'good', means: 'Everybody can see it.' },
  initialized: { name: 'ready', tone: 'busy', means: 'The platform has it, and it is not published.' },
  unpublished: { name: 'withdrawn', tone: 'quiet', means: 'It was published, and was withdrawn.' },
  incomplete: { name: 'incomplete', tone: 'warn', means: 'Its product lacks something.' },
  blocked: { name: 'blocked', tone: 'bad', means: 'It needs a person.' },
  none: { name: 'none', tone: 'quiet', means: 'There is no passport.' },
};

/** A state as a mark with its word: never by colour alone. */
export function badge(name: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${name}</span>`;
}

export const itemBadge = (state: ItemState): Html => badge(ITEM_STATES[state].name, ITEM_STATES[state].tone);
export const passportBadge = (state: PassportState): Html =>
  badge(PASSPORT_STATES[state].name, PASSPORT_STATES[state].tone);

const TIMELINE: Record<string, string> = { in_doubt: 'unconfirmed' };

/** What happened, as the timeline names it. */
export function eventWord(what: string): string {
  return TIMELINE[what] ?? what.replaceAll('_', ' ');
}
