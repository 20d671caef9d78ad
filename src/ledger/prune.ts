import type { LedgerContext } from './context.ts';

/** How much history is kept: enough to explain, bounded as the years go by (I9). */
const KEEP = { deliveriesPerItem: 20, eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30 };

/** Removes history beyond what is kept. For use inside a transaction. */
export function createPrune({ db, clock }: LedgerContext): () => void {
  const runs = db.prepare<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) WHERE age > ?)`,
  );
  const busyItems = db.prepare<[number], { id: number }>('SELECT id FROM items WHERE revision > ?').pluck();
  const deliveries = db.prepare<[number, number]>(
    `DELETE FROM deliveries WHERE item_id = ? AND state IN ('delivered', 'superseded')
     AND revision <= (SELECT revision FROM items WHERE id = deliveries.item_id) - ?`,
  );
  const noisyItems = db
    .prepare<[number], { id: number }>('SELECT item_id AS id FROM events GROUP BY item_id HAVING count(*) > ?')
    .pluck();
  const events = db.prepare<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  );
  // A record that has gone and makes nothing any more: in a stream without keys every change leaves one behind.
  const records = db.prepare<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  );
  return () => {
    records.run(clock.now() - KEEP.missingRecordDays * 24 * 3_600_000);
    runs.run(KEEP.runsPerSource);
    for (const id of busyItems.all(KEEP.deliveriesPerItem) as unknown as number[]) {
      deliveries.run(id, KEEP.deliveriesPerItem);
    }
    for (const id of noisyItems.all(KEEP.eventsPerItem) as unknown as number[]) events.run(id, id, KEEP.eventsPerItem);
  };
}
