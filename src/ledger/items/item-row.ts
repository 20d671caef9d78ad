import { type DeliveryState, IN_FLIGHT_STATES, type Operation } from '../../domain/delivery.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { statusAfter } from '../../domain/passport.ts';
import { sha256Url } from '../../lib/hash.ts';
import { statusText } from '../passports/passport-text.ts';

/** An item with the delivery of its present revision, as a statement over `ITEM_COLUMNS` gives it. */
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
  /** See `acknowledgedContent`. */
  acknowledged: 0 | 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
  remoteId: string | null;
  revision: number;
  /** Null before the first revision, like `operation` and `stagedAt`. */
  state: DeliveryState | null;
  operation: Operation | null;
  /** See `revisionContent`. */
  sent: string | null;
  sentHash: string | null;
  requestId: number | null;
  groupMax: number | null;
  attempts: number;
  uncertain: 0 | 1;
  reason: string | null;
  stagedAt: number | null;
  sentAt: number | null;
  settledAt: number | null;
  /** Of a write that a person has ended although the platform does not have it; null for all other items. */
  ignoredHash: string | null;
  /** 1 where it was at the platform before, differs from what is desired, and no person has accepted the change. */
  adopted: 0 | 1;
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
  groupMax: 'group_max',
  attempts: 'attempts',
  uncertain: 'uncertain',
  reason: 'reason',
  stagedAt: 'staged_at',
  sentAt: 'sent_at',
  settledAt: 'settled_at',
  ignoredHash: 'ignored_hash',
  adopted: 'adopted',
};

/** Columns of an `ItemRow`; `of` names the table of the items in the statement. */
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

/** What the API has acknowledged of an item; null where it has acknowledged nothing. */
export function acknowledgedContent(
  item: Pick<ItemRow, 'acknowledged' | 'desired' | 'desiredHash' | 'baseline' | 'baselineHash'>,
): Content | null {
  if (item.acknowledged === 0) return null;
  if (item.acknowledged === 1) return { text: item.desired, hash: item.desiredHash };
  return { text: item.baseline ?? '{}', hash: item.baselineHash ?? '' };
}

type Asked = Pick<ItemRow, 'kind' | 'operation' | 'desired' | 'desiredHash' | 'sent' | 'sentHash'>;

/**
 * What the present revision asks for: what is desired, or what was desired before where the item has moved on. `text` is right
 * while the revision is open.
 */
export function revisionContent({ kind, operation, desired, desiredHash, sent, sentHash }: Asked): Content {
  if (kind === 'passport') {
    const text = statusText(statusAfter(operation));
    return { text, hash: sha256Url(text) };
  }
  return { text: sent ?? desired, hash: sentHash ?? desiredHash };
}

/** Whether an item's present revision is not over. */
export function isOpenState(state: DeliveryState | null): state is DeliveryState {
  return state !== null && state !== 'delivered' && state !== 'superseded';
}

/** True while bytes of the present revision may be at the API: it has to be settled before anything follows it. */
export function mayHaveArrived({ state, uncertain }: Pick<ItemRow, 'state' | 'uncertain'>): boolean {
  return isOpenState(state) && (IN_FLIGHT_STATES.includes(state) || uncertain === 1);
}
