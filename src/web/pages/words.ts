// The words for kinds and states on pages.

import type { SubjectKind } from '../../domain/item.ts';
import type { ItemState, PassportState } from '../../domain/ports/ledger/ledger-views.ts';

export const KINDS: Record<SubjectKind, { one: string; many: string }> = {
  product: { one: 'Product', many: 'Products' },
  material: { one: 'Material', many: 'Materials' },
  bom_item: { one: 'BOM item', many: 'BOM items' },
  passport: { one: 'Passport', many: 'Passports' },
};

/** What each state of an item means, in the order in which pages show them. */
export const ITEM_STATES: Record<ItemState, string> = {
  delivered: 'The platform has it as the source wants it.',
  superseded: 'A person has ended its last write.',
  due: 'It is sent next.',
  sending: 'Its request is under way.',
  waiting: 'It waits for an item that it refers to.',
  in_doubt: 'The request went out and no answer came back.',
  blocked: 'A business rule of the platform refuses it.',
  rejected: 'The platform does not take this data.',
  parked: 'It was tried too often. A person has to decide.',
};

/** What each state of a passport means. */
export const PASSPORT_MEANS: Record<PassportState, string> = {
  published: 'Everybody can see it.',
  initialized: 'The platform has it, and it is not published.',
  unpublished: 'It was published and is withdrawn.',
  incomplete: 'Its product lacks something.',
  blocked: 'It needs a person.',
  none: 'There is no passport.',
};

export const isItemState = (text: string): text is ItemState => Object.hasOwn(ITEM_STATES, text);
export const isPassportState = (text: string): text is PassportState => Object.hasOwn(PASSPORT_MEANS, text);
export const isSubjectKind = (text: string): text is SubjectKind => Object.hasOwn(KINDS, text);
