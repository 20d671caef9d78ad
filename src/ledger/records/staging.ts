// Stages the items of mapped records. A batch of records is decided at once (`batch.ts`), and stored with few statements.

import type { Issue, Place } from '../../domain/issue.ts';
import type { MappedRecord, StageSummary } from '../../domain/ports/intake.ts';
import { addCreate, type CreateCounts, countCreates } from '../contact/contact.ts';
import { desireItems } from '../items/desire.ts';
import { noteKeptKeys } from '../items/item-writes.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { disownItems } from '../items/revisions.ts';
import { insertMany, parseJson, statement, type Tx } from '../store/tx.ts';
import { type Decision, openBatch, type RecordToStage, type StagedState } from './batch.ts';
import { currentUses, storeUses } from './lookups.ts';
import { type CountedRow, countRows, createCounts, uncountQuarantined } from './streams.ts';

/** The counts of staged deliveries, and the staged creates for first contact. */
export type Tally = Pick<StageSummary, 'due' | 'waiting' | 'blocked'> & { creates: CreateCounts };

interface StageOptions<R extends RecordToStage> {
  /** True if stuck deliveries are sent again too. */
  again?: boolean;
  /** True if items take the natural keys of the source: see `withKeptNaturalKey`. */
  renames?: boolean;
  tally: Tally;
  /** Stores the records of a batch with their states. The state is null for a record that waits to be mapped. */
  store: (staged: readonly { record: R; to: StagedState | null }[]) => void;
}

interface RecordRow {
  id: number;
  version: number;
  state: string;
  source: string;
  stream: string;
  hasNoKey: 0 | 1;
  place: string;
  /** The run that counts the record; null if it was counted already. */
  runId: number | null;
  streamId: number;
  /**
   * Since when the record's items are missing. If a record is missing before it was mapped, its items are missing from
   * the beginning.
   */
  missingSince: number | null;
}

/** A record that is mapped again or for the first time. */
interface StoredRecordToStage extends RecordToStage {
  version: number;
  state: string;
  runId: number | null;
  streamId: number;
}

const SQL = {
  records: statement<[string], RecordRow>(
    `SELECT r.id, r.version, r.state, s.source, s.name AS stream, coalesce(s.identity ->> 'by' = 'mappings', FALSE) AS hasNoKey, r.place,
       r.run_id AS runId, r.stream_id AS streamId, CASE WHEN s.flags_missing = 1 THEN r.missing_since END AS missingSince
     FROM json_each(?) k CROSS JOIN records r ON r.id = k.value JOIN streams s ON s.id = r.stream_id`,
  ),
  // A record that stays in quarantine keeps the time at which it was quarantined.
  setStates: statement<[{ states: string; now: number }]>(
    `UPDATE records SET state = v.value ->> 1, issues = v.value ->> 2, partial = CAST(v.value ->> 3 AS INTEGER), run_id = NULL,
       quarantined_at = iif(v.value ->> 1 = 'quarantined', coalesce(quarantined_at, @now), NULL)
     FROM json_each(@states) v WHERE records.id = CAST(v.value ->> 0 AS INTEGER)`,
  ),
  dropContenders: statement<[string]>('DELETE FROM contenders WHERE record_id IN (SELECT value FROM json_each(?))'),
  addContenders: statement<[string]>(
    `INSERT INTO contenders (kind, key, record_id)
     SELECT value ->> 0, value ->> 1, CAST(value ->> 2 AS INTEGER) FROM json_each(?) WHERE TRUE ON CONFLICT DO NOTHING`,
  ),
  dropBlockedProducts: statement<[string]>('DELETE FROM holds WHERE record_id IN (SELECT value FROM json_each(?))'),
  dropBlockedMaterials: statement<[string]>(
    'DELETE FROM held_materials WHERE record_id IN (SELECT value FROM json_each(?))',
  ),
  // Other records that make these items are mapped again, because they may now make them or conflict with them. A row that the present
  // run has put into quarantine, before it read the row of the item, is counted in this run by the new result.
  requeueContenders: statement<[string], CountedRow>(
    `UPDATE records SET state = 'pending', version = version + 1,
       run_id = CASE WHEN state = 'quarantined' THEN
         (SELECT max(a.run_id) FROM run_streams a JOIN runs u ON u.id = a.run_id
          WHERE a.stream_id = records.stream_id AND u.ended_at IS NULL AND u.started_at <= quarantined_at) END
     WHERE id IN (SELECT c.record_id FROM json_each(?) n CROSS JOIN contenders c ON c.kind = n.value ->> 0 AND c.key = n.value ->> 1
         WHERE c.record_id <> CAST(n.value ->> 2 AS INTEGER))
       AND state IN ('mapped', 'quarantined')
     RETURNING stream_id AS streamId, run_id AS runId`,
  ),
};

const insertBlockedProducts = insertMany({ into: 'holds', columns: ['record_id', 'product_key'] });
const insertBlockedMaterials = insertMany({ into: 'held_materials', columns: ['record_id', 'material_key'] });

/** Stages records in any state, in their order. */
export function stageAll<R extends RecordToStage>(tx: Tx, records: readonly R[], options: StageOptions<R>): void {
  let at = 0;
  let size = records.length;
  while (at < records.length) {
    const given = records.slice(at, at + size);
    const batch = openBatch(tx, given, { renames: options.renames === true });
    const stop = given.findIndex((record) => !batch.take(record));
    storeBatch(tx, batch.decided, options);
    at += stop < 0 ? given.length : stop;
    // What was read for the records behind the end of the batch is read again, so the next batch reads for few.
    size = 2 * Math.max(4, stop < 0 ? given.length : stop);
  }
}

export function stageRecords(tx: Tx, mapped: readonly MappedRecord[]): StageSummary {
  const states = { mapped: 0, excluded: 0, quarantined: 0 };
  const counts = createCounts();
  const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
  stageAll(tx, findRecordsToStage(tx, mapped, ['pending']), {
    tally,
    store(staged) {
      storeStates(tx, staged);
      for (const { record, to } of staged) {
        if (to === null) continue;
        states[to.state] += 1;
        counts.add(record, to.state);
      }
    },
  });
  countRows(tx, counts.all());
  countCreates(tx, tally.creates);
  const { due, waiting, blocked } = tally;
  return { ...states, due, waiting, blocked };
}

/**
 * The stored records of mapping results, in the order of the results. A result is used only if its record has not changed since it
 * was mapped, so a late job with an older result changes nothing. Nor is it used if a lookup entry has changed since: the record
 * waits for another mapping.
 */
export function findRecordsToStage(
  tx: Tx,
  mapped: readonly MappedRecord[],
  states: readonly string[] | null,
): StoredRecordToStage[] {
  const found = SQL.records(tx).all(JSON.stringify(mapped.map(({ id }) => id)));
  const rows = new Map(found.map((row) => [row.id, row]));
  const areCurrent = currentUses(
    tx,
    mapped.map(({ result }) => result.uses),
  );
  return mapped.flatMap(({ id, version, result }) => {
    const row = rows.get(id);
    if (row === undefined || row.version !== version || states?.includes(row.state) === false) return [];
    if (!areCurrent(result.uses)) return [];
    rows.delete(id);
    // Every change that makes a record wait for the mapping again raises its version.
    return [{ ...row, hasNoKey: row.hasNoKey === 1, place: parseJson<Place>(row.place), isNew: version === 1, result }];
  });
}

/** Stores the new states of records that are stored already. */
export function storeStates(tx: Tx, staged: readonly { record: RecordToStage; to: StagedState | null }[]): void {
  const states = staged.flatMap(({ record, to }) =>
    to === null ? [] : [[record.id, to.state, issuesText(to.issues), to.partial ? 1 : 0]],
  );
  if (states.length > 0) SQL.setStates(tx).run({ states: JSON.stringify(states), now: tx.clock.now() });
}

/** The stored text of issues. */
export function issuesText(issues: readonly Issue[]): string | null {
  return issues.length > 0 ? JSON.stringify(issues) : null;
}

/** Stores what a batch has decided. */
function storeBatch<R extends RecordToStage>(
  tx: Tx,
  decided: readonly Decision<R>[],
  { again = false, tally, store }: StageOptions<R>,
): void {
  store(decided.map(({ record, to }) => ({ record, to })));
  const staged = decided.filter(({ to }) => to !== null);
  const former = JSON.stringify(staged.flatMap(({ record }) => (record.isNew ? [] : [record.id])));
  if (former !== '[]') {
    SQL.dropBlockedProducts(tx).run(former);
    SQL.dropBlockedMaterials(tx).run(former);
    SQL.dropContenders(tx).run(former);
  }
  storeUses(
    tx,
    staged.map(({ record: { id, isNew, result } }) => ({ id, isNew, uses: result?.uses })),
  );
  const contested = staged.flatMap(({ record, contested: names }) =>
    names.map(({ kind, key }) => [kind, key, record.id]),
  );
  if (contested.length > 0) SQL.addContenders(tx).run(JSON.stringify(contested));
  insertBlockedProducts(
    tx,
    staged.flatMap(({ record, holds }) => holds.products.map((product) => [record.id, product])),
  );
  insertBlockedMaterials(
    tx,
    staged.flatMap(({ record, holds }) => holds.materials.map((material) => [record.id, material])),
  );
  noteKeptKeys(
    tx,
    staged.flatMap(({ keptKeys }) => keptKeys),
  );
  disownItems(
    tx,
    staged.flatMap(({ released }) => released),
  );
  reconcileAll(
    tx,
    staged.flatMap(({ kept }) => kept.map(({ id }) => id)),
  );
  desireAll(tx, staged, { again, tally });
  const altered = staged.flatMap(({ record, released, desires }) => {
    const changes = desires.flatMap(({ known, content }) => (known && known.desiredHash !== content.hash ? known : []));
    return [...released, ...changes].map(({ kind, key }) => [kind, key, record.id]);
  });
  if (altered.length > 0) uncountQuarantined(tx, SQL.requeueContenders(tx).all(JSON.stringify(altered)));
}

function desireAll<R extends RecordToStage>(
  tx: Tx,
  staged: readonly Decision<R>[],
  { again, tally }: { again: boolean; tally: Tally },
): void {
  const desires = staged.flatMap((decision) => decision.desires);
  for (const [at, state] of desireItems(tx, desires, again).entries()) {
    const desire = desires[at];
    if (state === null || desire === undefined) continue;
    tally[state] += 1;
    const { item, known, owner } = desire;
    const isCreate = state === 'due' && (known === undefined || known.acknowledged === 0);
    if (isCreate && item.kind !== 'bom_item') addCreate(tally.creates, owner.source, item.kind);
  }
}
