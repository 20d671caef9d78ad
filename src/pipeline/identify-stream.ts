// Decides what identifies the rows of a stream, before any of its pages is stored.
//
// Key columns of the config identify a row. Without them, mappings do whose keys are unique in one complete read, and otherwise
// the content of the row. The choice is stored. A stream is read once more for it: in its first run, and in each complete read while
// only the content identifies its rows, until the first double key. When the identity
// changes, the stored records get their new keys from their stored fields, so no record seems to be new or missing.

import type { Mapper } from '../domain/mapping.ts';
import {
  FIRST_RECORDS,
  type IdentifiedRecords,
  type RecordsPlace,
  type RecordsToIdentify,
} from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { SourceStream } from '../domain/ports/source.ts';
import { identityOf } from '../domain/record.ts';
import {
  BY_CONTENT,
  firstKeyOf,
  type IdentifyingMapping,
  type KeyOf,
  type StreamIdentity,
  wasChosenAmong,
} from '../domain/stream-identity.ts';
import { createBitmap } from '../lib/collections/bitmap.ts';
import { createSeenTexts } from '../lib/seen-texts.ts';
import { storedFields } from './incoming-record.ts';
import { untilWritable, type WritableWait } from './until-writable.ts';

interface IdentifyRequest {
  source: string;
  stream: SourceStream;
  mapper: Mapper;
  /** Columns that are never stored. */
  omit: readonly string[];
  before: { identity: StreamIdentity | null };
}

interface Identified {
  /** The keys of rows that mappings identify; null where key columns or the content identify the rows. */
  keyOf: KeyOf | null;
  /** True if the source has no new export, so that nothing could be chosen and there is nothing to read. */
  nothingNew: boolean;
}

/**
 * How many different keys are remembered in a complete read (I9). They take 50 MB. Beyond them, a key counts as repeated only if
 * it repeats one of these.
 */
const KEYS_MAX = 2_000_000;

/**
 * Finds out what identifies the rows of a stream, stores it, and changes the keys of the stored records where they depend on
 * something else. Null after an abort.
 */
export async function identifyStream(
  request: IdentifyRequest,
  { ledger, wait }: { ledger: Pick<IntakeLedger, 'storeIdentity' | 'identifyRecords'>; wait: WritableWait },
  abort: AbortSignal,
): Promise<Identified | null> {
  const { source, stream, mapper, omit } = request;
  const stored = request.before.identity;
  const own = mapper.identifying?.byStream.get(stream.name) ?? [];
  const identity: StreamIdentity | 'nothing-new' | null =
    stream.key.length > 0 ? { by: 'columns', columns: stream.key } : await identityByMappings(request, own, abort);
  if (identity === null) return null;
  if (identity === 'nothing-new') return { keyOf: null, nothingNew: true };

  const keyOf = keyOfRows(identity, own);
  if (JSON.stringify(identity) !== JSON.stringify(stored)) {
    const of = { source, stream: stream.name, identity };
    // A ledger that has stored no identity has the key columns in its keys, or the content. From records without a key column
    // their key cannot be made.
    const isAsStored = stored === null && (stream.key.length > 0 || keyOf === null);
    if (isAsStored || stream.key.some((column) => omit.includes(column))) {
      await untilWritable(() => ledger.storeIdentity(of), wait, abort);
    } else {
      const newKey = keyOf ?? ((fields) => identityOf(fields, stream.key));
      if (!(await changeKeys({ ...of, keyOf: newKey }, { ledger, wait }, abort))) return null;
    }
  }
  return { keyOf, nothingNew: false };
}

function keyOfRows(identity: StreamIdentity, own: readonly IdentifyingMapping[]): KeyOf | null {
  if (identity.by !== 'mappings' || identity.mappings.length === 0) return null;
  return firstKeyOf(
    identity.mappings.flatMap((expressions) => own.find((one) => one.expressions === expressions) ?? []),
  );
}

/** Gives all records of the stream their new keys. False after an abort; the next run then begins again. */
async function changeKeys(
  request: { source: string; stream: string; identity: StreamIdentity; keyOf: KeyOf },
  { ledger, wait }: { ledger: Pick<IntakeLedger, 'identifyRecords'>; wait: WritableWait },
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
  abort: AbortSignal,
): Promise<StreamIdentity | 'nothing-new' | null> {
  const { stream, mapper } = request;
  const stored = request.before.identity?.by === 'mappings' ? request.before.identity : null;
  const functions = mapper.identifying?.functions ?? '';
  if (own.length === 0) return BY_CONTENT;
  if (stored !== null && wasChosenAmong(stored, own)) {
    if (stored.mappings.length > 0) return { ...stored, functions };
    // The content is the weakest identity, so each complete read looks again for unique keys.
    if (stream.reads !== 'snapshot') return stored;
  }

  // A mapping that was chosen before stays chosen: a key that is double now is an error of this export.
  const isKept = ({ expressions }: IdentifyingMapping) => stored?.mappings.includes(expressions) === true;
  const chosen = (
    mappings: readonly IdentifyingMapping[],
    compared: readonly IdentifyingMapping[],
  ): StreamIdentity => ({
    by: 'mappings',
    mappings: textsOf(mappings),
    compared: textsOf(compared),
    functions: mappings.length === 0 ? '' : functions,
  });
  const kept = own.filter(isKept);
  // A read of changes proves nothing about the rows that it does not have.
  if (stream.reads === 'changes') return chosen(kept, kept);
  const read = await uniqueIn(
    request,
    own.filter((one) => !isKept(one)),
    abort,
  );
  if (read === null || read === 'nothing-new') return read;
  // A read without any key proves nothing either, so the next read decides.
  if (read.keys === 0) return chosen(kept, kept);
  return chosen(
    own.filter((one) => isKept(one) || read.unique.has(one)),
    own,
  );
}

function textsOf(mappings: readonly IdentifyingMapping[]): string[] {
  return [...new Set(mappings.map(({ expressions }) => expressions))];
}

/**
 * Reads a stream completely, and finds the mappings whose keys are unique in it. Rows with the same key and the same content do not
 * count as double. Rows in which the connector has found an issue do not count at all. Null after an abort.
 */
async function uniqueIn(
  { stream, omit }: IdentifyRequest,
  mappings: readonly IdentifyingMapping[],
  abort: AbortSignal,
): Promise<{ unique: ReadonlySet<IdentifyingMapping>; keys: number } | 'nothing-new' | null> {
  const omitted = new Set(omit);
  const unique = new Set(mappings);
  const seen = createSeenTexts(KEYS_MAX);
  let keys = 0;
  for await (const page of stream.pull({ mode: 'snapshot', cursor: null }, abort)) {
    if (abort.aborted) return null;
    if (page.nothingNew === true) return 'nothing-new';
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
