import type { Sqlite } from '../store/database.ts';
import { causeId } from './stuck-groups.ts';

/** The failed runs of a source since its last complete run. */
export interface FailedRuns {
  id: string;
  source: string;
  error: string | null;
  count: number;
  /** When the first of these runs began, and when the last one did. */
  since: number;
  until: number;
  /** The newest first. */
  runs: number[];
}

const RUNS_MAX = 100;

/**
 * Finds the sources whose last run has failed, with all runs that have failed since the last complete run. An upload of corrected rows does not
 * read the source, so it does not end such a failure.
 */
export function createFailedRuns(db: Sqlite): () => FailedRuns[] {
  const sources = db
    .prepare<[], string>('SELECT DISTINCT source FROM streams UNION SELECT DISTINCT source FROM runs')
    .pluck();
  const runs = db.prepare<[string], { id: number; startedAt: number; result: string | null; error: string | null }>(
    `SELECT id, started_at AS startedAt, result, error FROM runs WHERE source = ? AND cause <> 'upload'
     ORDER BY id DESC LIMIT ${RUNS_MAX}`,
  );

  return () =>
    sources.all().flatMap((source) => {
      const ended = runs.all(source).filter(({ result }) => result !== null && result !== 'interrupted');
      const sound = ended.findIndex(({ result }) => result !== 'failed');
      const failed = sound < 0 ? ended : ended.slice(0, sound);
      const [last] = failed;
      const first = failed.at(-1);
      if (last === undefined || first === undefined) return [];
      return [
        {
          id: causeId('run', source),
          source,
          error: last.error,
          count: failed.length,
          since: first.startedAt,
          until: last.startedAt,
          runs: failed.map(({ id }) => id),
        },
      ];
    });
}
