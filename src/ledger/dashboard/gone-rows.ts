// What an export that the guard holds lacks, row by row, with the products that use it: the file that a person looks at before accepting
// the export.

import type { GoneRow, GoneRows, GoneRowsAsked } from '../../domain/ports/ledger/dashboard-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, statement } from '../store/tx.ts';
import type { DashboardReads } from './catalog.ts';
import { isPublished } from './group-figures.ts';
import { PRODUCTS_OF_MEMBERS, streamId } from './source-causes.ts';

/** At most this many products of a row are named. */
const PRODUCTS_MAX = 20;

interface PageQuery {
  streamId: number;
  afterId: number;
  limit: number;
}

interface PageRow {
  id: number;
  /** The fields of a record; null for an item. */
  raw: string | null;
  kind: string | null;
  key: string | null;
}

interface UsingRow {
  id: number;
  key: string;
  number: number;
  all: number;
  visible: number;
}

const SQL = {
  lost: statement<[PageQuery], PageRow>(
    `SELECT l.record_id AS id, r.raw, NULL AS kind, NULL AS key FROM lost_records l JOIN records r ON r.id = l.record_id
     WHERE l.stream_id = @streamId AND l.record_id > @afterId ORDER BY l.record_id LIMIT @limit`,
  ),
  released: statement<[PageQuery], PageRow>(
    `SELECT l.item_id AS id, NULL AS raw, i.kind, coalesce(i.natural_key, i.key) AS key FROM released l
     CROSS JOIN items i ON i.id = l.item_id
     WHERE l.stream_id = @streamId AND l.item_id > @afterId ORDER BY l.item_id LIMIT @limit`,
  ),
  // Of each row the first products, with the number of all of them.
  using: statement<[{ ids: string; released: 0 | 1; limit: number }], UsingRow>(
    `WITH members AS MATERIALIZED (
       SELECT e.value AS cause, i.id, i.kind, i.key FROM json_each(@ids) e CROSS JOIN items i ON i.record_id = e.value
       WHERE @released = 0
       UNION SELECT i.id, i.id, i.kind, i.key FROM json_each(@ids) e CROSS JOIN items i ON i.id = e.value WHERE @released = 1),
     used AS MATERIALIZED (
       SELECT p.cause, p.key, iif(${isPublished('p.key')}, 1, 0) AS isPublic FROM (${PRODUCTS_OF_MEMBERS}) p)
     SELECT cause AS id, key, number, "all", visible FROM (
       SELECT cause, key, row_number() OVER (PARTITION BY cause ORDER BY key) AS number,
         count(*) OVER (PARTITION BY cause) AS "all", sum(isPublic) OVER (PARTITION BY cause) AS visible FROM used) u
     WHERE number <= @limit ORDER BY cause, number`,
  ),
};

/** A page of what is gone from a stream, in the order of the ledger. */
export function goneRows(reads: DashboardReads, { source, stream, of, afterId, limit }: GoneRowsAsked): GoneRows {
  const id = streamId(reads, source, stream);
  if (id === null) return { rows: [], lastId: null };
  const page = SQL[of](reads).all({ streamId: id, afterId, limit });
  const ids = JSON.stringify(page.map((row) => row.id));
  const using = Map.groupBy(
    SQL.using(reads).all({ ids, released: of === 'released' ? 1 : 0, limit: PRODUCTS_MAX }),
    (row) => row.id,
  );
  const rows = page.map((row): GoneRow => {
    const products = using.get(row.id) ?? [];
    const [first] = products;
    return {
      fields: row.raw === null ? { kind: row.kind, key: row.key } : parseJson<JsonObject>(row.raw),
      products: products.map(({ key }) => key),
      productCount: first?.all ?? 0,
      publicCount: first?.visible ?? 0,
    };
  });
  return { rows, lastId: page.length < limit ? null : (page.at(-1)?.id ?? null) };
}
