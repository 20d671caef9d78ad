// Deliveries that are claimed to be sent.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Operation } from '../delivery/operation.ts';
import type { DueDelivery } from './due.ts';
import type { EncodedImport, EncodedWrite, Write } from './target.ts';

/** Names a delivery and its revision. */
export interface DeliveryName {
  id: number;
  revision: number;
}

/** Deliveries that may be sent as one request. */
export interface ToClaim {
  deliveries: readonly DeliveryName[];
  /**
   * True for a bulk import: as many of the deliveries as fit become one request. False for other writes: each delivery
   * becomes a request. Changed products are always sent in an import.
   */
  asImport: boolean;
}

/** Names one claim of a request. The request keeps its id, bytes and key while the same bytes may be sent again. */
export interface ClaimName {
  request: number;
  /** How many times the request was claimed, including this claim. */
  sends: number;
}

/** A claimed request: its deliveries are `sending`, and its path, bytes and key are stored (I2). */
export interface ClaimedRequest extends ClaimName, EncodedWrite {
  /** The operation of the request; `product.import` also if the members are creates. */
  operation: Operation;
  idempotencyKey: string;
  /**
   * The members in the order of the body. A bulk import has several members with one operation, `product.import` or
   * `product.create`; any other request has one member.
   */
  members: ClaimedDelivery[];
}

/** A claimed request, as the ledger returns it. */
export interface NewClaim extends ClaimedRequest {
  /** The index of the list that the claim has made the request for. */
  list: number;
}

export interface ClaimedDelivery extends DueDelivery {
  /** The natural key that is sent; null if there is none. */
  naturalKey: string | null;
  /** The platform's id of the item; null before there is one. */
  remoteId: JsonValue;
  attempts: number;
  /** The most products that its import may have, after an earlier import was refused as a whole; null for no limit. */
  groupMax: number | null;
  /** True if it is unknown whether an earlier attempt took effect. */
  uncertain: boolean;
  /** Since when the API has answered that it is working on this request; null if its last answer was another one. */
  busySince: number | null;
  /**
   * Since when the API could not accept this delivery; null if its last answer was another one. An answer that asks to
   * wait does not change this time.
   */
  awaySince: number | null;
}

/** Encodes a write for the API. Pure, because the claim calls it inside its transaction. */
export type Encode = (write: Write) => EncodedWrite;

/** Encodes the whole payloads of an import's members, as many of them as fit. Pure. */
export type EncodeImport = (members: readonly JsonObject[]) => EncodedImport;
