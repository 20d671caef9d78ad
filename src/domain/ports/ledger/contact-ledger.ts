import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import type { Reason } from '../../delivery/stored-reason.ts';
import type { ItemKind } from '../../item.ts';
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

// First contact: the items that the platform has before a source creates its first item there. Other systems or
// people may have created these items.

/** A list of the platform that first contact reads. */
export type ContactList = ListableKind | 'publication';

/** The settings of the config for first contact. */
export interface ContactRules {
  /** `assume-empty`: nothing is listed, because the config states that the platform has none of these items. */
  firstContact: 'list' | 'assume-empty';
  /** What to do with the BOM items of a product that was found at the platform. */
  bom: 'ask' | 'create' | 'assume-present';
}

/** A stored entry of a list. */
export interface ContactEntry {
  remoteId: JsonValue;
  /**
   * The entry's fields by canonical name. A publication has `product_id`, `sku` and `is_public`; fields without a value
   * are left out.
   */
  fields: JsonObject;
}

/** A step that has to be done before creates of a kind may be sent. */
export type ContactStep =
  /**
   * The list has to be read. With `expected` it is read only if the platform counts another number of entries. `from` is the
   * position at which reading was interrupted before.
   */
  | {
      kind: ListableKind;
      step: 'read';
      from: { position: string; ids: (string | number)[] } | null;
      expected: number | null;
    }
  /**
   * The list has to be read when the creates that are being sent have ended. Until then nobody knows whether its count
   * includes them, and the count could not spare the next reading.
   */
  | { kind: ListableKind; step: 'wait' }
  /** Staged creates have to be compared with the stored list. */
  | { kind: ListableKind; step: 'compare' };

/** The result of comparing staged creates with the stored list. */
export interface Compared {
  /** How many items were found at the platform, and how many were left to a person. */
  adopted: number;
  ambiguous: number;
  /**
   * `more`: compare the next creates. `released`: creates of the kind may be sent. `publications`: read the
   * publications before a product is adopted. `unusable`, `unclear_publications`: the list does not show which entry is
   * which.
   */
  next: 'more' | 'released' | 'publications' | 'unusable' | 'unclear_publications';
}

/** A kind whose creates are suspended. */
export interface Suspended {
  kind: ListableKind;
  /** How many creates wait for the list. */
  creates: number;
  /** How many entries of the platform's list are stored so far. */
  listed: number;
  /** Why the list could not be read or used the last time; null while it is being read or compared. */
  reason: Reason | null;
}

/** Adopted items whose changes wait for a person. */
export interface AdoptedChanges {
  source: string;
  kind: ItemKind;
  items: number;
  /** For each field, how many of these items would change in it. */
  fields: Record<string, number>;
}

export interface PartsAnswer {
  products: number;
  bomItems: number;
  /** The given names for which no product waits for an answer. */
  unknown: string[];
}
