import { fault } from '../../domain/faults.ts';
import type { MapResult } from '../../domain/mapping.ts';
import type { PageToStage, StageSummary } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import { countCreates } from '../contact/contact.ts';
import { hasPart } from '../items/part-refs.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { findKnownRecords, identifyRow, isUnchanged } from './known-records.ts';
import { areUsesCurrent, isLookedUp, waitsForOwnStream } from './lookups.ts';
import { type NewRecord, stageNewRecords } from './new-records.ts';
import { itemsIn, pageNames } from './page-names.ts';
import { movePlaces, type RecordsTo, storeRecord } from './record-store.ts';
import { countRows } from './run-accounts.ts';
import { type RecordState, stageRecord, type Tally } from './staging.ts';
import { streamNamed } from './streams.ts';

/** The result of storing a page. `ids` are the page's records, which are added to `seen` after the commit. */
export interface StoredPage {
  changed: number;
  ids: ReadonlySet<number>;
  summary?: StageSummary;
}

const SQL = {
  isRunning: column<[number], number>('SELECT 1 FROM runs WHERE id = ? AND ended_at IS NULL'),
  setCursor: statement<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
};

/**
 * Stores a page and stages the results of its mapping. Does not change `seen`.
 *
 * Stages rows in their order, so that pages of any size lead to the same ledger. New rows without contenders are
 * gathered and staged together. Any other row is staged alone, after all rows that were gathered before it.
 */
export function stagePage(tx: Tx, page: PageToStage): StoredPage {
  const { runId, source, records, seen, deferMapping, cursor, mapped, uncounted = 0 } = page;
  const stream = streamNamed(tx, source, page.stream);
  if (SQL.isRunning(tx).get(runId) === undefined) throw lateFault(page);
  // If the mapping has changed since the page was mapped, its rows wait to be mapped again.
  const isCurrent = mapped?.mappingRevision === stream.revision && !deferMapping;
  const results = isCurrent ? mapped.results : NO_RESULTS;
  const to: RecordsTo = { source, streamId: stream.id, runId, waiting: deferMapping ? 'stale' : 'pending' };
  const rows = createPageRows(tx, to, seen);

  const known = findKnownRecords(tx, stream.id, records);
  const names = pageNames(tx, results.values());
  for (const [at, row] of records.entries()) {
    const key = recordKey(row.identity, 1);
    const stored = known.get(key);
    const isFirst = !rows.has(key);
    if (stored && isFirst && isUnchanged(stored, row) && !seen.has(stored.id)) {
      rows.passUnchanged(row, { key, id: stored.id });
      continue;
    }
    const result = results.get(at);
    const made = result === undefined ? [] : names.take(result);
    if (stored || !isFirst || made === null || needsOrder(tx, result, stream.id)) rows.stageAlone(row, result);
    else if (result === undefined || !areUsesCurrent(tx, result.uses)) rows.gather({ row, key, mapped: null });
    else rows.gather({ row, key, mapped: { result, items: made } });
  }
  const { changed, ids, states, tally } = rows.end();

  countCreates(tx, tally.creates);
  const read = records.length + uncounted;
  countRows(tx, { runId, streamId: stream.id, read, unchanged: read - changed, ...states });
  // I1: the cursor moves only with its page.
  if (cursor !== undefined) SQL.setCursor(tx).run(JSON.stringify(cursor), stream.id);
  if (mapped === undefined) return { changed, ids };
  const { due, waiting, blocked } = tally;
  return { changed, ids, summary: { ...states, due, waiting, blocked } };
}

/** True if a result can only be staged after the rows that come before it on the same page. */
function needsOrder(tx: Tx, result: MapResult | undefined, streamId: number): boolean {
  return (
    result !== undefined && (itemsIn(result).some(hasPart) || (result.uses !== undefined && isLookedUp(tx, streamId)))
  );
}

const NO_RESULTS: ReadonlyMap<number, MapResult> = new Map();

/** Stores the rows of one page in their order. */
function createPageRows(tx: Tx, to: RecordsTo, seenBefore: PageToStage['seen']) {
  const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
  const states: Record<RecordState, number> = { mapped: 0, excluded: 0, quarantined: 0 };
  const ids = new Set<number>();
  const seen = { has: (id: number) => ids.has(id) || seenBefore.has(id) };
  const keys = new Set<string>();
  let changed = 0;
  let gathered: NewRecord[] = [];
  let unchanged: { id: number; place: IncomingRecord['place'] }[] = [];

  function passUnchanged(row: IncomingRecord, { key, id }: { key: string; id: number }): void {
    keys.add(key);
    ids.add(id);
    unchanged.push({ id, place: row.place });
  }

  function stageGathered(): void {
    movePlaces(tx, unchanged);
    unchanged = [];
    if (gathered.length > 0) for (const id of stageNewRecords(tx, gathered, to, tally)) ids.add(id);
    gathered = [];
  }

  return {
    /** True if an earlier row of the page has this record key. */
    has: (key: string) => keys.has(key),
    passUnchanged,
    /** Gathers a new row whose item names are free. */
    gather(record: NewRecord): void {
      keys.add(record.key);
      changed += 1;
      gathered.push(record);
      if (record.mapped !== null) states[record.mapped.result.status] += 1;
    },
    /** Stages a known, repeated or contested row separately. */
    stageAlone(row: IncomingRecord, result: MapResult | undefined): void {
      stageGathered();
      const identified = identifyRow(tx, row, to.streamId, seen);
      const { key, known } = identified;
      if (known && isUnchanged(known, row)) {
        passUnchanged(row, { key, id: known.id });
        return;
      }
      keys.add(key);
      changed += 1;
      const waits = waitsForOwnStream(tx, to.streamId, result?.uses);
      const id = storeRecord(tx, row, identified, waits ? { ...to, waiting: 'stale' } : to);
      ids.add(id);
      // If a lookup entry has changed since the mapping used it, the record waits for another mapping.
      if (result === undefined || waits || !areUsesCurrent(tx, result.uses)) return;
      const record = { id, source: to.source, missingSince: null, isNew: known === undefined };
      states[stageRecord(tx, record, result, { again: false, tally })] += 1;
    },
    end() {
      stageGathered();
      return { changed, ids, states, tally };
    },
  };
}

function lateFault({ runId, source, stream }: PageToStage): Error {
  return fault('interrupted', `Run ${runId} of ${source} has ended, so this page of ${stream} is not stored.`, {
    suggestion: 'Nothing is lost: the next run reads the page again.',
  });
}
