// What alerts have to know of the ledger. They ask every ten seconds, so each read uses an index.

import type { EmptyStream, StuckItems, StuckState } from '../../domain/ports/ledger/ledger-views.ts';
import { column, statement } from '../store/tx.ts';
import { type Db, inOneMoment } from './view-reads.ts';

const SQL = {
  // Each part repeats one of the conditions of the index, and no other column than those of the index.
  stuck: statement<[], { source: string; state: StuckState; count: number }>(
    `SELECT source, state, count(*) AS count FROM (${["i.state IN ('blocked', 'rejected')", "i.state = 'parked'"]
      .map(
        (state) => `SELECT i.source, i.state FROM items i INDEXED BY items_by_reason
          WHERE ${state} AND i.kind <> 'passport'`,
      )
      .join(' UNION ALL ')}) AS found GROUP BY source, state`,
  ),
  // Each part repeats the condition of an index.
  sending: column<[string], string>(
    `SELECT s.value FROM json_each(?) s WHERE ${[
      "i.state = 'due'",
      "i.state = 'sending'",
      "i.state IN ('due', 'in_doubt') AND i.due_at > 0",
    ]
      .map((state) => `EXISTS (SELECT 1 FROM items i WHERE ${state} AND i.kind <> 'passport' AND +i.source = s.value)`)
      .join(' OR ')}`,
  ),
  // A stream that the last complete run did not have is no longer in the config.
  empty: statement<[], { source: string; stream: string; isNew: 0 | 1 }>(
    `SELECT s.source, s.name AS stream, s.emptied AS isNew FROM streams s WHERE s.emptied IS NOT NULL
       AND EXISTS (SELECT 1 FROM run_streams a WHERE a.stream_id = s.id AND a.run_id =
         (SELECT max(r.id) FROM runs r WHERE r.source = s.source AND r.result = 'complete' AND r.cause <> 'upload'))
     ORDER BY s.id`,
  ),
};

export function stuckItems(reads: Db, sources: readonly string[]): StuckItems {
  return inOneMoment(reads, () => ({
    counts: SQL.stuck(reads).all(),
    sending: sources.length === 0 ? [] : SQL.sending(reads).all(JSON.stringify(sources)),
  }));
}

export function emptyStreams(reads: Db): EmptyStream[] {
  return SQL.empty(reads)
    .all()
    .map((row) => ({ ...row, isNew: row.isNew === 1 }));
}
