import type { LookupEntry, LookupTable } from '../../domain/lookup.ts';
import { type FindEntry, lookupRow } from '../../domain/lookup.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { openSource, type RuntimeConfig } from '../sources/open-source.ts';

/** The most rows of a lookup table that a preview keeps in memory. Of a larger stream it keeps the first rows. */
const ROWS_MAX = 500_000;

/**
 * Reads the streams that mappings look up from their sources, because a preview has no ledger.
 *
 * @throws Fault when a source cannot be read
 */
export async function readLookups(
  tables: readonly LookupTable[],
  config: RuntimeConfig,
  options: { log: Logger; signal: AbortSignal },
): Promise<FindEntry> {
  const rows = new Map<string, Map<string, JsonValue[]>>();
  for (const table of tables)
    if (table.stream !== null) rows.set(table.id, await rowsOf(table.stream, config, options));
  return ({ table, key }): LookupEntry => ({ values: rows.get(table)?.get(key) ?? [], isRead: true });
}

async function rowsOf(
  lookedUp: NonNullable<LookupTable['stream']>,
  config: RuntimeConfig,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<Map<string, JsonValue[]>> {
  const found = new Map<string, JsonValue[]>();
  const source = config.sources.find(({ id }) => id === lookedUp.source);
  if (source === undefined) return found;
  const reader = await openSource(source, config, log);
  try {
    const stream = reader.streams.find(({ name }) => name === lookedUp.stream);
    if (stream === undefined) return found;
    const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
    let count = 0;
    for await (const page of stream.pull({ mode, cursor: null }, signal)) {
      for (const { fields, issues } of page.rows) {
        const row = lookupRow(fields, lookedUp, issues);
        if (row !== null) found.set(row.key, [...(found.get(row.key) ?? []), row.value]);
      }
      count += page.rows.length;
      if (count >= ROWS_MAX) break;
    }
    return found;
  } finally {
    await reader.close();
  }
}
