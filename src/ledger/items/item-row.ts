import { type DeliveryState, IN_FLIGHT_STATES } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { statusAfter } from '../../domain/passport.ts';
import { sha256Url } from '../../lib/hash.ts';
import { statusText } from '../passports/passport-items.ts';
import type { FormId } from './wire-forms.ts';

/** An item with the delivery of its present revision, as a statement over `ITEM_COLUMNS` reads it. */
export interface ItemRow {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  recordId: number | null;
  source: string;
  missingSince: number | null;
  desired: string;
  desiredHash: string;
  /**
   * What the API has acknowledged: 0 for nothing, 1 for the desired payload, 2 for the payload in `baseline`. See
   * `acknowledgedContent`.
   */
  acknowledged: 0 | 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
  remoteId: string | null;
  revision: number;
  /** Null before the first revision, like `operation` and `stagedAt`. */
  state: DeliveryState | null;
  operation: Operation | null;
  /** The payload of the open revision, if it differs from the desired one. See `revisionContent`. */
  sent: string | null;
  sentHash: string | null;
  requestId: number | null;
  /** The place in the body of its import; null if the delivery is in no import. */
  requestPlace: number | null;
  groupMax: number | null;
  attempts: number;
  uncertain: 0 | 1;
  reason: string | null;
  stagedAt: number | null;
  sentAt: number | null;
  settledAt: number | null;
  /** The hash of a write that a person has ended although the platform does not have it; null for all other items. */
  ignoredHash: string | null;
  /**
   * 1 for an item that was at the platform before and differs from the desired payload, until a person accepts the
   * change.
   */
  adopted: 0 | 1;
  /** The form in which the API has acknowledged the item, and the form of the bytes that were claimed last. */
  form: FormId;
  sentForm: FormId;
}

const COLUMN_NAMES: Record<keyof ItemRow, string> = {
  id: 'id',
  kind: 'kind',
  key: 'key',
  naturalKey: 'natural_key',
  recordId: 'record_id',
  source: 'source',
  missingSince: 'missing_since',
  desired: 'desired',
  desiredHash: 'desired_hash',
  acknowledged: 'acknowledged',
  baseline: 'baseline',
  baselineHash: 'baseline_hash',
  remoteId: 'remote_id',
  revision: 'revision',
  state: 'state',
  operation: 'operation',
  sent: 'sent',
  sentHash: 'sent_hash',
  requestId: 'request_id',
  requestPlace: 'request_place',
  groupMax: 'group_max',
  attempts: 'attempts',
  uncertain: 'uncertain',
  reason: 'reason',
  stagedAt: 'staged_at',
  sentAt: 'sent_at',
  settledAt: 'settled_at',
  ignoredHash: 'ignored_hash',
  adopted: 'adopted',
  form: 'form',
  sentForm: 'sent_form',
};

/** The columns of an `ItemRow`. The parameter is the name of the items table in the SQL statement. */
export function itemColumns(of: string): string {
  return Object.entries(COLUMN_NAMES)
    .map(([field, column]) => `${of}.${column} AS ${field}`)
    .join(', ');
}

export const ITEM_COLUMNS = itemColumns('items');

/** A payload as canonical JSON, with its hash. */
export interface Content {
  text: string;
  hash: string;
}

/** The payload that the API has acknowledged; null if it has acknowledged none. */
export function acknowledgedContent(
  item: Pick<ItemRow, 'acknowledged' | 'desired' | 'desiredHash' | 'baseline' | 'baselineHash'>,
): Content | null {
  if (item.acknowledged === 0) return null;
  if (item.acknowledged === 1) return { text: item.desired, hash: item.desiredHash };
  return { text: item.baseline ?? '{}', hash: item.baselineHash ?? '' };
}

type Asked = Pick<ItemRow, 'kind' | 'operation' | 'desired' | 'desiredHash' | 'sent' | 'sentHash'>;

/**
 * The payload that the present revision asks for: the desired one, or an earlier one if the item has changed since.
 * `text` is correct only while the revision is open.
 */
export function revisionContent({ kind, operation, desired, desiredHash, sent, sentHash }: Asked): Content {
  if (kind === 'passport') {
    const text = statusText(statusAfter(operation));
    return { text, hash: sha256Url(text) };
  }
  return { text: sent ?? desired, hash: sentHash ?? desiredHash };
}

/** True if the item's present delivery is open. */
export function isOpenState(state: DeliveryState | null): state is DeliveryState {
  return state !== null && state !== 'delivered' && state !== 'superseded';
}

/**
 * True while the API may have received the present revision. The present revision then has to be settled before a newer
 * one is staged.
 */
export function mayHaveArrived({ state, uncertain }: Pick<ItemRow, 'state' | 'uncertain'>): boolean {
  return isOpenState(state) && (IN_FLIGHT_STATES.includes(state) || uncertain === 1);
}

/**
 * True for an item whose remote id another item has taken over. The API always has an id for products and materials
 * that it has acknowledged.
 */
export function gaveIdAway({ kind, remoteId }: Pick<ItemRow, 'kind' | 'remoteId'>): boolean {
  return remoteId === 'null' && (kind === 'product' || kind === 'material');
}
