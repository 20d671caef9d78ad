// Stores a page of rows, and stages the items of the rows that were mapped.

import { fault } from '../../domain/faults.ts';
import type { MapResult } from '../../domain/mapping.ts';
import type { PageToStage, StageSummary } from '../../domain/ports/intake.ts';
import type { IncomingRecord } from '../../domain/record.ts';
import { countCreates } from '../contact/contact.ts';
import { setItemsMissing } from '../items/item-writes.ts';
import { column, insertMany, nextId, statement, type Tx, updateMany } from '../store/tx.ts';
import type { RecordToStage, StagedState } from './batch.ts';
import { concludeGone } from './gone-records.ts';
import { findKnownRecord, type IdentifiedRecord, identifyRows, isUnchanged, type KnownRecord } from './look-up-page.ts';
import { currentUses, isLookedUp, storeLookupEntries, usersAmong, waitsForOwnStream } from './lookups.ts';
import { issuesText, stageAll, storeStates, type Tally } from './staging.ts';
import { countReplacedRows, countRows, hasNoKey, streamNamed } from './streams.ts';

/** The result of storing a page. `ids` are the page's records, which are added to `seen` after the commit. */
interface StoredPage {
  changed: number;
  ids: ReadonlySet<number>;
  summary?: StageSummary;
}

/** A row of a page, with the record that it belongs to. */
interface PageRow extends RecordToStage {
  row: IncomingRecord;
  key: string;
  /** Undefined for a new record. */
  known: KnownRecord | undefined;
  isUnchanged: boolean;
}

/** What is decided about the record of a row. The state is null if the record waits to be mapped, or is unchanged. */
interface StagedRow {
  record: PageRow;
  to: StagedState | null;
}

/** The stream and run to which records belong, and the state of records that wait to be mapped. */
interface RecordsTo {
  streamId: number;
  runId: number;
  waiting: 'pending' | 'stale';
}

const SQL = {
  isRunning: column<[number], number>('SELECT 1 FROM runs WHERE id = ? AND ended_at IS NULL'),
  hasRows: statement<[number]>('UPDATE streams SET emptied = NULL WHERE id = ?'),
  setCursor: statement<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
  movePlaces: statement<[string]>(
    `UPDATE records SET place = m.value ->> 1 FROM json_each(?) m WHERE records.id = CAST(m.value ->> 0 AS INTEGER)
     AND records.state IN ('quarantined', 'pending') AND records.place <> m.value ->> 1`,
  ),
};

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
    'run_id',
    'issues',
    'partial',
    'quarantined_at',
  ],
});

// A record that waits keeps what is known of its last mapping. A record that stays in quarantine keeps the time.
const changeRecords = updateMany({
  table: 'records',
  values: {
    hash: 'TEXT',
    raw: 'TEXT',
    place: 'TEXT',
    state: 'TEXT',
    source_issues: 'TEXT',
    run_id: 'INTEGER',
    issues: 'TEXT',
    partial: 'INTEGER',
    quarantined_at: 'INTEGER',
  },
  set: `hash = v.hash, raw = v.raw, place = v.place, version = version + 1, state = v.state, source_issues = v.source_issues,
    run_id = v.run_id, missing_since = NULL, issues = CASE WHEN v.run_id IS NULL THEN v.issues ELSE records.issues END,
    partial = CASE WHEN v.run_id IS NULL THEN v.partial ELSE records.partial END,
    quarantined_at = CASE WHEN v.run_id IS NOT NULL THEN records.quarantined_at
      WHEN v.quarantined_at IS NOT NULL THEN coalesce(records.quarantined_at, v.quarantined_at) END`,
});

/** Stores a page and stages the results of its mapping. Does not change `seen`. */
export function stagePage(tx: Tx, page: PageToStage): StoredPage {
  const { runId, source, records, seen, deferMapping, cursor, mapped, uncounted = 0 } = page;
  const stream = streamNamed(tx, source, page.stream);
  if (SQL.isRunning(tx).get(runId) === undefined) throw lateFault(page);
  // If the mapping has changed since the page was mapped, its rows wait to be mapped again.
  const isCurrent = mapped?.mappingRevision === stream.revision && !deferMapping;
  const results = isCurrent ? mapped.results : NO_RESULTS;
  const to: RecordsTo = { streamId: stream.id, runId, waiting: deferMapping ? 'stale' : 'pending' };
  concludeGone(tx, stream.id, page);
  const identified = identifyRows(tx, records, stream.id, seen);
  const origin = { source, stream: page.stream, hasNoKey: hasNoKey(stream) };
  const rows = pageRows(tx, records, identified, origin);
  const changed = rows.filter((row) => !row.isUnchanged).length;

  const tally: Tally = { due: 0, waiting: 0, blocked: 0, creates: new Map() };
  const states = { mapped: 0, excluded: 0, quarantined: 0 };
  const count = (staged: readonly StagedRow[]) => {
    for (const { to: next } of staged) if (next !== null) states[next.state] += 1;
  };
  const store = (staged: readonly StagedRow[]) => {
    storeRows(tx, staged, to);
    count(staged);
  };
  const looksUpItself = isLookedUp(tx, stream.id);
  const areCurrent = currentUses(tx, looksUpItself ? [] : [...results.values()].map(({ uses }) => uses));
  const users = usersAmong(tx, looksUpItself ? rows.flatMap(({ known }) => known?.id ?? []) : []);

  let gathered: PageRow[] = [];
  const stageGathered = () => {
    if (gathered.some((row) => !row.isUnchanged)) stageAll(tx, gathered, { tally, store });
    else
      storeRows(
        tx,
        gathered.map((record) => ({ record, to: null })),
        to,
      );
    gathered = [];
  };
  for (const [at, row] of rows.entries()) {
    const result = row.isUnchanged ? undefined : results.get(at);
    // The rows before it may change what it has looked up.
    const needsOrder = looksUpItself && (result?.uses !== undefined || users.has(row.id));
    if (!needsOrder) {
      row.result = result !== undefined && areCurrent(result.uses) ? result : null;
      gathered.push(row);
      continue;
    }
    stageGathered();
    const waits = waitsForOwnStream(tx, stream.id, result?.uses);
    storeRows(tx, [{ record: seenAgain(tx, row, stream.id), to: null }], waits ? { ...to, waiting: 'stale' } : to);
    // If a lookup entry has changed since the mapping used it, the record waits for another mapping.
    if (result === undefined || waits || !currentUses(tx, [result.uses])(result.uses)) continue;
    stageAll(tx, [{ ...row, result }], {
      tally,
      store(staged) {
        storeStates(tx, staged);
        count(staged);
      },
    });
  }
  stageGathered();

  countCreates(tx, tally.creates);
  const read = records.length + uncounted;
  if (changed > 0 && stream.emptied !== null) SQL.hasRows(tx).run(stream.id);
  countRows(tx, [{ runId, streamId: stream.id, read, unchanged: read - changed, ...states }]);
  // I1: the cursor moves only with its page.
  if (cursor !== undefined) SQL.setCursor(tx).run(JSON.stringify(cursor), stream.id);
  const ids = new Set(rows.map(({ id }) => id));
  if (mapped === undefined) return { changed, ids };
  const { due, waiting, blocked } = tally;
  return { changed, ids, summary: { ...states, due, waiting, blocked } };
}

const NO_RESULTS: ReadonlyMap<number, MapResult> = new Map();

/** The rows of a page, in their order. A new record gets its id here. */
function pageRows(
  tx: Tx,
  records: readonly IncomingRecord[],
  identified: readonly IdentifiedRecord[],
  origin: Pick<PageRow, 'source' | 'stream' | 'hasNoKey'>,
): PageRow[] {
  let free = nextId(tx, 'records');
  return records.map((row, at) => {
    const { key = row.identity, known } = identified[at] ?? {};
    const isSame = known !== undefined && isUnchanged(known, row);
    return {
      ...origin,
      id: known?.id ?? free++,
      key,
      row,
      known,
      place: row.place,
      isNew: known === undefined,
      isBack: known?.missing === 1,
      isUnchanged: isSame,
      keepsPlace: isSame && (known.state === 'mapped' || known.state === 'excluded'),
      missingSince: null,
      result: null,
    };
  });
}

/** The row with what is stored of its record now: rows before it may have made the record wait for another mapping. */
function seenAgain(tx: Tx, row: PageRow, streamId: number): PageRow {
  return row.known === undefined ? row : { ...row, known: findKnownRecord(tx, streamId, row.key) };
}

/** Stores the rows of a page with their new states: the new and the changed ones, and the new places of the others. */
function storeRows(tx: Tx, staged: readonly StagedRow[], to: RecordsTo): void {
  const changed = staged.filter(({ record }) => !record.isUnchanged);
  movePlaces(
    tx,
    staged.flatMap(({ record }) => (record.isUnchanged ? record : [])),
  );
  if (changed.length === 0) return;
  const back = changed.flatMap(({ record }) => (record.isBack === true ? record.id : []));
  setItemsMissing(tx, back, null);
  countReplaced(tx, changed, to.streamId);
  const now = tx.clock.now();
  const rows = changed.map(({ record: { id, key, row, isNew }, to: next }) => {
    const { hash, raw, place, issues } = row;
    const state = next?.state ?? to.waiting;
    // Only a waiting record keeps its run. All others are counted at once.
    const run = next === null ? to.runId : null;
    const partial = next?.partial === true ? 1 : 0;
    const since = state === 'quarantined' ? now : null;
    const content = [hash, raw, JSON.stringify(place)];
    const standing = [state, issuesText(issues), run, issuesText(next?.issues ?? []), partial, since];
    return {
      isNew,
      values: isNew ? [id, to.streamId, key, ...content, 1, ...standing] : [id, ...content, ...standing],
    };
  });
  const valuesOf = (areNew: boolean) => rows.flatMap(({ isNew, values }) => (isNew === areNew ? [values] : []));
  insertRecords(tx, valuesOf(true));
  changeRecords(tx, valuesOf(false));
  storeLookupEntries(
    tx,
    to.streamId,
    changed.map(({ record: { id, row, isNew } }) => ({ id, raw: row.raw, issues: row.issues, isNew })),
  );
}

/** Counts waiting rows as changed, because later rows have replaced them. */
function countReplaced(tx: Tx, changed: readonly StagedRow[], streamId: number): void {
  countReplacedRows(
    tx,
    changed.flatMap(({ record: { known } }) =>
      known?.state === 'pending' || known?.state === 'stale' ? { runId: known.runId, streamId } : [],
    ),
  );
}

/**
 * Stores the new places of unchanged rows. Only records in quarantine or waiting for the mapping keep an exact place,
 * because only their places are shown.
 */
function movePlaces(tx: Tx, rows: readonly PageRow[]): void {
  if (rows.length === 0) return;
  SQL.movePlaces(tx).run(JSON.stringify(rows.map(({ id, place }) => [id, JSON.stringify(place)])));
}

function lateFault({ runId, source, stream }: PageToStage): Error {
  return fault('interrupted', `Run ${runId} of ${source} has ended, so this page of ${stream} is not stored.`, {
    suggestion: 'Nothing is lost: the next run reads the page again.',
  });
}
