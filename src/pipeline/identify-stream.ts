// Decides what identifies the rows of a stream, before any of its pages is stored.
//
// Key columns of the config identify a row. Without them, mappings do whose keys are unique in one complete read, and otherwise
// the content of the row. The choice is stored. A stream is read once more for it: in its first run, and in each complete read while
// only the content identifies its rows, until the first double key.
//
// A key that is double in the first read can still be chosen later. After a complete read, each item belongs to one stored record,
// and a row that contradicts it is in quarantine. So a later run chooses a mapping if all records that make items have different
// keys by it.
//
// When the identity changes, the stored records get their new keys from their stored fields, so no record seems to be new or
// missing.

import type { Mapper } from '../domain/mapping.ts';
import {
  FIRST_RECORDS,
  type IdentifiedRecords,
  type ItemRecords,
  type RecordsPlace,
  type RecordsToIdentify,
  type StreamProgress,
} from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Page, SourceStream } from '../domain/ports/source.ts';
import {
  BY_CONTENT,
  firstKeyOf,
  haveSeveralKinds,
  type IdentifyingMapping,
  identityOf,
  type KeyOf,
  type StreamIdentity,
  wasChosenAmong,
} from '../domain/record.ts';
import { createBitmap, createSeenTexts, markOf } from '../lib/collections.ts';
import { storedFields } from './incoming-record.ts';
import { untilWritable, type WritableWait } from './until-writable.ts';

interface IdentifyRequest {
  source: string;
  stream: SourceStream;
  mapper: Mapper;
  /** Columns that are never stored. */
  omit: readonly string[];
  before: Pick<StreamProgress, 'identity' | 'snapshotAt'>;
}

interface IdentifyOptions {
  ledger: Pick<IntakeLedger, 'storeIdentity' | 'identifyRecords' | 'itemRecords'>;
  wait: WritableWait;
}

interface Identified {
  /** The keys of rows that mappings identify; null where key columns or the content identify the rows. */
  keyOf: KeyOf | null;
  /** The page of a source that has no new export, so that nothing could be chosen and there is nothing to read; otherwise null. */
  nothingNew: Page | null;
}

/**
 * Finds out what identifies the rows of a stream, stores it, and changes the keys of the stored records where they depend on
 * something else. Null after an abort.
 */
export async function identifyStream(
  request: IdentifyRequest,
  options: IdentifyOptions,
  abort: AbortSignal,
): Promise<Identified | null> {
  const { ledger, wait } = options;
  const { source, stream, mapper, omit } = request;
  const stored = request.before.identity;
  const own = mapper.identifying?.byStream.get(stream.name) ?? [];
  const identity: StreamIdentity | Page | null =
    stream.key.length > 0
      ? { by: 'columns', columns: stream.key }
      : await identityByMappings(request, own, options, abort);
  if (identity === null) return null;
  if ('rows' in identity) return { keyOf: null, nothingNew: identity };

  const keyOf = keyOfRows(identity, own);
  if (JSON.stringify(identity) !== JSON.stringify(stored)) {
    const of = { source, stream: stream.name, identity };
    // A ledger that has stored no identity has the key columns in its keys, or the content. From records without a key column
    // their key cannot be made.
    const isAsStored = stored === null && (stream.key.length > 0 || keyOf === null);
    if (isAsStored || stream.key.some((column) => omit.includes(column))) {
      await untilWritable(() => ledger.storeIdentity(of), wait, abort);
    } else {
      const newKey = keyOf ?? ((fields) => (stream.key.length === 0 ? null : identityOf(fields, stream.key)));
      if (!(await changeKeys({ ...of, keyOf: newKey }, options, abort))) return null;
    }
  }
  return { keyOf, nothingNew: null };
}

function keyOfRows(identity: StreamIdentity, own: readonly IdentifyingMapping[]): KeyOf | null {
  if (identity.by !== 'mappings' || identity.mappings.length === 0) return null;
  return firstKeyOf(withTexts(identity.mappings, own));
}

/** Gives all records of the stream their new keys. False after an abort; the next run then begins again. */
async function changeKeys(
  request: { source: string; stream: string; identity: StreamIdentity; keyOf: KeyOf },
  { ledger, wait }: IdentifyOptions,
  abort: AbortSignal,
): Promise<boolean> {
  const done = createBitmap();
  let from: RecordsPlace | null = FIRST_RECORDS;
  while (from !== null && !abort.aborted) {
    const part: RecordsToIdentify = { ...request, from, done };
    const identified: IdentifiedRecords = await untilWritable(() => ledger.identifyRecords(part), wait, abort);
    for (const id of identified.ids) done.add(id);
    from = identified.next;
  }
  return from === null;
}

/** The identity of a stream without key columns. Null after an abort. */
async function identityByMappings(
  request: IdentifyRequest,
  own: readonly IdentifyingMapping[],
  options: IdentifyOptions,
  abort: AbortSignal,
): Promise<StreamIdentity | Page | null> {
  const { source, stream, mapper, before } = request;
  const stored = before.identity?.by === 'mappings' ? before.identity : null;
  const functions = mapper.identifying?.functions ?? '';
  if (own.length === 0) return BY_CONTENT;

  // A mapping that was chosen before stays chosen, before all others: a key that is double now is an error of this export.
  const kept = (stored?.mappings ?? []).flatMap((expressions) => own.filter((one) => one.expressions === expressions));
  const others = own.filter((one) => !kept.includes(one));
  const decided = stored !== null && wasChosenAmong(stored, own) ? stored : null;
  const chosen = (more: readonly IdentifyingMapping[], compared: readonly IdentifyingMapping[]): StreamIdentity => {
    const mappings = textsOf([...kept, ...more]);
    return {
      by: 'mappings',
      mappings,
      compared: decided?.compared ?? textsOf(compared),
      functions: mappings.length === 0 ? '' : functions,
      ...(haveSeveralKinds(withTexts(mappings, own)) ? { hasKinds: true } : {}),
    };
  };
  if (decided !== null && others.length === 0) return chosen([], own);
  // A read of changes proves nothing about the rows that it does not have.
  if (stream.reads === 'changes') return chosen([], kept);

  // The items of the stored records come from these mappings only if the mappings are the same as at the last choice.
  const hasItems = before.snapshotAt !== null && (decided !== null || stored === null);
  const byItems = hasItems
    ? await uniqueInItems({ source, stream, mappings: others, onlyByContent: kept.length > 0 }, options.ledger, abort)
    : NONE;
  if (byItems === null) return null;
  const unknown = others.filter((one) => !byItems.has(one));
  const isWeak = kept.length + byItems.size === 0;
  const needsRead = decided === null ? unknown.length > 0 : isWeak && stream.reads === 'snapshot';
  if (!needsRead) return chosen([...byItems], own);
  const read = await uniqueInRead(request, unknown, abort);
  if (read === null || 'rows' in read) return read;
  // A read without any key proves nothing either, so the next read decides.
  if (read.keys === 0 && byItems.size === 0) return chosen([], kept);
  return chosen(
    others.filter((one) => byItems.has(one) || read.unique.has(one)),
    own,
  );
}

const NONE: ReadonlySet<IdentifyingMapping> = new Set();

function withTexts(texts: readonly string[], own: readonly IdentifyingMapping[]): IdentifyingMapping[] {
  return texts.flatMap((expressions) => own.find((one) => one.expressions === expressions) ?? []);
}

function textsOf(mappings: readonly IdentifyingMapping[]): string[] {
  return [...new Set(mappings.map(({ expressions }) => expressions))];
}

// Finds the mappings that can identify the rows of a stream, because each row has a key of its own by them.

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
async function uniqueInItems(
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
        if (seen.note(markOf(`${mapping.expressions} ${key}`, String(id))) === 'other') unique.delete(mapping);
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
async function uniqueInRead(
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
        if (seen.note(markOf(`${mapping.expressions} ${key}`, content)) === 'other') unique.delete(mapping);
      }
    }
    if (unique.size === 0) break;
  }
  return abort.aborted ? null : { unique, keys };
}
