import type { LedgerContext } from './context.ts';
import { createMeta } from './meta.ts';

/**
 * How much history is kept beside the earlier revisions of items, so that the ledger stays bounded over the years (I9).
 */
const KEEP = { eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30 };

const PRUNED_EVENTS = 'pruned_events';

/** Deletes events, runs and records beyond these limits. Call it inside a transaction. */
export function createPrune({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): () => void {
  const meta = createMeta(db);
  const runs = db.prepare<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  );
  // Only items with events since the last pruning are looked at.
  const noisyItems = db
    .prepare<[number, number], number>(
      `SELECT item_id FROM events WHERE item_id IN (SELECT item_id FROM events WHERE id > ?)
       GROUP BY item_id HAVING count(*) > ?`,
    )
    .pluck();
  const events = db.prepare<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  );
  // Missing records without items. In a stream without keys every change leaves one.
  const records = db.prepare<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  );
  const latestEvent = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM events').pluck();

  /** The last event at the time of the last pruning. The present last event is stored for the next pruning. */
  function eventBefore(): number {
    const before = Number(meta.get(PRUNED_EVENTS) ?? 0);
    meta.set(PRUNED_EVENTS, String(latestEvent.get() ?? 0));
    return before;
  }

  return () => {
    records.run(clock.now() - KEEP.missingRecordDays * 24 * 3_600_000);
    runs.run(KEEP.runsPerSource);
    for (const id of noisyItems.all(eventBefore(), KEEP.eventsPerItem)) events.run(id, id, KEEP.eventsPerItem);
  };
}
