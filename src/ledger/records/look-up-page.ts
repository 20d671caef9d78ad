// Finds the rows of a page that differ from the ledger, without writing.

import type {
  PageDifference,
  PageLookUp,
  PageToCompare,
  PageToLookUp,
  PageToStage,
} from '../../domain/ports/intake.ts';
import { recordKey } from '../../domain/record.ts';
import type { Reads } from '../store/tx.ts';
import { findKnownRecords, identifyRow, isUnchanged } from './known-records.ts';
import { skipUnchanged } from './skip-unchanged.ts';
import { countPresentRecords, streamNamed } from './streams.ts';

/**
 * After at most this many unchanged records, their count is written to the ledger, so that the progress of a run can be
 * shown.
 */
const UNCOUNTED_MAX = 20_000;

/**
 * Looks up the rows of a page. `ids` are the records of a page that can be skipped; the caller adds them to `seen`.
 */
export function lookUpPage(reads: Reads, page: PageToLookUp): PageLookUp & { ids: readonly number[] } {
  const { source, stream, records, seen } = page;
  const { id: streamId } = streamNamed(reads, source, stream);
  const ids = skipUnchanged(reads, { streamId, records, seen });
  if (ids !== null) return mayBeCountedLater(page) ? { skipped: true, ids } : { skipped: false, toMap: [], ids: [] };
  const known = findKnownRecords(reads, streamId, records);
  const keys = new Set<string>();
  const toMap: number[] = [];
  for (const [at, row] of records.entries()) {
    const key = recordKey(row.identity, 1);
    const stored = known.get(key);
    // A repeated row is mapped in any case, because only the staging of the page decides to which record it belongs.
    const isRepeated = keys.has(key) || (stored !== undefined && seen.has(stored.id));
    keys.add(key);
    if (isRepeated || stored === undefined || !isUnchanged(stored, row)) toMap.push(at);
  }
  return { skipped: false, toMap, ids: [] };
}

/** How many records a stream has that are not missing. */
export function countPresent(reads: Reads, source: string, stream: string): number {
  return countPresentRecords(reads, streamNamed(reads, source, stream).id);
}

/**
 * Compares the contents of rows, whatever their mapping is. `ids` are the present records of the page; the caller adds
 * them to `seen`.
 */
export function comparePage(
  reads: Reads,
  { source, stream, records, seen: before }: PageToCompare,
): PageDifference & { ids: ReadonlySet<number> } {
  const { id: streamId } = streamNamed(reads, source, stream);
  const ids = new Set<number>();
  const seen = { has: (id: number) => ids.has(id) || before.has(id) };
  let changed = 0;
  let fresh = 0;
  for (const row of records) {
    const { known } = identifyRow(reads, row, streamId, seen);
    if (known === undefined || known.missing === 1) fresh += 1;
    else {
      ids.add(known.id);
      if (known.hash !== row.hash) changed += 1;
    }
  }
  return { changed, fresh, ids };
}

/** Returns the records of a page that changes nothing and needs no write; null for any other page. */
export function skipPage(reads: Reads, page: PageToStage): readonly number[] | null {
  if (page.mapped !== undefined || page.uncounted === undefined || !mayBeCountedLater(page)) return null;
  const { source, stream, records, seen } = page;
  return skipUnchanged(reads, { streamId: streamNamed(reads, source, stream).id, records, seen });
}

/**
 * True if an unchanged page needs no write. A page with a cursor is written, because the cursor is stored with its page
 * (I1).
 */
function mayBeCountedLater({ cursor, uncounted = 0, records }: PageToStage | PageToLookUp): boolean {
  return cursor === undefined && uncounted + records.length <= UNCOUNTED_MAX;
}
