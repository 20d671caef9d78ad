import type { Issue } from '../domain/issue.ts';
import type { MissingGuard, RunTrigger } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Page, SourceReader, SourceRow, SourceStream } from '../domain/ports/source.ts';
import { type IncomingRecord, identityOf, RAW_FIELD, serializeFields } from '../domain/record.ts';
import { createBitmap } from '../lib/bitmap.ts';
import { messageOf } from '../lib/errors.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { type Patience, untilWritable } from './until-writable.ts';

export interface PullRequest {
  source: string;
  trigger: RunTrigger;
  reader: SourceReader;
  mappingRevision: string;
  /** Columns that are never stored. */
  omit: readonly string[];
  guard: MissingGuard;
  /** True where the operator does not care about what has gone missing. */
  ignoreMissing: boolean;
}

export interface PullOptions {
  ledger: Ledger;
  emit: Emit;
  /** Called after a page with changed records was stored: there is something to map. */
  onChanged: (source: string) => Promise<void>;
  /** While the ledger cannot be written the run rests, and goes on where it was. */
  patience: Patience;
}

/** How a run ended. `interrupted`: it was told to stop, and the next one starts over where that is needed. */
export interface PullResult {
  runId: number;
  result: 'complete' | 'interrupted';
  /** Streams whose export the guard takes for broken, and why. */
  guarded: { stream: string; message: string }[];
}

/**
 * Pulls one source from start to end. The ledger stores each page before the connector is asked for the next one, so a
 * crash repeats at most a page, and the cursor is never ahead of what is stored (I1).
 *
 * @throws what the connector throws, after the run was closed as failed
 */
export async function pull(request: PullRequest, options: PullOptions, abort: AbortSignal): Promise<PullResult> {
  const { source, trigger, reader, mappingRevision } = request;
  const { ledger, patience } = options;
  const streams = reader.streams.map(({ name, snapshot }) => ({ name, snapshot }));
  const start = { source, trigger, streams, mappingRevision };
  const { runId, cursors } = await untilWritable(() => ledger.startRun(start), patience, abort);
  const guarded: PullResult['guarded'] = [];
  try {
    for (const stream of reader.streams) {
      const cursor = cursors[stream.name] ?? null;
      const message = await pullStream({ ...request, runId, stream, cursor }, options, abort);
      if (message !== null) guarded.push({ stream: stream.name, message });
      if (abort.aborted) break;
    }
  } catch (error) {
    // A connector that is told to stop may do so by throwing.
    if (!abort.aborted) {
      const failed = { runId, result: 'failed', error: messageOf(error) } as const;
      await untilWritable(() => ledger.endRun(failed), patience, abort);
      throw error;
    }
  }
  const result = abort.aborted ? 'interrupted' : 'complete';
  await untilWritable(() => ledger.endRun({ runId, result }), patience, abort);
  // Records that were made stale by a new mapping wait from the end of their stream on.
  await options.onChanged(source);
  return { runId, result, guarded };
}

/**
 * Notes a run whose source could not even be opened, so that the ledger shows it as it shows one that failed on the way.
 */
export async function noteFailedRun(
  { source, trigger }: Pick<PullRequest, 'source' | 'trigger'>,
  error: unknown,
  { ledger, patience }: Pick<PullOptions, 'ledger' | 'patience'>,
  abort: AbortSignal,
): Promise<void> {
  const start = { source, trigger, streams: [], mappingRevision: '' };
  const { runId } = await untilWritable(() => ledger.startRun(start), patience, abort);
  const failed = { runId, result: 'failed', error: messageOf(error) } as const;
  await untilWritable(() => ledger.endRun(failed), patience, abort);
}

interface StreamPull extends PullRequest {
  runId: number;
  stream: SourceStream;
  cursor: JsonValue;
}

/** Gives why the guard takes the export for broken, or null. */
async function pullStream(
  request: StreamPull,
  { ledger, emit, onChanged, patience }: PullOptions,
  abort: AbortSignal,
): Promise<string | null> {
  const { runId, source, stream, cursor, omit, guard, ignoreMissing } = request;
  const seen = createBitmap();
  const omitted = new Set(omit);
  const hold = stream.snapshot && stream.key.length === 0;
  let read = 0;
  let uncounted = 0;
  for await (const page of stream.read(cursor, abort)) {
    if (abort.aborted) return null;
    const records = page.rows.map((row) => incomingRecord(row, stream.key, omitted));
    const toStage = { runId, source, stream: stream.name, records, seen, hold, uncounted, ...cursorOf(page) };
    const staged = await untilWritable(() => ledger.stagePage(toStage), patience, abort);
    uncounted = staged.counted ? 0 : uncounted + records.length;
    read += records.length;
    const { done = null, total = null } = page.progress ?? {};
    emit({ type: 'page', source, stream: stream.name, read, changed: staged.changed, done, total });
    if (staged.changed > 0 && !hold) await onChanged(source);
  }
  if (abort.aborted) return null;
  const flagItems = !ignoreMissing;
  const end = { runId, source, stream: stream.name, seen: stream.snapshot ? seen : null, flagItems, guard, uncounted };
  const { guarded } = await untilWritable(() => ledger.endStream(end), patience, abort);
  if (hold) await onChanged(source);
  return guarded;
}

function cursorOf(page: Page): { cursor?: JsonValue } {
  return page.cursor === undefined ? {} : { cursor: page.cursor };
}

/** A row as it is stored: without the columns that are never stored, and with its identity and hash. */
export function incomingRecord(
  row: SourceRow,
  keyColumns: readonly string[],
  omitted: ReadonlySet<string>,
): IncomingRecord {
  const issues = row.issues ?? [];
  const { raw, hash } = serializeFields(storedFields(row.fields, keyColumns, omitted), issues);
  const identity = keyColumns.length === 0 ? null : identityOf(row.fields, keyColumns);
  if (identity !== null) return { identity, hash, raw, place: row.place, issues };
  // A row that cannot be told from others by a key is told by its content.
  const missingKey = keyColumns.length > 0 && issues.length === 0 ? [keyIssue(row, keyColumns)] : [];
  return { identity: hash, hash, raw, place: row.place, issues: [...issues, ...missingKey] };
}

function storedFields(fields: JsonObject, keyColumns: readonly string[], omitted: ReadonlySet<string>): JsonObject {
  if (omitted.size === 0) return fields;
  // Where a row fell apart, any of its values may stand under any name: of it only the key is kept.
  const kept = RAW_FIELD in fields ? keyColumns : Object.keys(fields);
  const stored: JsonObject = {};
  for (const name of kept) {
    const value = fields[name];
    if (value !== undefined && !omitted.has(name)) stored[name] = value;
  }
  return stored;
}

function keyIssue(row: SourceRow, keyColumns: readonly string[]): Issue {
  const empty = keyColumns.filter((column) => (row.fields[column] ?? '') === '');
  const absent = empty.filter((column) => !(column in row.fields));
  return {
    code: 'record.key',
    field: empty.join(', '),
    message:
      absent.length > 0
        ? `The key column ${absent.join(', ')} does not exist; the row has ${Object.keys(row.fields).join(', ')}.`
        : `The key column ${empty.join(', ')} is empty.`,
    cure: 'Fill the column in the source, or name other columns as the key of the stream.',
  };
}
