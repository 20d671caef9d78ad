// The forms that the documents of several commands share. Times in documents are ISO 8601 in UTC.

import type { Reason } from '../../domain/delivery/reason.ts';
import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import type { ItemSummary } from '../../domain/ports/ledger/ledger-views.ts';

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

export function isoOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

/** A read that the guard holds. */
export function guardedDocument({ since, ...read }: GuardedRead): object {
  return { ...read, since: isoTime(since) };
}

/** A reason, with the time since when the API has refused or not answered. */
export function reasonDocument(reason: Reason | null): object | null {
  if (reason?.since === undefined) return reason;
  return { ...reason, since: isoTime(reason.since) };
}

export function itemDocument<Item extends Pick<ItemSummary, 'dueAt' | 'reason'>>(item: Item) {
  return { ...item, dueAt: isoOrNull(item.dueAt), reason: reasonDocument(item.reason) };
}
