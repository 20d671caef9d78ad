import { identitiesOf } from '../../domain/record.ts';
import type { Sqlite } from '../store/database.ts';

/** A stored row of a source. */
export interface StoredRow {
  id: number;
  key: string;
  source: string;
  stream: string;
  place: string;
  state: string;
  issues: string | null;
  missing: 0 | 1;
  /** 1 if the row is in quarantine and its sound items are used nevertheless. */
  partial: 0 | 1;
  /** 1 if the guard holds a read that does not have the row. */
  lost: 0 | 1;
}

/** The columns of a stored row `r` of the stream `s`. */
export const ROW_COLUMNS = `r.id, r.key, s.source, s.name AS stream, r.place, r.state, r.issues, r.missing_since IS NOT NULL AS missing,
  r.partial, EXISTS (SELECT 1 FROM lost_records l WHERE l.record_id = r.id) AS lost`;

const ROWS_MAX = 5;

/**
 * Returns a function that finds rows by a name that no item has. The name may be the key of the row, the key of an item
 * that the row would make, or a value of the row.
 */
export function createNamedRows(db: Sqlite): (name: string) => StoredRow[] {
  // One statement for each index. With OR, SQLite would read all records.
  const statements = [
    `SELECT ${ROW_COLUMNS} FROM holds h JOIN records r ON r.id = h.record_id JOIN streams s ON s.id = r.stream_id
     WHERE h.product_key = @name AND r.state = 'quarantined' AND r.missing_since IS NULL ORDER BY r.id LIMIT @limit`,
    `SELECT ${ROW_COLUMNS} FROM contenders c JOIN records r ON r.id = c.record_id JOIN streams s ON s.id = r.stream_id
     WHERE c.kind IN ('product', 'material', 'bom_item') AND c.key = @name AND r.missing_since IS NULL
     ORDER BY r.id LIMIT @limit`,
    `SELECT ${ROW_COLUMNS} FROM streams s CROSS JOIN json_each(@identities) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
     WHERE r.state <> 'mapped' ORDER BY r.id LIMIT @limit`,
    // No index has the values of rows, so this statement reads all rows in quarantine, one at a time.
    `SELECT ${ROW_COLUMNS} FROM records r INDEXED BY records_quarantined CROSS JOIN streams s ON s.id = r.stream_id
     WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND instr(r.raw, @name)
       AND EXISTS (SELECT 1 FROM json_each(r.raw) f WHERE f.value = @name) LIMIT @limit`,
  ].map((text) => db.prepare<[{ name: string; identities: string; limit: number }], StoredRow>(text));

  return (name) => {
    // A row with an empty cell names nothing.
    if (name === '') return [];
    const identities = JSON.stringify(identitiesOf(name));
    for (const statement of statements) {
      const rows = statement.all({ name, identities, limit: ROWS_MAX });
      if (rows.length > 0) return rows;
    }
    return [];
  };
}
