// Unconfirmed deliveries, which may have arrived, and the manual resolution of deliveries that are stuck.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { SettleState } from '../delivery/manual-resolution.ts';
import type { Reason } from '../delivery/reason.ts';
import type { SubjectKind } from '../item.ts';
import type { NaturalKey } from '../natural-key.ts';
import type { DueDelivery } from './due.ts';
import type { EncodedWrite } from './target.ts';

/** An unconfirmed delivery that may be looked up by now. */
export interface UnconfirmedDelivery extends DueDelivery, EncodedWrite {
  /** The item's current one; for a passport its product's. */
  naturalKey: string | null;
  /** The natural key of the item, as it was sent. */
  sentKey: NaturalKey | null;
  /** For a passport: the remote id of its product. */
  productId: JsonValue;
  reason: Reason;
  /** When the delivery was last sent, or last looked up without a result. */
  since: number;
  /** When it was last claimed to be sent. */
  sentAt: number;
  attempts: number;
  /** The import of changed products that it may have arrived in, where that import is sent again unchanged. */
  importId: number | null;
  /** True for a new product that was sent in an import. */
  isImportedCreate: boolean;
  /** For a `product.import` alone. */
  sent: SentProduct | null;
}

/** What an import has sent for a product, to be compared with what the API shows. */
export interface SentProduct {
  /** The whole payload, null for fields to clear. */
  payload: JsonObject;
  /** The fields that should change; null if it is unknown what the API had before. */
  changed: string[] | null;
  remoteId: JsonValue;
}

/** A delivery that a person may settle. */
export interface NamedDelivery extends DueDelivery {
  state: SettleState;
  /** True while it is unknown whether an attempt took effect. */
  uncertain: boolean;
  /** When the delivery was last sent; null if never. */
  sentAt: number | null;
  /** The natural key that was sent; for a passport that of its product. */
  naturalKey: string | null;
  reason: Reason;
}

/** The deliveries that a person selects. */
export interface NamedSelection {
  state: SettleState;
  kind: SubjectKind | null;
  source: string | null;
}

/** The missing items that a person selects; null does not narrow the selection. */
export interface MissingSelection {
  name: string | null;
  kind: SubjectKind | null;
  source: string | null;
}
