// Stages the items of mapped records.

import type { Issue } from '../../domain/issue.ts';
import { type BlockedProducts, type MappedItem, type MapResult, productsOf } from '../../domain/mapping.ts';
import type { MappedRecord, StageSummary } from '../../domain/ports/intake.ts';
import { addCreates, type CreateCounts, countCreates } from '../contact/contact.ts';
import { desireItem } from '../items/desire.ts';
import type { DesiredItem } from '../items/desired-item.ts';
import { createNameSet } from '../items/item-name.ts';
import type { ItemRow } from '../items/item-row.ts';
import { disownItem, findItem, itemsOfRecord } from '../items/items.ts';
import { type ContestedPart, hasPart, resolveParts } from '../items/part-refs.ts';
import { reconcile } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { compareContenders } from './contenders.ts';
import { areUsesCurrent, storeUses } from './lookups.ts';
import { itemsIn } from './page-names.ts';
import { countRows, type RunCount } from './run-accounts.ts';
import { type RecordRow, SELECT_RECORD } from './staged-record.ts';

/** The counts of staged deliveries, and the staged creates for first contact. */
export type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'> & { creates: CreateCounts };

interface StageOptions {
  again: boolean;
  renames?: boolean;
  tally: Tally;
}

/** The record whose items are staged. */
interface StagedRecord extends Pick<RecordRow, 'source' | 'missingSince'> {
  id: number;
  /** True if the record was never staged, so that it has no earlier items. */
  isNew: boolean;
}

export type RecordState = 'mapped' | 'excluded' | 'quarantined';

const SQL = {
  record: statement<[number], RecordRow>(SELECT_RECORD),
  // A record that stays in quarantine keeps the time at which it was quarantined.
  setState: statement<[{ id: number; state: RecordState; issues: string | null; partial: 0 | 1; now: number }]>(
    `UPDATE records SET state = @state, issues = @issues, partial = @partial, run_id = NULL,
       quarantined_at = iif(@state = 'quarantined', coalesce(quarantined_at, @now), NULL) WHERE id = @id`,
  ),
  addContender: statement<[string, string, number]>(
    'INSERT OR IGNORE INTO contenders (kind, key, record_id) VALUES (?, ?, ?)',
  ),
  dropContenders: statement<[number]>('DELETE FROM contenders WHERE record_id = ?'),
  addBlockedProduct: statement<[number, string | null]>('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
  dropBlockedProducts: statement<[number]>('DELETE FROM holds WHERE record_id = ?'),
  // Other records that make this item are mapped again, because they may now make it or conflict with it.
  requeueContenders: statement<[string, string, number]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE id IN (SELECT record_id FROM contenders WHERE kind = ? AND key = ?) AND id <> ?
       AND state IN ('mapped', 'quarantined')`,
  ),
};

/**
 * Stages one record in any state, and returns its new state. With `again`, its stuck deliveries are sent again too. With
 * `renames`, its items take the natural keys of the source: see `compareContenders`.
 */
export function stageRecord(
  tx: Tx,
  record: StagedRecord,
  result: MappedRecord['result'],
  { again, renames = false, tally }: StageOptions,
): RecordState {
  const { id: recordId, isNew } = record;
  if (!isNew) {
    SQL.dropBlockedProducts(tx).run(recordId);
    SQL.dropContenders(tx).run(recordId);
  }
  storeUses(tx, recordId, result.uses, isNew);
  const reported = result.status === 'quarantined' ? result.issues : [];
  if (reported.length > 0 && !isPartial(result)) return quarantine(tx, recordId, reported, blockedBy(result));
  const { mapped, ...parts } = withParts(tx, itemsIn(result), recordId);
  const { issues, contested, own } = compareContenders(tx, mapped, recordId, { renames });
  for (const { kind, key } of [...parts.contested, ...contested]) SQL.addContender(tx).run(kind, key, recordId);
  const found = [...parts.issues, ...issues];
  if (found.length > 0) return quarantine(tx, recordId, [...reported, ...found], productsOf(mapped));
  // It is unknown which of the record's earlier items a failed mapping would make, so all of them count as present.
  if (!isNew && reported.length === 0) releaseBut(tx, own, recordId);
  if (!isNew && reported.length > 0) for (const item of itemsOfRecord(tx, recordId)) reconcile(tx, item.id);
  for (const one of own) {
    const staged = desireItem(tx, one, record, again);
    const { item, content, known } = one;
    if (staged) tally[staged] += 1;
    const isCreate = staged === 'due' && (known === undefined || known.acknowledged === 0);
    if (isCreate && item.kind !== 'bom_item') addCreates(tally.creates, record.source, item.kind);
    if (known && known.desiredHash !== content.hash) SQL.requeueContenders(tx).run(item.kind, item.key, recordId);
  }
  const why = reported.length > 0 ? JSON.stringify(reported) : null;
  setState(tx, recordId, result.status, { issues: why, partial: why === null ? 0 : 1 });
  return result.status;
}

export function stageRecords(tx: Tx, records: readonly MappedRecord[]): StageSummary {
  const summary: StageSummary = { mapped: 0, excluded: 0, quarantined: 0, due: 0, waiting: 0, blocked: 0 };
  const counts = createCounts();
  const creates: CreateCounts = new Map();
  const tally = { due: 0, waiting: 0, blocked: 0, creates };
  for (const { id, version, result } of records) {
    const row = SQL.record(tx).get(id);
    // A result is staged only if its record has not changed since it was mapped, so a late job with an older result
    // changes nothing.
    if (!row || row.version !== version || row.state !== 'pending') continue;
    // A lookup entry has changed since the mapping used it, so the record waits for another mapping.
    if (!areUsesCurrent(tx, result.uses)) continue;
    // Every change that makes a record wait for the mapping again raises its version.
    const { source, missingSince } = row;
    const record = { id, source, missingSince, isNew: version === 1 };
    const state = stageRecord(tx, record, result, { again: false, tally });
    summary[state] += 1;
    if (row.runId !== null) counts.of(row.runId, row.streamId)[state] += 1;
  }
  for (const count of counts.all()) countRows(tx, count);
  countCreates(tx, creates);
  const { due, waiting, blocked } = tally;
  return { ...summary, due, waiting, blocked };
}

function setState(tx: Tx, id: number, state: RecordState, why: { issues: string | null; partial: 0 | 1 }): void {
  SQL.setState(tx).run({ id, state, ...why, now: tx.clock.now() });
}

function releaseItem(tx: Tx, item: ItemRow & { recordId: number }, recordId: number): void {
  disownItem(tx, item);
  SQL.requeueContenders(tx).run(item.kind, item.key, recordId);
}

/** Releases the items that the record made before and no longer makes. */
function releaseBut(tx: Tx, own: readonly DesiredItem[], recordId: number): void {
  const kept = new Set(own.map(({ item }) => `${item.kind}/${item.key}`));
  for (const before of itemsOfRecord(tx, recordId)) {
    if (!kept.has(`${before.kind}/${before.key}`)) releaseItem(tx, before, recordId);
  }
}

function quarantine(tx: Tx, recordId: number, issues: readonly Issue[], blockedProducts: BlockedProducts): RecordState {
  for (const productKey of blockedProducts) SQL.addBlockedProduct(tx).run(recordId, productKey);
  // The record's earlier items count as present, so that a typing error does not take a product away.
  setState(tx, recordId, 'quarantined', { issues: JSON.stringify(issues), partial: 0 });
  // I4: a restored ledger does not know the content of these items at the API, so they are written again.
  for (const item of itemsOfRecord(tx, recordId)) reconcile(tx, item.id);
  return 'quarantined';
}

/** Decides of which kind the parts of BOM items are, and finds the parts that may be of two kinds. */
function withParts(tx: Tx, made: readonly MappedItem[], recordId: number) {
  const issues: Issue[] = [];
  const contested: ContestedPart[] = [];
  const names = createNameSet();
  for (const item of made) names.add(item);
  const isMade = (name: ContestedPart) => names.has(name);
  const mapped = made.map((item): MappedItem => {
    if (!hasPart(item)) return item;
    const resolved = resolveParts(tx, item, { recordId, known: findItem(tx, item.kind, item.key), isMade });
    issues.push(...resolved.issues);
    contested.push(...resolved.contested);
    return { ...resolved.item, mapping: item.mapping };
  });
  return { mapped, issues, contested };
}

/** True for a quarantined record whose sound items are used nevertheless. */
export function isPartial(result: MapResult): boolean {
  return result.status === 'quarantined' && result.items !== undefined;
}

function blockedBy(result: MapResult): BlockedProducts {
  return result.status === 'quarantined' ? result.blockedProducts : [];
}

/** The number of records by their new state, for each run and stream. */
function createCounts(): { of(runId: number, streamId: number): RunCount; all(): Iterable<RunCount> } {
  const counts = new Map<string, RunCount>();
  return {
    of(runId, streamId) {
      const name = `${runId}/${streamId}`;
      const count = counts.get(name) ?? {
        runId,
        streamId,
        read: 0,
        unchanged: 0,
        mapped: 0,
        excluded: 0,
        quarantined: 0,
      };
      counts.set(name, count);
      return count;
    },
    all: () => counts.values(),
  };
}
