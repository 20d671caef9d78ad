import { contentOf } from '../../domain/item.ts';
import type { MapResult } from '../../domain/mapping.ts';
import type { IncomingRecord } from '../../domain/record.ts';
import { addCreates } from '../contact/contact.ts';
import { desireItems } from '../items/desire.ts';
import type { OwnedDesire } from '../items/desired-item.ts';
import { insertMany, nextId } from '../store/insert-many.ts';
import type { Tx } from '../store/tx.ts';
import { storeLookupEntries, storeUses } from './lookups.ts';
import type { NamedItem } from './page-names.ts';
import { issuesText, type RecordsTo } from './record-store.ts';
import { isPartial, type RecordState, type Tally } from './staging.ts';

/** A row that has no stored record, and its mapping. Its items have names that no other item has. */
export interface NewRecord {
  row: IncomingRecord;
  key: string;
  /** Null for a row that is mapped later. */
  mapped: { result: MapResult; items: readonly NamedItem[] } | null;
}

const insertRecords = insertMany({
  into: 'records',
  columns: [
    'id',
    'stream_id',
    'key',
    'hash',
    'raw',
    'place',
    'version',
    'state',
    'source_issues',
    'issues',
    'run_id',
    'partial',
    'quarantined_at',
  ],
});

const insertBlockedProducts = insertMany({ into: 'holds', columns: ['record_id', 'product_key'] });

/**
 * Stores new records and stages their items, with few statements. Returns the records' ids in the same order.
 */
export function stageNewRecords(
  tx: Tx,
  records: readonly NewRecord[],
  { source, streamId, runId, waiting }: RecordsTo,
  tally: Tally,
): number[] {
  const firstId = nextId(tx, 'records');
  const now = tx.clock.now();
  const ids = records.map((_, at) => firstId + at);
  insertRecords(
    tx,
    records.map(({ row, key, mapped }, at) => {
      const { hash, raw, place, issues } = row;
      const state = mapped === null ? waiting : stateOf(mapped.result);
      const why = mapped?.result.status === 'quarantined' ? JSON.stringify(mapped.result.issues) : null;
      // Only a waiting record keeps its run. All others are counted at once.
      const run = mapped === null ? runId : null;
      const where = JSON.stringify(place);
      const partial = mapped !== null && isPartial(mapped.result) ? 1 : 0;
      const since = state === 'quarantined' ? now : null;
      return [firstId + at, streamId, key, hash, raw, where, 1, state, issuesText(issues), why, run, partial, since];
    }),
  );
  insertBlockedProducts(
    tx,
    records.flatMap(({ mapped }, at) => blockedProductsOf(mapped?.result).map((key) => [firstId + at, key])),
  );
  const stored = records.map(({ row: { raw, issues } }, at) => ({ id: firstId + at, raw, issues }));
  storeLookupEntries(tx, streamId, stored, true);
  for (const [at, { mapped }] of records.entries()) storeUses(tx, firstId + at, mapped?.result.uses, true);
  const desires = records.flatMap(({ mapped }, at) => {
    const owner = { id: firstId + at, source, missingSince: null };
    return (mapped?.items ?? []).map(({ item, naturalKey }): OwnedDesire => {
      return { item, content: contentOf(item), naturalKey, known: undefined, owner };
    });
  });
  stageItems(tx, desires, source, tally);
  return ids;
}

function stageItems(tx: Tx, desires: readonly OwnedDesire[], source: string, tally: Tally): void {
  const created = { product: 0, material: 0, bom_item: 0 };
  for (const [at, staged] of desireItems(tx, desires, false).entries()) {
    if (staged) tally[staged] += 1;
    const kind = desires[at]?.item.kind;
    if (staged === 'due' && kind !== undefined) created[kind] += 1;
  }
  for (const kind of ['product', 'material'] as const) {
    if (created[kind] > 0) addCreates(tally.creates, source, kind, created[kind]);
  }
}

function stateOf({ status }: MapResult): RecordState {
  return status;
}

function blockedProductsOf(result: MapResult | undefined): readonly (string | null)[] {
  return result?.status === 'quarantined' ? result.blockedProducts : [];
}
