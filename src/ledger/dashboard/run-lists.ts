import type { DashboardViews, RunFilter, RunRow } from '../../domain/ports/ledger/dashboard-views.ts';
import { createStreamAccounts } from '../records/stream-accounts.ts';
import type { Sqlite } from '../store/database.ts';
import { limitOf, placeOf, placeText } from './list-page.ts';

type StoredRun = Omit<RunRow, 'streams'>;

interface RunQuery {
  source: string | null;
  stream: string | null;
  result: string | null;
  before: number;
  limit: number;
}

const COLUMNS = `r.id, r.source, r.cause AS "trigger", r.started_at AS startedAt, r.ended_at AS endedAt, r.result, r.error,
  r.asked_by AS askedBy`;
const FITS = `(@source IS NULL OR r.source = @source)
  AND (@stream IS NULL OR EXISTS (SELECT 1 FROM run_streams a JOIN streams s ON s.id = a.stream_id
    WHERE a.run_id = r.id AND s.name = @stream))
  AND CASE @result WHEN 'running' THEN r.result IS NULL
    WHEN 'guarded' THEN EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = r.id AND a.guarded IS NOT NULL)
    ELSE @result IS NULL OR r.result = @result END`;

/** Lists of runs. A ledger keeps some hundred runs of each source, so no further index is needed to read them. */
export function createRunLists(db: Sqlite): Pick<DashboardViews, 'runs' | 'run'> {
  const accounts = createStreamAccounts(db);
  const sql = {
    runs: db.prepare<[RunQuery], StoredRun>(
      `SELECT ${COLUMNS} FROM runs r WHERE r.id < @before AND ${FITS} ORDER BY r.id DESC LIMIT @limit`,
    ),
    count: db
      .prepare<[Omit<RunQuery, 'before' | 'limit'>], number>(`SELECT count(*) FROM runs r WHERE ${FITS}`)
      .pluck(),
    run: db.prepare<[number], StoredRun>(`SELECT ${COLUMNS} FROM runs r WHERE r.id = ?`),
  };
  const withStreams = (row: StoredRun): RunRow => ({ ...row, streams: accounts(row.id) });

  return {
    runs({ source, stream, result }: RunFilter, page) {
      const limit = limitOf(page);
      const query = { source: source ?? null, stream: stream ?? null, result: result ?? null };
      const before = Number(placeOf(page).after?.[0] ?? Number.MAX_SAFE_INTEGER);
      const rows = sql.runs.all({ ...query, before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const next = rows.length > limit && last !== undefined ? placeText({ phase: 0, after: [last.id] }) : null;
      return { rows: shown.map(withStreams), next, total: { count: sql.count.get(query) ?? 0, atLeast: false } };
    },
    run(id) {
      const row = sql.run.get(id);
      return row === undefined ? null : withStreams(row);
    },
  };
}
