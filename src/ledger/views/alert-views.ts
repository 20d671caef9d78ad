// What alerts have to know of the ledger. They ask every ten seconds, so each read uses an index.

import type { EmptyStream, StuckState } from '../../domain/ports/ledger/ledger-views.ts';
import { isStuck } from '../items/item-row.ts';
import { statement } from '../store/tx.ts';
import type { Db } from './view-reads.ts';

const IS_COMPLETE = "r.result = 'complete' AND r.cause <> 'upload'";

const SQL = {
  stuck: statement<[], { source: string; state: StuckState; count: number }>(
    `SELECT i.source, i.state, count(*) AS count FROM items i
     WHERE ${isStuck('i')} AND i.state <> 'in_doubt' AND i.kind <> 'passport' GROUP BY +i.source, +i.state`,
  ),
  // A stream that the last complete run did not have is no longer in the config.
  empty: statement<[], { source: string; stream: string; isNew: 0 | 1 }>(
    `SELECT s.source, s.name AS stream, iif(NOT EXISTS (SELECT 1 FROM guarded_reads g WHERE g.stream_id = s.id)
         AND coalesce((SELECT a.read FROM run_streams a JOIN runs r ON r.id = a.run_id
           WHERE a.stream_id = s.id AND ${IS_COMPLETE} ORDER BY r.id DESC LIMIT 1 OFFSET 1), 0) > 0, 1, 0) AS isNew
     FROM streams s WHERE s.complete_read = 0
       AND EXISTS (SELECT 1 FROM run_streams a WHERE a.stream_id = s.id AND a.run_id =
         (SELECT max(r.id) FROM runs r WHERE r.source = s.source AND ${IS_COMPLETE}))
       AND NOT EXISTS (SELECT 1 FROM records c WHERE c.stream_id = s.id AND c.missing_since IS NULL)
     ORDER BY s.id`,
  ),
};

export function stuckCounts(reads: Db): { source: string; state: StuckState; count: number }[] {
  return SQL.stuck(reads).all();
}

export function emptyStreams(reads: Db): EmptyStream[] {
  return SQL.empty(reads)
    .all()
    .map((row) => ({ ...row, isNew: row.isNew === 1 }));
}
