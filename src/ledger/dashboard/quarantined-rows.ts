import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { DashboardViews, RowInQuarantine } from '../../domain/ports/ledger/dashboard-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import type { QuarantineRow } from '../views/views.ts';
import { titleOfIssue } from './cause-text.ts';
import { causeOfRecords, FIRST_CODE, FIRST_FIELD, IS_QUARANTINED } from './stuck-groups.ts';

interface StoredRow extends QuarantineRow {
  code: string | null;
  field: string | null;
  product: string | null;
}

/** A search shows this many rows at most. The page of a cause lists all its rows. */
const FOUND_MAX = 5;

/** Rows in quarantine. The lists of items do not have them, because most of them make no item. */
export function createQuarantinedRows(db: Sqlite): Pick<DashboardViews, 'quarantinedRows' | 'searchQuarantined'> {
  const columns = `r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues, ${FIRST_CODE} AS code,
    ${FIRST_FIELD} AS field, (SELECT min(h.product_key) FROM holds h WHERE h.record_id = r.id) AS product`;
  const sql = {
    byId: db.prepare<[string], StoredRow>(
      `SELECT ${columns} FROM json_each(?) e CROSS JOIN records r ON r.id = e.value JOIN streams s ON s.id = r.stream_id
       WHERE ${IS_QUARANTINED} ORDER BY e.key`,
    ),
    // No index finds a part of a key, so this statement reads the keys of all rows in quarantine and of all products that wait for
    // such a row. The index contains the keys of the rows, and the subquery runs once.
    search: db.prepare<[{ part: string; source: string | null; limit: number }], StoredRow>(
      `SELECT ${columns} FROM streams s CROSS JOIN records r INDEXED BY records_quarantined ON r.stream_id = s.id
       WHERE ${IS_QUARANTINED} AND (@source IS NULL OR s.source = @source)
         AND (instr(lower(r.key), lower(@part)) OR r.id IN (
           SELECT h.record_id FROM holds h WHERE instr(lower(h.product_key), lower(@part))))
       ORDER BY r.id LIMIT @limit`,
    ),
  };

  return {
    quarantinedRows: (records) => sql.byId.all(JSON.stringify(records)).map(rowOf),
    searchQuarantined: ({ search, source = null }) =>
      sql.search.all({ part: search, source, limit: FOUND_MAX }).map(rowOf),
  };
}

function rowOf({ id, key, place, raw, issues: stored, product, ...group }: StoredRow): RowInQuarantine {
  const { source, stream } = group;
  const issues = parseJsonOrNull<Issue[]>(stored) ?? [];
  return {
    record: { id, source, stream, key, place: parseJson<Place>(place), fields: parseJson<JsonObject>(raw), issues },
    cause: {
      id: causeOfRecords(group),
      title: titleOfIssue(issues[0] ?? { code: 'unknown', message: 'No reason was kept.' }),
    },
    product,
  };
}
