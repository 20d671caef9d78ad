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
  delivered: 'The platform has the item as the source has it.',
  superseded: 'A person has ended the last write of the item.',
  due: 'dpp-sync sends the item next.',
  sending: 'The request is in flight.',
  waiting: 'The item waits for another item to which it refers.',
  in_doubt: 'The request was sent, and nothing has confirmed that it arrived.',
  blocked: 'A business rule of the platform refuses the write.',
  rejected: 'The platform does not accept this data.',
  parked: 'The write failed too often. A person has to decide.',
};

/** What each state of a passport means. */
export const PASSPORT_MEANS: Record<PassportState, string> = {
  published: 'Everybody can see the passport.',
  initialized: 'The passport is initialised at the platform, and not published.',
  unpublished: 'The passport was published and is withdrawn.',
  incomplete: 'The product is not complete.',
  blocked: 'The passport needs a person.',
  none: 'There is no passport.',
};

export const isSubjectKind = (text: string): text is SubjectKind => Object.hasOwn(KINDS, text);
