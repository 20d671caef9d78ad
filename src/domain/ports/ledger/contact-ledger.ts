import type { Reason } from '../../delivery/reason.ts';
import type { ItemKind } from '../../item.ts';
import type { Compared, ContactEntry, ContactList, ContactStep, PartsAnswer } from '../first-contact.ts';
import type { ListableKind } from '../target.ts';

/** The ledger's side of first contact. Each method is one whole transaction. */
export interface ContactLedger {
  /** The next step of each kind; empty if no creates are suspended. */
  contactSteps(): Promise<ContactStep[]>;
  /** True if a list was read or found unchanged a short time ago. */
  isFreshlyListed(list: ContactList): Promise<boolean>;
  /** Deletes the stored entries of a list, because its reading begins. */
  beginListing(list: ContactList): Promise<void>;
  /** Stores a page together with the position behind it; null if reading cannot be resumed from there. */
  storeListed(page: { list: ContactList; entries: readonly ContactEntry[]; position: string | null }): Promise<void>;
  /**
   * Call it when the list was read to its end. @param count how many entries the platform counts; null if it does not
   * count
   */
  endListing(end: { list: ContactList; count: number | null }): Promise<void>;
  /** Call it when the list has the expected number of entries: its stored entries then count as read now. */
  confirmListing(kind: ListableKind): Promise<void>;
  /** Call it when the list could not be read or used. With `fromStart` the next reading begins at the first page. */
  failListing(failure: { kind: ListableKind; reason: Reason; fromStart: boolean }): Promise<void>;
  /** Compares some of the staged creates with the stored list. Adopts items that the list shows, and blocks ambiguous ones. */
  compareListed(kind: ListableKind): Promise<Compared>;
  /**
   * Call it when a person accepts the changes of a source's adopted items. The changes that are blocked now become due.
   * Returns the number of these changes by kind.
   */
  acceptAdopted(source: string): Promise<Partial<Record<ItemKind, number>>>;
  /**
   * Stores a person's answer whether the BOM items of adopted products are at the platform. `products` names the
   * products by key or SKU; null stands for all of them.
   */
  answerParts(answer: { products: readonly string[] | null; present: boolean }): Promise<PartsAnswer>;
  /**
   * Binds an ambiguous create to the item of the platform that a person names. Null if no create of this name is
   * blocked as ambiguous.
   */
  adoptAs(choice: { name: string; kind: ListableKind; remoteId: string | number }): Promise<{ key: string } | null>;
}
