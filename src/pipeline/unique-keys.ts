// Finds the mappings that can identify the rows of a stream, because each row has a key of its own by them.

import type { ItemRecords } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Page, SourceStream } from '../domain/ports/source.ts';
import type { IdentifyingMapping } from '../domain/stream-identity.ts';
import { createSeenTexts } from '../lib/seen-texts.ts';
import { storedFields } from './incoming-record.ts';

/**
 * How many different keys are remembered in a complete read (I9). They take 50 MB. Beyond them, a key counts as repeated only if
 * it repeats one of these.
 */
const KEYS_MAX = 2_000_000;

interface ItemKeysRequest {
  source: string;
  stream: SourceStream;
  mappings: readonly IdentifyingMapping[];
  /** True where mappings identify rows already, so that only the records count that their content identifies. */
  onlyByContent: boolean;
}

/**
 * Finds the mappings that give different keys to all stored records with items. Null after an abort.
 */
export async function uniqueInItems(
  { source, stream, mappings, onlyByContent }: ItemKeysRequest,
  ledger: Pick<IntakeLedger, 'itemRecords'>,
  abort: AbortSignal,
): Promise<ReadonlySet<IdentifyingMapping> | null> {
  const unique = new Set(mappings);
  const withKeys = new Set<IdentifyingMapping>();
  const seen = createSeenTexts(KEYS_MAX);
  const of = { source, stream: stream.name, onlyByContent };
  for (let afterId: number | null = 0; afterId !== null && unique.size > 0; ) {
    const { records, next }: ItemRecords = await ledger.itemRecords({ ...of, afterId });
    if (abort.aborted) return null;
    for (const { id, fields } of records) {
      for (const mapping of unique) {
        const key = mapping.keyOf(fields);
        if (key === null) continue;
        withKeys.add(mapping);
        if (seen.note(`${mapping.expressions} ${key}`, String(id)) === 'other') unique.delete(mapping);
      }
    }
    afterId = next;
  }
  return new Set(mappings.filter((one) => unique.has(one) && withKeys.has(one)));
}

/**
 * Reads a stream completely, and finds the mappings whose keys are unique in it. Rows with the same key and the same content do not
 * count as double. Rows in which the connector has found an issue do not count at all. Null after an abort.
 */
export async function uniqueInRead(
  { stream, omit }: { stream: SourceStream; omit: readonly string[] },
  mappings: readonly IdentifyingMapping[],
  abort: AbortSignal,
): Promise<{ unique: ReadonlySet<IdentifyingMapping>; keys: number } | Page | null> {
  const omitted = new Set(omit);
  const unique = new Set(mappings);
  const seen = createSeenTexts(KEYS_MAX);
  let keys = 0;
  for await (const page of stream.pull({ mode: 'snapshot', cursor: null }, abort)) {
    if (abort.aborted) return null;
    if (page.nothingNew === true) return page;
    for (const row of page.rows) {
      if (row.issues !== undefined && row.issues.length > 0) continue;
      const fields = storedFields(row.fields, [], omitted);
      const content = JSON.stringify(fields);
      for (const mapping of unique) {
        const key = mapping.keyOf(fields);
        if (key === null) continue;
        keys += 1;
        if (seen.note(`${mapping.expressions} ${key}`, content) === 'other') unique.delete(mapping);
      }
    }
    if (unique.size === 0) break;
  }
  return abort.aborted ? null : { unique, keys };
}
