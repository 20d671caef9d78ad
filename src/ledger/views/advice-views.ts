// What is said about the items of the ledger.

import { adviceOnItem } from '../../domain/advice.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { isGuardedChange } from '../../domain/guard-advice.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { ItemView } from '../../domain/ports/ledger/ledger-views.ts';
import { unmappedCure } from '../../domain/unmapped-fields.ts';
import { itemOf, type StoredItem } from './item-views.ts';
import { passportOf } from './passport-views.ts';
import { guardedReads } from './record-views.ts';
import { accessRefusal, suspendedKinds } from './undelivered-views.ts';
import type { ViewReads } from './view-reads.ts';

/** An item by its key or natural key, with what is said about it. */
export function advisedItem(reads: ViewReads, kind: SubjectKind, key: string): ItemView | null {
  const item = itemOf(reads, kind, key);
  if (item === null) return null;
  const heldBy = heldReason(reads, item);
  const reason = item.reason ?? heldBy;
  const advice = adviceOnItem(
    { ...item, reason },
    {
      isPublic: item.kind === 'product' && item.missing && isPublic(reads, item),
      isGuarded: isGuardedChange({ ...item, reason }, (source) => guardedReads(reads, [source])),
      unmapped: unmappedOf(reads, item),
    },
  );
  return { ...item, heldBy, advice };
}

function isPublic(reads: ViewReads, { key }: StoredItem): boolean {
  return passportOf(reads, key)?.acknowledged === 'published';
}

/** Why a due item without a reason is not sent: its kind has no list, or the API refuses other items. */
function heldReason(reads: ViewReads, { kind, key, state, reason, remoteId, source }: StoredItem): Reason | null {
  if (state !== 'due' || reason !== null) return null;
  const suspended = remoteId === null && source !== null ? suspendedKinds(reads, [source]) : [];
  return suspended.find((one) => one.kind === kind)?.reason ?? accessRefusal(reads, { kind, key });
}

function unmappedOf(reads: ViewReads, { kind, key, state, reason }: StoredItem): string | null {
  if (kind !== 'passport' || state !== 'blocked' || reason === null) return null;
  return unmappedCure(reason, itemOf(reads, 'product', key)?.record ?? null, reads.passportRules.mappedFields);
}
