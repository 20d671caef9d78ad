import type { Issue } from '../domain/issue.ts';
import { itemHash } from '../domain/item.ts';
import { type HeldProducts, type MappedItem, productsOf } from '../domain/mapping.ts';
import { naturalKeyOf } from '../domain/natural-key.ts';
import type { MappedRecord, StageSummary } from '../domain/ports/ledger.ts';
import { formatPlace, type Place } from '../domain/record.ts';
import { type LedgerContext, parseJson } from './context.ts';
import type { ItemRow, Items } from './items.ts';

type ItemName = Pick<MappedItem, 'kind' | 'key'>;
type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'>;

/** From mapped records to desired payloads. For use inside a transaction. */
export interface Staging {
  stage(records: readonly MappedRecord[]): StageSummary;
  /** Stages one record whatever its state; with `again`, stuck deliveries are asked anew. Gives its state afterwards. */
  apply(recordId: number, result: MappedRecord['result'], options: { again: boolean; tally: Tally }): RecordState;
}

type RecordState = 'mapped' | 'excluded' | 'quarantined';

export function createStaging({ db, profile }: LedgerContext, items: Items): Staging {
  const sql = {
    record: db.prepare<[number], { version: number; state: string; runId: number | null; streamId: number }>(
      'SELECT version, state, run_id AS runId, stream_id AS streamId FROM records WHERE id = ?',
    ),
    setState: db.prepare<[string, string | null, number]>(
      'UPDATE records SET state = ?, issues = ?, run_id = NULL WHERE id = ?',
    ),
    place: db.prepare<[number], { place: string; missing: number }>(
      'SELECT place, missing_since IS NOT NULL AS missing FROM records WHERE id = ?',
    ),
    count: {
      mapped: db.prepare<[number, number]>(
        'UPDATE run_streams SET changed = changed + 1 WHERE run_id = ? AND stream_id = ?',
      ),
      excluded: db.prepare<[number, number]>(
        'UPDATE run_streams SET excluded = excluded + 1 WHERE run_id = ? AND stream_id = ?',
      ),
      quarantined: db.prepare<[number, number]>(
        'UPDATE run_streams SET quarantined = quarantined + 1 WHERE run_id = ? AND stream_id = ?',
      ),
    },
    addClaim: db.prepare<[string, string, number]>(
      'INSERT OR IGNORE INTO claims (kind, key, record_id) VALUES (?, ?, ?)',
    ),
    dropClaims: db.prepare<[number]>('DELETE FROM claims WHERE record_id = ?'),
    addHold: db.prepare<[number, string | null]>('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
    dropHolds: db.prepare<[number]>('DELETE FROM holds WHERE record_id = ?'),
    // Whoever else makes the item is mapped anew: its claim may hold now, or no longer agree.
    wakeClaimants: db.prepare<[string, string, number]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE id IN (SELECT record_id FROM claims WHERE kind = ? AND key = ?) AND id <> ?
         AND state IN ('mapped', 'quarantined')`,
    ),
  };

  /** The record that keeps this one from making the item, or null when nothing does. */
  function rival(item: MappedItem, recordId: number): { owner: ItemRow; place: Place } | null {
    const known = items.find(item.kind, item.key);
    if (!known || known.recordId === null || known.recordId === recordId) return null;
    const owner = sql.place.get(known.recordId);
    if (!owner || owner.missing === 1) return null;
    return { owner: known, place: parseJson<Place>(owner.place) };
  }

  function conflicts(
    mapped: readonly MappedItem[],
    recordId: number,
  ): { issues: Issue[]; rivals: ItemName[]; own: MappedItem[] } {
    const issues: Issue[] = [];
    const rivals: ItemName[] = [];
    const own: MappedItem[] = [];
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
      const other = rival(item, recordId);
      if (other) rivals.push(item);
      if (other && other.owner.desiredHash !== itemHash(item)) {
        issues.push({
          code: 'claim.conflict',
          field: 'key',
          value: item.key,
          message: `The ${name} is already made, with other content, by the row at ${formatPlace(other.place)}.`,
          cure: 'Keep one of the two rows, or give them different keys.',
          other: other.place,
        });
      } else if (!other) {
        own.push(item);
        const taken = naturalKeyTaken(item);
        if (!taken) continue;
        rivals.push({ kind: item.kind, key: taken.by });
        issues.push(taken.issue);
      }
    }
    return { issues, rivals, own };
  }

  /** The other item that has this one's natural key, by key, and what to say of it. */
  function naturalKeyTaken(item: MappedItem): { by: string; issue: Issue } | null {
    const natural = naturalKeyOf(profile, item.kind, item.payload);
    if (natural === null) return null;
    const other = items
      .withNaturalKey(item.kind, natural.value)
      .map((one) => ({ key: one.key, owner: one.recordId === null ? undefined : sql.place.get(one.recordId) }))
      .find(({ key, owner }) => key !== item.key && owner?.missing === 0);
    if (!other) return null;
    const place = parseJson<Place>(other.owner?.place ?? '{}');
    const issue: Issue = {
      code: 'natural_key.taken',
      field: natural.field,
      value: natural.value,
      message: `The API knows a ${item.kind} by its ${natural.field}, and ${JSON.stringify(natural.value)} belongs to the ${item.kind} with the key ${JSON.stringify(other.key)} (${formatPlace(place)}) already.`,
      cure: `Give each ${item.kind} a ${natural.field} of its own.`,
      other: place,
    };
    return { by: other.key, issue };
  }

  function release(item: ItemRow, recordId: number): void {
    items.disown(item);
    sql.wakeClaimants.run(item.kind, item.key, recordId);
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
    recordId: number,
    result: MappedRecord['result'],
    { again, tally }: { again: boolean; tally: Tally },
  ): RecordState {
    sql.dropHolds.run(recordId);
    if (result.status === 'quarantined') {
      sql.dropClaims.run(recordId);
      return quarantine(recordId, result.issues, result.holds);
    }
    const mapped = result.status === 'mapped' ? result.items : [];
    const { issues, rivals, own } = conflicts(mapped, recordId);
    sql.dropClaims.run(recordId);
    for (const { kind, key } of rivals) sql.addClaim.run(kind, key, recordId);
    if (issues.length > 0) return quarantine(recordId, issues, productsOf(mapped));
    const kept = new Set(own.map((item) => `${item.kind}/${item.key}`));
    for (const before of items.ownedBy(recordId)) {
      if (!kept.has(`${before.kind}/${before.key}`)) release(before, recordId);
    }
    for (const item of own) {
      const before = items.find(item.kind, item.key);
      const staged = items.desire(item, recordId, again);
      if (staged) tally[staged] += 1;
      if (before && before.desiredHash !== itemHash(item)) sql.wakeClaimants.run(item.kind, item.key, recordId);
    }
    const state = result.status === 'mapped' ? 'mapped' : 'excluded';
    sql.setState.run(state, null, recordId);
    return state;
  }

  return {
    apply,
    stage(records) {
      const summary: StageSummary = { mapped: 0, excluded: 0, quarantined: 0, due: 0, waiting: 0, blocked: 0 };
      for (const { id, version, result } of records) {
        const row = sql.record.get(id);
        // A late job of an old run cannot win: only the version that was mapped is staged.
        if (!row || row.version !== version || row.state !== 'pending') continue;
        const state = apply(id, result, { again: false, tally: summary });
        summary[state] += 1;
        if (row.runId !== null) sql.count[state].run(row.runId, row.streamId);
      }
      return summary;
    },
  };
}
