import type { Issue } from '../../domain/issue.ts';
import { contentOf } from '../../domain/item.ts';
import { type HeldProducts, type MappedItem, productsOf } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import { formatPlace, type Place } from '../../domain/place.ts';
import type { MappedRecord, StageSummary } from '../../domain/ports/intake.ts';
import { addCreate, type Contact, type CreateCounts } from '../contact/contact.ts';
import type { DesiredItem } from '../items/desire.ts';
import type { ItemRow } from '../items/item-row.ts';
import type { Items } from '../items/items.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import type { RunAccounts, RunCount } from './run-accounts.ts';
import { type RecordRow, SELECT_RECORD } from './staged-record.ts';

type ItemName = Pick<MappedItem, 'kind' | 'key'>;
/** What staging led to, with the creates that first contact counts. */
export type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'> & { creates: CreateCounts };

/** From mapped records to desired payloads. For use inside a transaction. */
export interface Staging {
  stage(records: readonly MappedRecord[]): StageSummary;
  /** Stages one record whatever its state; with `again`, stuck deliveries are asked anew. Gives its state afterwards. */
  apply(record: StagedRecord, result: MappedRecord['result'], options: { again: boolean; tally: Tally }): RecordState;
}

/** The record whose items are staged. */
interface StagedRecord extends Pick<RecordRow, 'source' | 'missingSince'> {
  id: number;
  /** True where it has never been staged: nothing is known of it that would have to be taken back. */
  isNew: boolean;
}

export type RecordState = 'mapped' | 'excluded' | 'quarantined';

export function createStaging(
  { db, profile }: LedgerContext,
  { items, contact, accounts }: { items: Items; contact: Pick<Contact, 'countCreates'>; accounts: RunAccounts },
): Staging {
  const sql = {
    record: db.prepare<[number], RecordRow>(SELECT_RECORD),
    setState: db.prepare<[string, string | null, number]>(
      'UPDATE records SET state = ?, issues = ?, run_id = NULL WHERE id = ?',
    ),
    place: db.prepare<[number], { place: string; missing: number }>(
      'SELECT place, missing_since IS NOT NULL AS missing FROM records WHERE id = ?',
    ),
    // An owner that has gone keeps nobody from its natural key.
    namesake: db.prepare<[string, string, string], { key: string; place: string }>(
      `SELECT i.key, r.place FROM items i JOIN records r ON r.id = i.record_id
       WHERE i.kind = +? AND i.natural_key = +? AND i.key <> +? AND r.missing_since IS NULL ORDER BY i.id LIMIT 1`,
    ),
    addClaim: db.prepare<[string, string, number]>(
      'INSERT OR IGNORE INTO contenders (kind, key, record_id) VALUES (?, ?, ?)',
    ),
    dropClaims: db.prepare<[number]>('DELETE FROM contenders WHERE record_id = ?'),
    addHold: db.prepare<[number, string | null]>('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
    dropHolds: db.prepare<[number]>('DELETE FROM holds WHERE record_id = ?'),
    // Whoever else makes the item is mapped anew: its claim may hold now, or no longer agree.
    requeueContenders: db.prepare<[string, string, number]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE id IN (SELECT record_id FROM contenders WHERE kind = ? AND key = ?) AND id <> ?
         AND state IN ('mapped', 'quarantined')`,
    ),
  };

  /** Where the record stands that keeps this one from making the item, or null when nothing does. */
  function rivalPlace(known: ItemRow | undefined, recordId: number): Place | null {
    if (!known || known.recordId === null || known.recordId === recordId) return null;
    const owner = sql.place.get(known.recordId);
    return !owner || owner.missing === 1 ? null : parseJson<Place>(owner.place);
  }

  function conflicts(
    mapped: readonly MappedItem[],
    recordId: number,
  ): { issues: Issue[]; rivals: ItemName[]; own: DesiredItem[] } {
    const issues: Issue[] = [];
    const rivals: ItemName[] = [];
    const own: DesiredItem[] = [];
    const seen = new Set<string>();
    for (const item of mapped) {
      const name = `${item.kind} ${JSON.stringify(item.key)}`;
      if (seen.has(name)) {
        issues.push({
          code: 'claim.twice',
          field: 'key',
          value: item.key,
          message: `The row makes the ${name} twice.`,
        });
        continue;
      }
      seen.add(name);
      const known = items.find(item.kind, item.key);
      const content = contentOf(item);
      const other = rivalPlace(known, recordId);
      if (other) rivals.push(item);
      if (other && known?.desiredHash !== content.hash) {
        issues.push({
          code: 'claim.conflict',
          field: 'key',
          value: item.key,
          message: `The ${name} is already made, with other content, by the row at ${formatPlace(other)}.`,
          cure: 'Keep one of the two rows, or give them different keys.',
          other,
        });
      } else if (!other) {
        const naturalKey = naturalKeyOf(profile, item.kind, item.payload);
        own.push({ item, content, naturalKey, known });
        const taken = naturalKey && naturalKeyTaken(item, naturalKey);
        if (!taken) continue;
        rivals.push({ kind: item.kind, key: taken.by });
        issues.push(taken.issue);
      }
    }
    return { issues, rivals, own };
  }

  /** The other item that has this one's natural key, by key, and what to say of it. */
  function naturalKeyTaken(item: MappedItem, { field, value }: NaturalKey): { by: string; issue: Issue } | null {
    const other = sql.namesake.get(item.kind, value, item.key);
    if (!other) return null;
    const place = parseJson<Place>(other.place);
    const issue: Issue = {
      code: 'natural_key.taken',
      field,
      value,
      message: `The API knows a ${item.kind} by its ${field}, and ${JSON.stringify(value)} belongs to the ${item.kind} with the key ${JSON.stringify(other.key)} (${formatPlace(place)}) already.`,
      cure: `Give each ${item.kind} a ${field} of its own.`,
      other: place,
    };
    return { by: other.key, issue };
  }

  function release(item: ItemRow, recordId: number): void {
    items.disown(item);
    sql.requeueContenders.run(item.kind, item.key, recordId);
  }

  /** Lets go of what the record made before and makes no more. */
  function releaseBut(own: readonly DesiredItem[], recordId: number): void {
    const kept = new Set(own.map(({ item }) => `${item.kind}/${item.key}`));
    for (const before of items.ownedBy(recordId)) {
      if (!kept.has(`${before.kind}/${before.key}`)) release(before, recordId);
    }
  }

  function quarantine(recordId: number, issues: readonly Issue[], holds: HeldProducts): RecordState {
    for (const productKey of holds) sql.addHold.run(recordId, productKey);
    // What the record made before counts as present: a typing error must not take a product away.
    sql.setState.run('quarantined', JSON.stringify(issues), recordId);
    // I4: in a restored ledger nobody knows what the API holds of it, so what it made before is written again.
    for (const item of items.ownedBy(recordId)) items.reconcile(item.id);
    return 'quarantined';
  }

  function apply(
    record: StagedRecord,
    result: MappedRecord['result'],
    { again, tally }: { again: boolean; tally: Tally },
  ): RecordState {
    const { id: recordId, isNew } = record;
    if (!isNew) {
      sql.dropHolds.run(recordId);
      sql.dropClaims.run(recordId);
    }
    if (result.status === 'quarantined') return quarantine(recordId, result.issues, result.holds);
    const mapped = result.status === 'mapped' ? result.items : [];
    const { issues, rivals, own } = conflicts(mapped, recordId);
    for (const { kind, key } of rivals) sql.addClaim.run(kind, key, recordId);
    if (issues.length > 0) return quarantine(recordId, issues, productsOf(mapped));
    if (!isNew) releaseBut(own, recordId);
    for (const one of own) {
      const staged = items.desire(one, record, again);
      const { item, content, known } = one;
      if (staged) tally[staged] += 1;
      const isCreate = staged === 'due' && (known === undefined || known.acknowledged === 0);
      if (isCreate && item.kind !== 'bom_item') addCreate(tally.creates, record.source, item.kind);
      if (known && known.desiredHash !== content.hash) sql.requeueContenders.run(item.kind, item.key, recordId);
    }
    const state = result.status === 'mapped' ? 'mapped' : 'excluded';
    sql.setState.run(state, null, recordId);
    return state;
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
        // A late job of an old run cannot win: only the version that was mapped is staged.
        if (!row || row.version !== version || row.state !== 'pending') continue;
        // Whatever makes a record wait to be mapped once more raises its version.
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

/** What records came to, by run and stream. */
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
