// What was read from sources: the last runs, records in quarantine, records that make the same items, and reads that the
// guard holds.

import { adviceOnIssue, withCure } from '../../domain/advice.ts';
import type { WaitingRun } from '../../domain/approval.ts';
import type { ForeignCode, Issue, Place } from '../../domain/issue.ts';
import { ITEM_KINDS } from '../../domain/item.ts';
import type { GuardedRead, RefusedRead } from '../../domain/ports/guarded-intake.ts';
import type { RowInQuarantine } from '../../domain/ports/ledger/dashboard-views.ts';
import type { Duplicates } from '../../domain/ports/ledger/ledger-standing.ts';
import type {
  LedgerViews,
  QuarantinedRecord,
  RunView,
  StoredRecord,
  StreamAccount,
} from '../../domain/ports/ledger/ledger-views.ts';
import { identitiesOf } from '../../domain/record.ts';
import type { JsonObject } from '../../lib/json.ts';
import { causeOfRecords, FIRST_CODE, FIRST_FIELD, IS_QUARANTINED } from '../items/stuck-groups.ts';
import { guardedReadOf, OPEN_GUARDED_READS, type OpenGuardedRead } from '../records/guarded-reads.ts';
import { readDaemonNote } from '../store/meta.ts';
import { column, parseJson, parseJsonOrNull, statement } from '../store/tx.ts';
import { type Db, type Listed, listed, ofSources } from './view-reads.ts';

export type StoredRun = Omit<RunView, 'streams'>;

/** The columns of a run `r`. */
export const RUN_COLUMNS = `r.id, r.source, r.cause AS "trigger", r.started_at AS startedAt, r.ended_at AS endedAt,
  r.result, r.error, r.asked_by AS askedBy`;
const RUNS = {
  last: statement<[{ source: string | null; limit: number }], StoredRun>(
    `SELECT ${RUN_COLUMNS} FROM runs r WHERE r.cause <> 'upload' AND (@source IS NULL OR r.source = @source)
     ORDER BY r.id DESC LIMIT @limit`,
  ),
  some: statement<[string], StoredRun>(
    `SELECT ${RUN_COLUMNS} FROM json_each(?) e CROSS JOIN runs r ON r.id = e.value ORDER BY e.key`,
  ),
  lastEnded: statement<[string], StoredRun>(
    `SELECT ${RUN_COLUMNS} FROM runs r WHERE r.cause <> 'upload' AND r.source = ? AND r.ended_at IS NOT NULL
     ORDER BY r.id DESC LIMIT 1`,
  ),
  completeAt: column<[string], number | null>(
    `SELECT ended_at FROM runs WHERE source = ? AND result = 'complete' AND cause <> 'upload' ORDER BY id DESC LIMIT 1`,
  ),
};

/** Runs that read a source, the newest first. Uploads of corrected rows are not among them. */
export function lastRuns(reads: Db, { source = null, limit }: { source?: string | null; limit: number }): RunView[] {
  return withStreams(reads, RUNS.last(reads).all({ source, limit }));
}

/** The last run of a source that has ended; null if there is none. */
export function lastEndedRun(reads: Db, source: string): RunView | null {
  return withStreams(reads, RUNS.lastEnded(reads).all(source))[0] ?? null;
}

/** The runs with these ids, in their order. */
export function runsOf(reads: Db, ids: readonly number[]): RunView[] {
  return withStreams(reads, RUNS.some(reads).all(JSON.stringify(ids)));
}

/** When the last complete run of a source ended; null if there was none. */
export function completeAt(reads: Db, source: string): number | null {
  return RUNS.completeAt(reads).get(source) ?? null;
}

interface AccountRow extends Omit<StreamAccount, 'warnings'> {
  runId: number;
  warnings: string | null;
}

function accountOf({ warnings, ...row }: AccountRow): StreamAccount {
  const { source, stream, read, unchanged, changed, quarantined, excluded, missing, guarded, missedByChanges } = row;
  const counts = { read, unchanged, changed, quarantined, excluded, missing };
  return { source, stream, ...counts, guarded, missedByChanges, warnings: parseJsonOrNull<string[]>(warnings) ?? [] };
}

const ACCOUNTS = statement<[string], AccountRow>(
  `SELECT a.run_id AS runId, s.source, s.name AS stream, a.read, a.unchanged, a.changed, a.quarantined, a.excluded, a.missing,
     a.guarded, a.missed_by_changes AS missedByChanges, a.warnings
   FROM json_each(?) e CROSS JOIN run_streams a ON a.run_id = e.value JOIN streams s ON s.id = a.stream_id
   ORDER BY a.run_id, s.id`,
);

/** Adds to runs the accounts of their streams. */
export function withStreams<Run extends { id: number }>(
  reads: Db,
  runs: readonly Run[],
): (Run & { streams: StreamAccount[] })[] {
  const rows = ACCOUNTS(reads).all(JSON.stringify(runs.map(({ id }) => id)));
  const accounts = Map.groupBy(rows, ({ runId }) => runId);
  return runs.map((run) => ({ ...run, streams: (accounts.get(run.id) ?? []).map(accountOf) }));
}

const GUARDED = statement<[Listed], OpenGuardedRead>(OPEN_GUARDED_READS);

/** Streams whose last complete read the guard took for broken, and that no person has accepted. */
export function guardedReads(reads: Db, sources?: readonly string[]): GuardedRead[] {
  return GUARDED(reads).all(listed(sources)).map(guardedReadOf);
}

const REFUSED = statement<[string], RefusedRead>(
  `SELECT s.source, s.name AS stream, f.runId, f.at, f.by FROM streams s
   JOIN (SELECT stream_id, run_id AS runId, refused_at AS at, refused_by AS by FROM guarded_reads WHERE refused_at IS NOT NULL
     UNION SELECT stream_id, run_id, refused_at, refused_by FROM guarded_items WHERE refused_at IS NOT NULL
     UNION SELECT stream_id, run_id, refused_at, refused_by FROM older_exports WHERE refused_at IS NOT NULL) f ON f.stream_id = s.id
   WHERE s.source = ? ORDER BY f.runId DESC, s.id`,
);

export function refusedReads(reads: Db, source: string): RefusedRead[] {
  return REFUSED(reads).all(source);
}

/** The runs of these sources that exceed their bounds and about which no person has decided. */
export function heldRuns(reads: Db, sources: readonly string[]): WaitingRun[] {
  return Object.values(readDaemonNote(reads, 'held') ?? {}).flatMap(({ decision, ...run }) =>
    decision === null && sources.includes(run.source) ? [run] : [],
  );
}

/** A record in quarantine as it is stored. */
export interface QuarantineRow {
  id: number;
  source: string;
  stream: string;
  key: string;
  place: string;
  raw: string;
  issues: string | null;
}

const ROWS = {
  count: column<[Listed], number>(
    `SELECT count(*) FROM records r WHERE r.state = 'quarantined' AND r.missing_since IS NULL
       AND (@sources = '[]' OR r.stream_id IN (SELECT s.id FROM streams s WHERE ${ofSources('s')}))`,
  ),
  quarantined: statement<[{ source: string | null; afterId: number; limit: number }], QuarantineRow>(
    `SELECT r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source) AND r.id > @afterId
     ORDER BY r.id LIMIT @limit`,
  ),
};

export function quarantinedCount(reads: Db, sources?: readonly string[]): number {
  return ROWS.count(reads).get(listed(sources)) ?? 0;
}

/** The records in quarantine after one of them, in their order. */
export function quarantined(
  reads: Db,
  { source = null, afterId, limit }: { source?: string | null; afterId: number; limit: number },
): QuarantinedRecord[] {
  return ROWS.quarantined(reads).all({ source, afterId, limit }).map(quarantinedRecord);
}

export function quarantinedRecord({ id, ...row }: QuarantineRow): QuarantinedRecord {
  const record = recordOf(row);
  return { id, ...record, issues: record.issues.map(withCure) };
}

interface DuplicateRow extends Omit<Duplicates['examples'][number], 'place' | 'first'> {
  place: string;
  firstPlace: string | null;
}

const MAKES_THE_SAME = `FROM contenders c CROSS JOIN records r ON r.id = c.record_id CROSS JOIN streams s ON s.id = r.stream_id
  CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
  WHERE r.state = 'mapped' AND r.missing_since IS NULL AND i.record_id IS NOT NULL AND i.record_id <> r.id AND ${ofSources('s')}`;
const OWNS_NOTHING = 'NOT EXISTS (SELECT 1 FROM items o WHERE o.record_id = r.id)';
const DUPLICATES = {
  counts: statement<[Listed], Pick<Duplicates, 'count' | 'whole'>>(
    `SELECT count(*) AS count, coalesce(sum(whole), 0) AS whole
     FROM (SELECT ${OWNS_NOTHING} AS whole ${MAKES_THE_SAME} GROUP BY r.id) AS found`,
  ),
  // Each row is shown with its product, or with its BOM item if it makes no product.
  examples: statement<[Listed & { limit: number }], DuplicateRow>(
    `SELECT d.kind, d.key, d.source, d.stream, d.place, (SELECT f.place FROM records f WHERE f.id = d.first) AS firstPlace FROM (
       SELECT r.id, c.kind, c.key, s.source, s.name AS stream, r.place, i.record_id AS first, row_number() OVER (
         PARTITION BY r.id ORDER BY CASE c.kind WHEN 'product' THEN 0 WHEN 'bom_item' THEN 1 ELSE 2 END, c.key) AS number
       ${MAKES_THE_SAME} AND ${OWNS_NOTHING}) d
     WHERE d.number = 1 ORDER BY d.id LIMIT @limit`,
  ),
};

/**
 * Finds rows that make the same item as another row, with the same content. A row that makes the item with other
 * content is in quarantine, and is counted there.
 */
export function duplicates(reads: Db, limit: number, sources?: readonly string[]): Duplicates {
  const counts = DUPLICATES.counts(reads).get(listed(sources)) ?? { count: 0, whole: 0 };
  const rows = DUPLICATES.examples(reads).all({ ...listed(sources), limit });
  const examples = rows.map(({ place, firstPlace, ...row }) => ({
    ...row,
    place: parseJson<Place>(place),
    first: parseJson<Place>(firstPlace ?? '{}'),
  }));
  return { ...counts, examples };
}

interface StoredRow extends QuarantineRow {
  code: string | null;
  field: string | null;
  product: string | null;
}

/** A search shows this many rows at most. The page of a cause lists all its rows. */
const FOUND_MAX = 5;

const ROW = `r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues, ${FIRST_CODE} AS code,
  ${FIRST_FIELD} AS field, (SELECT min(h.product_key) FROM holds h WHERE h.record_id = r.id) AS product`;
const FOUND_ROWS = {
  byId: statement<[string], StoredRow>(
    `SELECT ${ROW} FROM json_each(?) e CROSS JOIN records r ON r.id = e.value JOIN streams s ON s.id = r.stream_id
     WHERE ${IS_QUARANTINED} ORDER BY e.key`,
  ),
  // No index finds a part of a key, so this statement reads the keys of all rows in quarantine and of all products that wait for
  // such a row. The index contains the keys of the rows, and the subquery runs once.
  search: statement<[{ part: string; source: string | null; limit: number }], StoredRow>(
    `SELECT ${ROW} FROM streams s CROSS JOIN records r INDEXED BY records_quarantined ON r.stream_id = s.id
     WHERE ${IS_QUARANTINED} AND (@source IS NULL OR s.source = @source)
       AND (instr(lower(r.key), lower(@part)) > 0 OR r.id IN (
         SELECT h.record_id FROM holds h WHERE instr(lower(h.product_key), lower(@part)) > 0))
     ORDER BY r.id LIMIT @limit`,
  ),
};

/** Rows in quarantine. The lists of items do not have them, because most of them make no item. */
export function quarantinedRows(reads: Db, records: readonly number[]): RowInQuarantine[] {
  return FOUND_ROWS.byId(reads).all(JSON.stringify(records)).map(rowInQuarantine);
}

export function searchQuarantined(
  reads: Db,
  { search, source = null }: { search: string; source?: string | null | undefined },
): RowInQuarantine[] {
  return FOUND_ROWS.search(reads).all({ part: search, source, limit: FOUND_MAX }).map(rowInQuarantine);
}

function rowInQuarantine(row: StoredRow): RowInQuarantine {
  const record = quarantinedRecord(row);
  const issue = record.issues[0] ?? { code: 'unknown' as ForeignCode, message: 'No reason was kept.' };
  const { title } = adviceOnIssue(issue, record.source);
  return { record, cause: { id: causeOfRecords(row), title }, product: row.product };
}

// The stored rows that a person names.

interface Named {
  name: string;
  identities: string;
  source: string | null;
  stream: string | null;
}

const COLUMNS = 's.source, s.name AS stream, r.key, r.place, r.raw, r.source_issues AS issues';
const WANTED = '(@source IS NULL OR s.source = @source) AND (@stream IS NULL OR s.name = @stream)';
/** The indexes of items begin with the kind. */
const KINDS = ITEM_KINDS.map((kind) => `'${kind}'`).join(', ');
const FOUND = (ids: string): string =>
  `SELECT ${COLUMNS} FROM (${ids}) f CROSS JOIN records r ON r.id = f.id CROSS JOIN streams s ON s.id = r.stream_id
   WHERE ${WANTED} ORDER BY r.id LIMIT 5`;

// One statement for each index. With OR, SQLite would read all records.
const NAMED = [
  `SELECT ${COLUMNS} FROM streams s CROSS JOIN json_each(@identities) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
   WHERE ${WANTED} ORDER BY r.id LIMIT 5`,
  FOUND(`SELECT DISTINCT record_id AS id FROM items WHERE kind IN (${KINDS}) AND key = +@name`),
  FOUND(`SELECT DISTINCT record_id AS id FROM items WHERE kind IN (${KINDS}) AND natural_key = +@name`),
  FOUND('SELECT DISTINCT record_id AS id FROM holds WHERE product_key = +@name'),
].map((text) => statement<[Named], Omit<QuarantineRow, 'id'>>(text));

/** At most five rows. */
export function recordsNamed(
  reads: Db,
  { name, source, stream }: Parameters<LedgerViews['recordsNamed']>[0],
): StoredRecord[] {
  const query = {
    name,
    identities: JSON.stringify(identitiesOf(name)),
    source: source ?? null,
    stream: stream ?? null,
  };
  for (const named of NAMED) {
    const rows = named(reads).all(query);
    if (rows.length > 0) return rows.map(recordOf);
  }
  return [];
}

function recordOf({ source, stream, key, place, raw, issues }: Omit<QuarantineRow, 'id'>): StoredRecord {
  return {
    source,
    stream,
    key,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: parseJsonOrNull<Issue[]>(issues) ?? [],
  };
}
