// Unconfirmed deliveries, which may have arrived, and the manual resolution of deliveries that are stuck.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { SubjectKind } from '../item.ts';
import type { SettleState } from '../manual.ts';
import type { NaturalKey } from '../natural-key.ts';
import type { Reason } from '../reason.ts';
import type { DueDelivery } from './due.ts';
import type { EncodedWrite } from './target.ts';

/** A delivery in doubt whose next look is due. */
export interface UnconfirmedDelivery extends DueDelivery, EncodedWrite {
  /** As the item has it now; of a passport its product's. */
  naturalKey: string | null;
  /** What the API can know the item by, as it was sent. */
  sentKey: NaturalKey | null;
  /** For a passport: the remote id of its product. */
  productId: JsonValue;
  reason: Reason;
  /** When it was last sent or looked at in vain. */
  since: number;
  attempts: number;
  /** The import that it may have arrived in, where that goes out again as it is. */
  importId: number | null;
  /** For a `product.import` alone. */
  sent: SentProduct | null;
}

/** What an import carried of a product, to be compared with what the API shows of it. */
export interface SentProduct {
  /** The whole of it, null for fields to clear. */
  payload: JsonObject;
  /** The fields that were to change; null where it is not known what the API had before. */
  changed: string[] | null;
  remoteId: JsonValue;
}

/** A delivery that a person may settle. */
export interface NamedDelivery extends DueDelivery {
  state: SettleState;
  /** True while it is not known whether an attempt took effect. */
  uncertain: boolean;
  /** When it was last sent; null where it never was. */
  sentAt: number | null;
  /** Of what was sent; of a passport its product's. */
  naturalKey: string | null;
  reason: Reason;
}

/** Which deliveries a person means. */
export interface NamedSelection {
  state: SettleState;
  kind: SubjectKind | null;
  source: string | null;
}

/** Which missing items a person means; null does not narrow the selection. */
export interface MissingSelection {
  name: string | null;
  kind: SubjectKind | null;
  source: string | null;
}
