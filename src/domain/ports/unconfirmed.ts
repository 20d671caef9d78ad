// Unconfirmed deliveries, which may have arrived, and the manual resolution of deliveries that are stuck.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { SettleState } from '../delivery/manual-resolution.ts';
import type { Reason } from '../delivery/reason.ts';
import type { SubjectKind } from '../item.ts';
import type { NaturalKey } from '../natural-key.ts';
import type { DueDelivery } from './due.ts';

/** An unconfirmed delivery that may be looked up now. */
export interface UnconfirmedDelivery extends DueDelivery {
  /** The item's present natural key; for a passport that of its product. */
  naturalKey: string | null;
  /** The natural key of the item that was sent. */
  sentKey: NaturalKey | null;
  /** For a passport: the remote id of its product. */
  productId: JsonValue;
  reason: Reason;
  /** When the delivery was last sent, or last looked up without a result. */
  since: number;
  /** When it was last claimed to be sent. */
  sentAt: number;
  attempts: number;
  /**
   * The import of changed products in which the delivery may have arrived, if that import is sent again unchanged; null
   * otherwise.
   */
  importId: number | null;
  /** True for a new product that was sent in an import. */
  isImportedCreate: boolean;
  /** Only for a `product.import` and a `material.update`; null for other operations. */
  sent: SentContent | null;
}

/** The content that an import or a change has sent for an item, to be compared with the content at the API. */
export interface SentContent {
  /** The whole payload, null for fields to clear. */
  payload: JsonObject;
  /** The fields that should change; null if it is unknown what the API had before. */
  changed: string[] | null;
  /** The values that the API had before, as far as they are known. */
  former: JsonObject;
  remoteId: JsonValue;
}

/** A delivery that a person may settle. */
export interface NamedDelivery extends DueDelivery {
  state: SettleState;
  /** True while it is unknown whether an attempt took effect. */
  uncertain: boolean;
  /** When the delivery was last sent; null if never. */
  sentAt: number | null;
  /** The natural key that was sent; for a passport the natural key of its product. */
  naturalKey: string | null;
  reason: Reason;
}

/** The deliveries that a person selects. */
export interface NamedSelection {
  state: SettleState;
  kind: SubjectKind | null;
  source: string | null;
}

/** The missing items that a person selects; a value of null does not narrow the selection. */
export interface MissingSelection {
  name: string | null;
  kind: SubjectKind | null;
  source: string | null;
}
