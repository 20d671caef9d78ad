import type { RunView, StreamAccount } from '../../domain/ports/ledger/ledger-views.ts';
import { column, statement } from '../store/statement.ts';
import { parseJsonOrNull } from '../store/tx.ts';
import type { Db } from './view-reads.ts';

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
  completeAt: column<[string], number | null>(
    `SELECT ended_at FROM runs WHERE source = ? AND result = 'complete' AND cause <> 'upload' ORDER BY id DESC LIMIT 1`,
  ),
};

/** Runs that read a source, the newest first. Uploads of corrected rows are not among them. */
export function lastRuns(reads: Db, { source = null, limit }: { source?: string | null; limit: number }): RunView[] {
  return withStreams(reads, RUNS.last(reads).all({ source, limit }));
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
