import type { Issue } from '../../domain/issue.ts';
import { type BlockedProducts, type MappedItem, type MapResult, productsOf } from '../../domain/mapping.ts';
import type { MappedRecord, StageSummary } from '../../domain/ports/intake.ts';
import { addCreates, type Contact, type CreateCounts } from '../contact/contact.ts';
import type { DesiredItem } from '../items/desired-item.ts';
import { createNameSet } from '../items/item-name.ts';
import type { ItemRow } from '../items/item-row.ts';
import type { Items } from '../items/items.ts';
import { type ContestedPart, hasPart } from '../items/part-refs.ts';
import type { LedgerContext } from '../store/context.ts';
import { createContenders } from './contenders.ts';
import type { Lookups } from './lookups.ts';
import { itemsIn } from './page-names.ts';
import type { RunAccounts, RunCount } from './run-accounts.ts';
import { type RecordRow, SELECT_RECORD } from './staged-record.ts';

/** The counts of staged deliveries, and the staged creates for first contact. */
export type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'> & { creates: CreateCounts };

/** Stages the items of mapped records. Call each function inside a transaction. */
export interface Staging {
  stage(records: readonly MappedRecord[]): StageSummary;
  /**
   * Stages one record in any state, and returns its new state. With `again`, its stuck deliveries are sent again too. With
   * `renames`, its items take the natural keys of the source: see `Contenders`.
   */
  apply(record: StagedRecord, result: MappedRecord['result'], options: ApplyOptions): RecordState;
}

interface ApplyOptions {
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

export function createStaging(
  { db, clock, profile }: LedgerContext,
  {
    items,
    contact,
    accounts,
    lookups,
  }: { items: Items; contact: Pick<Contact, 'countCreates'>; accounts: RunAccounts; lookups: Lookups },
): Staging {
  const contenders = createContenders({ db, profile }, items);
  const sql = {
    record: db.prepare<[number], RecordRow>(SELECT_RECORD),
    // A record that stays in quarantine keeps the time at which it was quarantined.
    setState: db.prepare<[{ id: number; state: RecordState; issues: string | null; partial: 0 | 1; now: number }]>(
      `UPDATE records SET state = @state, issues = @issues, partial = @partial, run_id = NULL,
         quarantined_at = iif(@state = 'quarantined', coalesce(quarantined_at, @now), NULL) WHERE id = @id`,
    ),
    addContender: db.prepare<[string, string, number]>(
      'INSERT OR IGNORE INTO contenders (kind, key, record_id) VALUES (?, ?, ?)',
    ),
    dropContenders: db.prepare<[number]>('DELETE FROM contenders WHERE record_id = ?'),
    addBlockedProduct: db.prepare<[number, string | null]>('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
    dropBlockedProducts: db.prepare<[number]>('DELETE FROM holds WHERE record_id = ?'),
    // Other records that make this item are mapped again, because they may now make it or conflict with it.
    requeueContenders: db.prepare<[string, string, number]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE id IN (SELECT record_id FROM contenders WHERE kind = ? AND key = ?) AND id <> ?
         AND state IN ('mapped', 'quarantined')`,
    ),
  };

  function setState(id: number, state: RecordState, why: { issues: string | null; partial: 0 | 1 }): void {
    sql.setState.run({ id, state, ...why, now: clock.now() });
  }

  function release(item: ItemRow & { recordId: number }, recordId: number): void {
    items.disown(item);
    sql.requeueContenders.run(item.kind, item.key, recordId);
  }

  /** Releases the items that the record made before and no longer makes. */
  function releaseBut(own: readonly DesiredItem[], recordId: number): void {
    const kept = new Set(own.map(({ item }) => `${item.kind}/${item.key}`));
    for (const before of items.ownedBy(recordId)) {
      if (!kept.has(`${before.kind}/${before.key}`)) release(before, recordId);
    }
  }

  function quarantine(recordId: number, issues: readonly Issue[], blockedProducts: BlockedProducts): RecordState {
    for (const productKey of blockedProducts) sql.addBlockedProduct.run(recordId, productKey);
    // The record's earlier items count as present, so that a typing error does not take a product away.
    setState(recordId, 'quarantined', { issues: JSON.stringify(issues), partial: 0 });
    // I4: a restored ledger does not know the content of these items at the API, so they are written again.
    for (const item of items.ownedBy(recordId)) items.reconcile(item.id);
    return 'quarantined';
  }

  /** Decides of which kind the parts of BOM items are, and finds the parts that may be of two kinds. */
  function withParts(made: readonly MappedItem[], recordId: number) {
    const issues: Issue[] = [];
    const contested: ContestedPart[] = [];
    const names = createNameSet();
    for (const item of made) names.add(item);
    const isMade = (name: ContestedPart) => names.has(name);
    const mapped = made.map((item): MappedItem => {
      if (!hasPart(item)) return item;
      const resolved = items.resolveParts(item, { recordId, known: items.find(item.kind, item.key), isMade });
      issues.push(...resolved.issues);
      contested.push(...resolved.contested);
      return { ...resolved.item, mapping: item.mapping };
    });
    return { mapped, issues, contested };
  }

  function apply(
    record: StagedRecord,
    result: MappedRecord['result'],
    { again, renames = false, tally }: ApplyOptions,
  ): RecordState {
    const { id: recordId, isNew } = record;
    if (!isNew) {
      sql.dropBlockedProducts.run(recordId);
      sql.dropContenders.run(recordId);
    }
    lookups.storeUses(recordId, result.uses, isNew);
    const reported = result.status === 'quarantined' ? result.issues : [];
    if (reported.length > 0 && !isPartial(result)) return quarantine(recordId, reported, blockedBy(result));
    const { mapped, ...parts } = withParts(itemsIn(result), recordId);
    const { issues, contested, own } = contenders(mapped, recordId, { renames });
    for (const { kind, key } of [...parts.contested, ...contested]) sql.addContender.run(kind, key, recordId);
    const found = [...parts.issues, ...issues];
    if (found.length > 0) return quarantine(recordId, [...reported, ...found], productsOf(mapped));
    // It is unknown which of the record's earlier items a failed mapping would make, so all of them count as present.
    if (!isNew && reported.length === 0) releaseBut(own, recordId);
    if (!isNew && reported.length > 0) for (const item of items.ownedBy(recordId)) items.reconcile(item.id);
    for (const one of own) {
      const staged = items.desire(one, record, again);
      const { item, content, known } = one;
      if (staged) tally[staged] += 1;
      const isCreate = staged === 'due' && (known === undefined || known.acknowledged === 0);
      if (isCreate && item.kind !== 'bom_item') addCreates(tally.creates, record.source, item.kind);
      if (known && known.desiredHash !== content.hash) sql.requeueContenders.run(item.kind, item.key, recordId);
    }
    const why = reported.length > 0 ? JSON.stringify(reported) : null;
    setState(recordId, result.status, { issues: why, partial: why === null ? 0 : 1 });
    return result.status;
  }

  return {
    apply,
    stage(records) {
      const summary: StageSummary = { mapped: 0, excluded: 0, quarantined: 0, due: 0, waiting: 0, blocked: 0 };
      const counts = createCounts();
      const creates: CreateCounts = new Map();
      const tally = { due: 0, waiting: 0, blocked: 0, creates };
      for (const { id, version, result } of records) {
        const row = sql.record.get(id);
        // A result is staged only if its record has not changed since it was mapped, so a late job with an older result
        // changes nothing.
        if (!row || row.version !== version || row.state !== 'pending') continue;
        // A lookup entry has changed since the mapping used it, so the record waits for another mapping.
        if (!lookups.areCurrent(result.uses)) continue;
        // Every change that makes a record wait for the mapping again raises its version.
        const { source, missingSince } = row;
        const record = { id, source, missingSince, isNew: version === 1 };
        const state = apply(record, result, { again: false, tally });
        summary[state] += 1;
        if (row.runId !== null) counts.of(row.runId, row.streamId)[state] += 1;
      }
      for (const count of counts.all()) accounts.count(count);
      contact.countCreates(creates);
      const { due, waiting, blocked } = tally;
      return { ...summary, due, waiting, blocked };
    },
  };
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
