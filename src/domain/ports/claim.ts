// What the ledger hands out to be sent.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Operation } from '../delivery.ts';
import type { DueDelivery } from './due.ts';
import type { EncodedImport, EncodedWrite, Write } from './target.ts';

/** Names one intended write: the delivery and the revision that it stands for. */
export interface DeliveryName {
  id: number;
  revision: number;
}

/** Names one claim of a request. The request keeps its id, bytes and key for as long as these may be sent again. */
export interface ClaimName {
  request: number;
  /** How often the request was claimed, this time included. */
  sends: number;
}

/** Deliveries that were claimed to be sent as one request: they are `sending`, and path, bytes and key are durable (I2). */
export interface ClaimedRequest extends ClaimName, EncodedWrite {
  operation: Operation;
  idempotencyKey: string;
  /** In the order of the body: several for a bulk import, one for any other write. */
  members: ClaimedDelivery[];
}

export interface ClaimedDelivery extends DueDelivery {
  /** Of what is sent; null where it has none. */
  naturalKey: string | null;
  /** What the ledger knows the item by at the platform. */
  remoteId: JsonValue;
  attempts: number;
  /** True when nobody knows whether an earlier attempt took effect. */
  uncertain: boolean;
  /** Since when the API has said that it is at work on this very request; null where that was not its last answer. */
  busySince: number | null;
  /**
   * Since when the API has not been able to take this delivery; null where something else came of it last, but for waits that
   * it asked for.
   */
  awaySince: number | null;
}

/** What the API is asked to encode at a claim. Pure; called inside the transaction that commits its answer. */
export type Encode = (write: Write) => EncodedWrite;

/** The same for members of an import: their whole payloads, of which as many are taken as fit. */
export type EncodeImport = (members: readonly JsonObject[]) => EncodedImport;
