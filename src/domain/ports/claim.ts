// What the ledger hands out to be sent.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { SubjectKind } from '../item.ts';
import type { DueDelivery } from './due.ts';
import type { EncodedImport, EncodedWrite, Write } from './target.ts';

/** A claimed delivery: it is `sending`, and its path, bytes and key are durable (I2). */
export interface ClaimedDelivery extends DueDelivery, EncodedWrite {
  idempotencyKey: string;
  attempts: number;
  /** True when this revision has gone out before. */
  again: boolean;
  /** True when nobody knows whether an earlier attempt took effect. */
  uncertain: boolean;
  /** Since when the API has said that it is at work on this very request; null where that was not its last answer. */
  busySince: number | null;
  /**
   * Since when the API has not been able to take this delivery; null where something else came of it last, but for waits that
   * it asked for.
   */
  awaySince: number | null;
  /** For a `product.import` alone: all that goes out in the same request, itself included. */
  import?: ClaimedImport;
}

/**
 * Deliveries that were claimed together, to go out as one request. Path, bytes and key of the claimed delivery are those of
 * the import; `again` says that this very import has gone out before.
 */
export interface ClaimedImport {
  /** In the order of the body. */
  members: ImportMember[];
  /** How often the import has gone out, this time included. */
  sends: number;
}

export interface ImportMember {
  id: number;
  kind: SubjectKind;
  key: string;
  /** Of what is sent; null where it has none. */
  naturalKey: string | null;
  /** What the ledger knows the product by. */
  remoteId: JsonValue;
  attempts: number;
  /** As of a claimed delivery. */
  awaySince: number | null;
}

/** Why a delivery could not be claimed: it has moved on, or a ref is not there yet. */
export type Claim = { status: 'claimed'; delivery: ClaimedDelivery } | { status: 'gone' } | { status: 'waiting' };

/** What the API is asked to encode at a claim. Pure; called inside the transaction that commits its answer. */
export type Encode = (write: Write) => EncodedWrite;

/** The same for members of an import: their whole payloads, of which as many are taken as fit. */
export type EncodeImport = (members: readonly JsonObject[]) => EncodedImport;
