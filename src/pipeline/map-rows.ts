import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Mapper, MapResult } from '../domain/mapping.ts';
import type { MappedRows, ReadPage } from '../domain/ports/intake.ts';
import type { JsonObject } from '../lib/json.ts';

/** How many rows are mapped at once. Answers of the API wait no longer than that. */
const ROWS_AT_ONCE = 100;

/**
 * Maps rows of a page, outside any transaction. It maps the rows as they are stored, so that mapping them again from
 * the ledger gives the same items.
 *
 * @param rows the rows' positions in the page
 */
export async function mapRows(
  { source, stream, records }: Pick<ReadPage, 'source' | 'stream' | 'records'>,
  rows: readonly number[],
  mapper: Mapper,
): Promise<MappedRows> {
  const results = new Map<number, MapResult>();
  for (const [count, at] of rows.entries()) {
    if (count > 0 && count % ROWS_AT_ONCE === 0) await nextTurn();
    const record = records[at];
    if (record === undefined) continue;
    const { raw, place, issues } = record;
    results.set(at, mapper.map({ source, stream, fields: JSON.parse(raw) as JsonObject, place, issues }));
  }
  return { mappingRevision: mapper.revision, results };
}
