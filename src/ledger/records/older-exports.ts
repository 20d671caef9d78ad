// Exports that the guard holds before their first row, because they are older than the last one that was read.

import type { OlderExport } from '../../domain/ports/intake.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

const SQL = {
  hold: statement<[OlderExport & { streamId: number; runId: number; now: number }]>(
    `INSERT INTO older_exports (stream_id, run_id, since, as_of, missing, read, message)
     VALUES (@streamId, @runId, @now, @asOf, @missing, @read, @message)
     ON CONFLICT DO UPDATE SET run_id = @runId, as_of = @asOf, missing = @missing, read = @read, message = @message,
       accepted_at = NULL`,
  ),
  forget: statement<[number]>('DELETE FROM older_exports WHERE stream_id = ?'),
  accepted: statement<[number], { asOf: number | null }>(
    'SELECT as_of AS asOf FROM older_exports WHERE stream_id = ? AND accepted_at IS NOT NULL',
  ),
  // What the older export lacks is accepted with it, also if the guard holds another export of the stream.
  acceptMissing: statement<[{ sources: string; now: number }]>(
    `INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message, accepted_at)
     SELECT stream_id, run_id, since, missing, read, message, @now FROM older_exports
     WHERE accepted_at IS NULL AND missing > 0
       AND stream_id IN (SELECT id FROM streams WHERE source IN (SELECT value FROM json_each(@sources)))
     ON CONFLICT DO UPDATE SET missing = max(missing, excluded.missing), read = min(read, excluded.read), accepted_at = @now`,
  ),
};

/** Stores that the guard holds an older export. What it holds of the export before stays held. */
export function holdOlderExport(tx: Tx, streamId: number, runId: number, older: OlderExport): void {
  const { message, asOf, missing, read } = older;
  SQL.hold(tx).run({ streamId, runId, message, asOf, missing, read, now: tx.clock.now() });
}

/** Another export of the stream was read, so the older one is held no longer. */
export function forgetOlderExport(tx: Tx, streamId: number): void {
  SQL.forget(tx).run(streamId);
}

/** The time of the older export of a stream that a person has accepted; undefined if there is none. */
export function acceptedOlderExport(tx: Tx, streamId: number): { asOf: number | null } | undefined {
  return SQL.accepted(tx).get(streamId);
}

/** Accepts the records that older exports of the sources in a JSON list lack. Call it before the exports are accepted. */
export function acceptMissingOfOlder(tx: Tx, sources: string): void {
  SQL.acceptMissing(tx).run({ sources, now: tx.clock.now() });
}
