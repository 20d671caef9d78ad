import type { StreamAccount } from '../../domain/ports/ledger/ledger-views.ts';
import { parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';

interface AccountRow extends Omit<StreamAccount, 'warnings'> {
  warnings: string | null;
}

/** Reads the accounts of the streams of a run. */
export function createStreamAccounts(db: Sqlite): (runId: number) => StreamAccount[] {
  const accounts = db.prepare<[number], AccountRow>(
    `SELECT s.source, s.name AS stream, a.read, a.unchanged, a.changed, a.quarantined, a.excluded, a.missing, a.guarded,
       a.missed_by_changes AS missedByChanges, a.warnings
     FROM run_streams a JOIN streams s ON s.id = a.stream_id WHERE a.run_id = ? ORDER BY s.id`,
  );
  return (runId) =>
    accounts.all(runId).map((row) => ({ ...row, warnings: parseJsonOrNull<string[]>(row.warnings) ?? [] }));
}
