import type { LedgerContext } from './context.ts';
import { createMeta } from './meta.ts';

/** How much is kept beside the revisions of items, which are bounded as they are written: enough to explain, bounded as the years go by (I9). */
const KEEP = { eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30 };

const PRUNED_EVENTS = 'pruned_events';

/** Removes events, runs and records beyond what is kept. For use inside a transaction. */
export function createPrune({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): () => void {
  const meta = createMeta(db);
  const runs = db.prepare<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  );
  // Only the items with events that were added since the last time are looked at.
  const noisyItems = db
    .prepare<[number, number], number>(
      `SELECT item_id FROM events WHERE item_id IN (SELECT item_id FROM events WHERE id > ?)
       GROUP BY item_id HAVING count(*) > ?`,
    )
    .pluck();
  const events = db.prepare<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  );
  // A record that has gone and makes nothing any more: in a stream without keys every change leaves one behind.
  const records = db.prepare<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  );
  const latestEvent = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM events').pluck();

  /** The last event that was there the last time; the present one is remembered for the next. */
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
