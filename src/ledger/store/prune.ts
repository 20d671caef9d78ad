import type { HistoryLimits } from '../../domain/ports/ledger/care-ledger.ts';
import { readMeta, writeMeta } from './meta.ts';
import { column, statement } from './statement.ts';
import type { Tx } from './tx.ts';

/**
 * How much history is kept besides the earlier revisions of items. The size of the ledger stays bounded over the years
 * (I9).
 */
const KEEP = { eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30, actions: 100_000 };

/**
 * At most this many events beyond the limits are removed at once. Runs end often enough to remove all of them in time.
 */
const EVENTS_AT_ONCE = 20_000;
const DAY_MS = 24 * 3_600_000;

const PRUNED_EVENTS = 'pruned_events';

const SQL = {
  runs: statement<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  ),
  // Only items with events since the last pruning are checked.
  noisyItems: column<[number, number], number>(
    `SELECT item_id FROM events WHERE item_id IN (SELECT item_id FROM events WHERE id > ?)
     GROUP BY item_id HAVING count(*) > ?`,
  ),
  actions: statement<[number]>('DELETE FROM actions WHERE id <= (SELECT max(id) FROM actions) - ?'),
  events: statement<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  ),
  // Missing records without items. Each change of a row that only its content identifies leaves a missing record.
  records: statement<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  ),
  // The last run, the last one that has read its source, and the last complete one always stay: they show the state of
  // each source.
  oldRuns: statement<[number]>(
    `DELETE FROM runs WHERE started_at < ? AND id NOT IN (
       SELECT max(id) FROM runs GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' AND result = 'complete' GROUP BY source)`,
  ),
  oldestEvents: statement<[{ before: number; limit: number }]>(
    'DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT @limit) AND at < @before',
  ),
  usedBytes: column<[], number>(
    `SELECT (p.page_count - f.freelist_count) * s.page_size
     FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`,
  ),
  latestEvent: column<[], number>('SELECT coalesce(max(id), 0) FROM events'),
};

/** Deletes events, runs and records beyond these limits. */
export function pruneHistory(tx: Tx, limits: HistoryLimits = {}): void {
  pruneBeyond(tx, limits);
  SQL.records(tx).run(tx.clock.now() - KEEP.missingRecordDays * DAY_MS);
  SQL.runs(tx).run(KEEP.runsPerSource);
  SQL.actions(tx).run(KEEP.actions);
  for (const id of SQL.noisyItems(tx).all(eventBefore(tx), KEEP.eventsPerItem))
    SQL.events(tx).run(id, id, KEEP.eventsPerItem);
}

/** The last event at the time of the last pruning. The present last event is stored for the next pruning. */
function eventBefore(tx: Tx): number {
  const before = Number(readMeta(tx, PRUNED_EVENTS) ?? 0);
  writeMeta(tx, PRUNED_EVENTS, String(SQL.latestEvent(tx).get() ?? 0));
  return before;
}

function pruneBeyond(tx: Tx, { keepDays, maxBytes }: HistoryLimits): void {
  if (keepDays !== undefined) {
    const before = tx.clock.now() - keepDays * DAY_MS;
    SQL.oldRuns(tx).run(before);
    SQL.oldestEvents(tx).run({ before, limit: EVENTS_AT_ONCE });
  }
  if (maxBytes !== undefined && (SQL.usedBytes(tx).get() ?? 0) > maxBytes) {
    SQL.oldestEvents(tx).run({ before: Number.MAX_SAFE_INTEGER, limit: EVENTS_AT_ONCE });
  }
}
