// The stored rows that a person names.

import type { Issue, Place } from '../../domain/issue.ts';
import { ITEM_KINDS } from '../../domain/item.ts';
import type { LedgerViews, StoredRecord } from '../../domain/ports/ledger/ledger-views.ts';
import { identitiesOf } from '../../domain/record.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull, statement } from '../store/tx.ts';
import type { Db } from './view-reads.ts';

interface Named {
  name: string;
  identities: string;
  source: string | null;
  stream: string | null;
}

interface Row {
  source: string;
  stream: string;
  key: string;
  place: string;
  raw: string;
  issues: string | null;
}

const COLUMNS = 's.source, s.name AS stream, r.key, r.place, r.raw, r.source_issues AS issues';
const WANTED = '(@source IS NULL OR s.source = @source) AND (@stream IS NULL OR s.name = @stream)';
/** The indexes of items begin with the kind. */
const KINDS = ITEM_KINDS.map((kind) => `'${kind}'`).join(', ');
const FOUND = (ids: string): string =>
  `SELECT ${COLUMNS} FROM (${ids}) f CROSS JOIN records r ON r.id = f.id CROSS JOIN streams s ON s.id = r.stream_id
   WHERE ${WANTED} ORDER BY r.id LIMIT 5`;

// One statement for each index. With OR, SQLite would read all records.
const NAMED = [
  `SELECT ${COLUMNS} FROM streams s CROSS JOIN json_each(@identities) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
   WHERE ${WANTED} ORDER BY r.id LIMIT 5`,
  FOUND(`SELECT DISTINCT record_id AS id FROM items WHERE kind IN (${KINDS}) AND key = +@name`),
  FOUND(`SELECT DISTINCT record_id AS id FROM items WHERE kind IN (${KINDS}) AND natural_key = +@name`),
  FOUND('SELECT DISTINCT record_id AS id FROM holds WHERE product_key = +@name'),
].map((text) => statement<[Named], Row>(text));

/** At most five rows. */
export function recordsNamed(
  reads: Db,
  { name, source, stream }: Parameters<LedgerViews['recordsNamed']>[0],
): StoredRecord[] {
  const query = {
    name,
    identities: JSON.stringify(identitiesOf(name)),
    source: source ?? null,
    stream: stream ?? null,
  };
  for (const named of NAMED) {
    const rows = named(reads).all(query);
    if (rows.length > 0) return rows.map(recordOf);
  }
  return [];
}

function recordOf({ source, stream, key, place, raw, issues }: Row): StoredRecord {
  return {
    source,
    stream,
    key,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: parseJsonOrNull<Issue[]>(issues) ?? [],
  };
}
