import type { Listed, ListPage } from '../../domain/ports/ledger/dashboard-views.ts';
import type { QuarantinedRecord } from '../../domain/ports/ledger/ledger-views.ts';
import { column, statement } from '../store/tx.ts';
import { type QuarantineRow, quarantinedRecord } from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';
import { COUNTED_MAX, limitOf, pageOfRows, placeOf } from './lists.ts';

interface Query {
  source: string | null;
  streamId: number;
  afterId: number;
  limit: number;
}

const FROM = `FROM streams s CROSS JOIN records r INDEXED BY records_quarantined ON r.stream_id = s.id
  WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source)`;
const SQL = {
  // The order is that of the index.
  page: statement<[Query], QuarantineRow & { streamId: number }>(
    `SELECT r.id, s.id AS streamId, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues ${FROM}
     AND s.id >= @streamId AND r.id > CASE WHEN s.id = @streamId THEN @afterId ELSE 0 END ORDER BY s.id, r.id LIMIT @limit`,
  ),
  count: column<[{ source: string | null; most: number }], number>(
    `SELECT count(*) FROM (SELECT 1 ${FROM} LIMIT @most) AS found`,
  ),
};

/** The rows in quarantine, one stream after the other. */
export function listQuarantine(
  reads: Db,
  { source = null }: { source?: string | null | undefined },
  page: ListPage,
): Listed<QuarantinedRecord> {
  const limit = limitOf(page);
  const [streamId = 0, afterId = 0] = (placeOf(page).after ?? []).map(Number);
  const found = SQL.page(reads).all({ source, streamId, afterId, limit: limit + 1 });
  const { rows, next } = pageOfRows(found, limit, (row) => [row.streamId, row.id]);
  const count = SQL.count(reads).get({ source, most: COUNTED_MAX }) ?? 0;
  return { rows: rows.map(quarantinedRecord), next, total: { count, atLeast: count === COUNTED_MAX } };
}
