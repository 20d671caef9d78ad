import type { LedgerContext } from './context.ts';
import { createMeta } from './meta.ts';

/** How much history is kept: enough to explain, bounded as the years go by (I9). */
const KEEP = { deliveriesPerItem: 20, eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30 };

/** Removes history beyond what is kept. For use inside a transaction. */
export function createPrune({ db, clock }: LedgerContext): () => void {
  const meta = createMeta(db);
  const runs = db.prepare<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  );
  // A history grows by what is added to it, so only the items of what has come since the last time are looked at.
  const busyItems = db
    .prepare<[number, number], number>('SELECT DISTINCT item_id FROM deliveries WHERE id > ? AND revision > ?')
    .pluck();
  const deliveries = db.prepare<[number, number]>(
    `DELETE FROM deliveries WHERE item_id = ? AND state IN ('delivered', 'superseded')
     AND revision <= (SELECT revision FROM items WHERE id = deliveries.item_id) - ?`,
  );
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
  const latest = {
    deliveries: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM deliveries').pluck(),
    events: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM events').pluck(),
  };

  /** The last id that was there the last time; the present one is remembered for the next. */
  function since(table: keyof typeof latest): number {
    const name = `pruned_${table}`;
    const before = Number(meta.get(name) ?? 0);
    meta.set(name, String(latest[table].get() ?? 0));
    return before;
  }

  return () => {
    records.run(clock.now() - KEEP.missingRecordDays * 24 * 3_600_000);
    runs.run(KEEP.runsPerSource);
    for (const id of busyItems.all(since('deliveries'), KEEP.deliveriesPerItem)) {
      deliveries.run(id, KEEP.deliveriesPerItem);
    }
    for (const id of noisyItems.all(since('events'), KEEP.eventsPerItem)) events.run(id, id, KEEP.eventsPerItem);
  };
}
