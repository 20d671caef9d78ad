import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Mapper, MapResult } from '../domain/mapping.ts';
import type { MappedRows, ReadPage } from '../domain/ports/intake.ts';
import type { JsonObject } from '../lib/json.ts';

/** So many rows are mapped before other work of the process has its turn: answers of the API wait for no more than that. */
const ROWS_AT_ONCE = 100;

/**
 * Maps rows of a page, outside any transaction. It maps their stored text, so that mapping a row again from the ledger gives the
 * same items.
 *
 * @param rows places in the page
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
