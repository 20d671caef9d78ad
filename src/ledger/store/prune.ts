import type { HistoryLimits } from '../../domain/ports/ledger/care-ledger.ts';
import type { LedgerContext } from './context.ts';
import { createMeta } from './meta.ts';

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

/** Deletes events, runs and records beyond these limits. Call it inside a transaction. */
export function createPrune({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): (limits?: HistoryLimits) => void {
  const meta = createMeta(db);
  const runs = db.prepare<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  );
  // Only items with events since the last pruning are checked.
  const noisyItems = db
    .prepare<[number, number], number>(
      `SELECT item_id FROM events WHERE item_id IN (SELECT item_id FROM events WHERE id > ?)
       GROUP BY item_id HAVING count(*) > ?`,
    )
    .pluck();
  const actions = db.prepare<[number]>('DELETE FROM actions WHERE id <= (SELECT max(id) FROM actions) - ?');
  const events = db.prepare<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  );
  // Missing records without items. Each change of a row that only its content identifies leaves a missing record.
  const records = db.prepare<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  );
  // The last run, the last one that has read its source, and the last complete one always stay: they show the state of
  // each source.
  const oldRuns = db.prepare<[number]>(
    `DELETE FROM runs WHERE started_at < ? AND id NOT IN (
       SELECT max(id) FROM runs GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' AND result = 'complete' GROUP BY source)`,
  );
  const oldestEvents = db.prepare<[{ before: number; limit: number }]>(
    'DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT @limit) AND at < @before',
  );
  const usedBytes = db
    .prepare<[], number>(
      `SELECT (p.page_count - f.freelist_count) * s.page_size
       FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`,
    )
    .pluck();
  const latestEvent = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM events').pluck();

  /** The last event at the time of the last pruning. The present last event is stored for the next pruning. */
  function eventBefore(): number {
    const before = Number(meta.get(PRUNED_EVENTS) ?? 0);
    meta.set(PRUNED_EVENTS, String(latestEvent.get() ?? 0));
    return before;
  }

  function pruneBeyond({ keepDays, maxBytes }: HistoryLimits): void {
    if (keepDays !== undefined) {
      const before = clock.now() - keepDays * DAY_MS;
      oldRuns.run(before);
      oldestEvents.run({ before, limit: EVENTS_AT_ONCE });
    }
    if (maxBytes !== undefined && (usedBytes.get() ?? 0) > maxBytes) {
      oldestEvents.run({ before: Number.MAX_SAFE_INTEGER, limit: EVENTS_AT_ONCE });
    }
  }

  return (limits = {}) => {
    pruneBeyond(limits);
    records.run(clock.now() - KEEP.missingRecordDays * DAY_MS);
    runs.run(KEEP.runsPerSource);
    actions.run(KEEP.actions);
    for (const id of noisyItems.all(eventBefore(), KEEP.eventsPerItem)) events.run(id, id, KEEP.eventsPerItem);
  };
}
