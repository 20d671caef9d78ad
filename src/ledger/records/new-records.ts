import { contentOf } from '../../domain/item.ts';
import type { MapResult } from '../../domain/mapping.ts';
import type { IncomingRecord } from '../../domain/record.ts';
import { addCreates } from '../contact/contact.ts';
import type { OwnedDesire } from '../items/desired-item.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { createInsertMany, createNextId } from '../store/insert-many.ts';
import type { Lookups } from './lookups.ts';
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

/**
 * Stores new records and stages their items, with few statements. Returns the records' ids in the same order. Call it
 * inside a transaction.
 */
export type StageNewRecords = (records: readonly NewRecord[], to: RecordsTo, tally: Tally) => number[];

export function createStageNewRecords(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  items: Items,
  lookups: Pick<Lookups, 'recordsChanged' | 'storeUses'>,
): StageNewRecords {
  const nextId = createNextId(db, 'records');
  const insertRecords = createInsertMany(db, {
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
  const insertBlockedProducts = createInsertMany(db, { into: 'holds', columns: ['record_id', 'product_key'] });

  function stageItems(desires: readonly OwnedDesire[], source: string, tally: Tally): void {
    const created = { product: 0, material: 0, bom_item: 0 };
    for (const [at, staged] of items.desireAll(desires, false).entries()) {
      if (staged) tally[staged] += 1;
      const kind = desires[at]?.item.kind;
      if (staged === 'due' && kind !== undefined) created[kind] += 1;
    }
    for (const kind of ['product', 'material'] as const) {
      if (created[kind] > 0) addCreates(tally.creates, source, kind, created[kind]);
    }
  }

  return (records, { source, streamId, runId, waiting }, tally) => {
    const firstId = nextId();
    const now = clock.now();
    const ids = records.map((_, at) => firstId + at);
    insertRecords(
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
      records.flatMap(({ mapped }, at) => blockedProductsOf(mapped?.result).map((key) => [firstId + at, key])),
    );
    const stored = records.map(({ row }, at) => ({
      id: firstId + at,
      raw: row.raw,
      issues: row.issues,
    }));
    lookups.recordsChanged(streamId, stored, true);
    for (const [at, { mapped }] of records.entries()) lookups.storeUses(firstId + at, mapped?.result.uses, true);
    const desires = records.flatMap(({ mapped }, at) => {
      const owner = { id: firstId + at, source, missingSince: null };
      return (mapped?.items ?? []).map(
        ({ item, naturalKey }): OwnedDesire => ({
          item,
          content: contentOf(item),
          naturalKey,
          known: undefined,
          owner,
        }),
      );
    });
    stageItems(desires, source, tally);
    return ids;
  };
}

function stateOf({ status }: MapResult): RecordState {
  return status;
}

function blockedProductsOf(result: MapResult | undefined): readonly (string | null)[] {
  return result?.status === 'quarantined' ? result.blockedProducts : [];
}
