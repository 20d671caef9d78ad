import type { Mapper } from '../domain/mapping.ts';
import type { GoneSoFar, HeldStream, MissingGuard } from '../domain/ports/guarded-intake.ts';
import type { CreatesAfter, OlderExport, RunCause, RunEnd, StreamEnd, StreamProgress } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Page, ReadMode, SourceReader, SourceStream } from '../domain/ports/source.ts';
import type { KeyOf } from '../domain/record.ts';
import type { Clock } from '../lib/clock.ts';
import { createBitmap } from '../lib/collections.ts';
import { messageAndCureOf } from '../lib/errors.ts';
import type { JsonValue } from '../lib/json.ts';
import { addLogFields } from '../lib/logging/logging.ts';
import { identifyStream } from './identify-stream.ts';
import { createIgnoredIssues, goneAfter, incomingRecords, type PagePart, partsOfChanges } from './incoming-record.ts';
import type { MapQueue } from './map-queue.ts';
import { compareTimes } from './older-snapshot.ts';
import {
  assertIdentified,
  assertMayBeginAgain,
  assertReadBefore,
  excessWarning,
  misnamedWarning,
  refusedFault,
  shownOf,
} from './read-faults.ts';
import { mapAndStore, NOTHING_SEEN, storeUnmapped } from './store-page.ts';
import { untilWritable, type WritableWait } from './until-writable.ts';

interface PullRequest extends RunCause {
  source: string;
  reader: SourceReader;
  /** The mapping that the run begins with. */
  mapper: Mapper;
  /** Called at the end of a read with what people should know about the rows or files of a stream that was read nevertheless. */
  onWarning?: (stream: string, message: string) => void;
  /** Columns that are never stored. */
  omit: readonly string[];
  guard: MissingGuard;
  /** What becomes of the items of missing records. */
  onMissing: 'flag' | 'ignore' | 'unpublish';
  /** How often streams that give changes are also read completely, in milliseconds, unless the stream says it itself. */
  snapshotEveryMs: number;
}

export interface PullOptions {
  ledger: Pick<
    IntakeLedger,
    | 'startRun'
    | 'storeIdentity'
    | 'identifyRecords'
    | 'itemRecords'
    | 'comparePage'
    | 'countPresent'
    | 'lookUpPage'
    | 'checkGone'
    | 'stagePage'
    | 'endStream'
    | 'endRun'
  >;
  emit: Emit;
  mapQueue: Pick<MapQueue, 'mapPage' | 'room' | 'mapStored'>;
  clock: Clock;
  /** How the run waits while the ledger cannot be written or the `map` queue takes no jobs. */
  wait: WritableWait;
}

/**
 * The result of a run. An `interrupted` run was stopped; the next run reads its unfinished pages again. A `held` run has read
 * its source and stored nothing.
 */
export interface PullResult {
  runId: number;
  result: 'complete' | 'held' | 'interrupted';
  /** The streams whose export the guard takes for broken, each with the reason. */
  guarded: Omit<HeldStream, 'source'>[];
  /** How many stored rows are mapped again, because the mapping has changed since they were mapped. */
  remapped: number;
}

/**
 * Pulls one source from start to end. Each page is mapped and stored before the connector reads the next one. So a
 * crash repeats one page at most, and the cursor is never ahead of what is stored (I1). Reading may wait for the `map`
 * queue, but never for the API: deliveries that wait are stored in the ledger.
 *
 * @throws the connector's error, after the run was closed as failed
 */
export async function pull(request: PullRequest, options: PullOptions, abort: AbortSignal): Promise<PullResult> {
  const { source, trigger, askedBy, reader, mapper } = request;
  const { ledger, wait } = options;
  const streams = reader.streams.map(({ name }) => name);
  const start = { source, trigger, askedBy, streams, mappingRevision: mapper.revision };
  const { runId, remapped, streams: progress } = await untilWritable(() => ledger.startRun(start), wait, abort);
  addLogFields({ run: runId });
  const guarded: PullResult['guarded'] = [];
  let unended: RunEnd['unended'];
  try {
    for (const stream of inReadingOrder(request)) {
      const before = progress[stream.name] ?? NEVER_READ;
      const warnings = new Set<string>();
      const held = await pullStream({ ...request, runId, stream, before, warnings }, options, abort).finally(() => {
        const shown = shownOf(warnings);
        unended = { source, stream: stream.name, warnings: shown };
        for (const message of shown) request.onWarning?.(stream.name, message);
      });
      if (held !== null) guarded.push({ stream: stream.name, ...held });
      if (abort.aborted) break;
      unended = undefined;
    }
    const passed = streams.filter((name) => guarded.every(({ stream }) => stream !== name));
    if (!abort.aborted) await reader.acknowledge(passed, abort);
  } catch (error) {
    // After an abort the connector may throw, which is no failure.
    if (!abort.aborted) {
      const failed = { runId, result: 'failed', error: messageAndCureOf(error), unended } as const;
      await untilWritable(() => ledger.endRun(failed), wait, abort);
      throw error;
    }
  }
  const result = abort.aborted ? 'interrupted' : 'complete';
  const leftStreams = { guard: request.guard, flagItems: request.onMissing !== 'ignore' };
  const held = await untilWritable(() => ledger.endRun({ runId, result, unended, leftStreams }), wait, abort);
  for (const { source: of, ...stream } of held) {
    if (of === source) guarded.push(stream);
    else options.emit({ type: 'guard_held', source: of, ...stream });
  }
  // Records that a new mapping has made stale are mapped from here on, because their stream has ended.
  await options.mapQueue.mapStored(source);
  return { runId, result, guarded, remapped };
}

/** Streams that the mappings look up are read first, so that the records of other streams find their entries. */
function inReadingOrder({ source, reader, mapper }: PullRequest): readonly SourceStream[] {
  const own = (mapper.lookups ?? []).flatMap(({ stream }) => (stream?.source === source ? [stream.stream] : []));
  const isLookedUp = ({ name }: SourceStream) => own.includes(name);
  return [...reader.streams.filter(isLookedUp), ...reader.streams.filter((stream) => !isLookedUp(stream))];
}

/**
 * Stores a run of which no row is stored, so that people can see it: the source could not even be opened, or the run is held, or it
 * was stopped before.
 *
 * @param end called with the number of the run. Gives its result
 * @throws the error of `end`, after the run was closed as failed
 */
export async function noteUnreadRun(
  { source, trigger, askedBy }: Pick<PullRequest, 'source' | 'trigger' | 'askedBy'>,
  end: (runId: number) => Promise<Pick<RunEnd, 'result' | 'error'>>,
  { ledger, wait }: Pick<PullOptions, 'ledger' | 'wait'>,
  abort: AbortSignal,
): Promise<number> {
  const start = { source, trigger, askedBy, streams: [], mappingRevision: '' };
  const { runId } = await untilWritable(() => ledger.startRun(start), wait, abort);
  let ended: Awaited<ReturnType<typeof end>>;
  try {
    ended = await end(runId);
  } catch (error) {
    const failed = { runId, result: 'failed', error: messageAndCureOf(error) } as const;
    await untilWritable(() => ledger.endRun(failed), wait, abort);
    throw error;
  }
  await untilWritable(() => ledger.endRun({ runId, ...ended }), wait, abort);
  return runId;
}

const NEVER_READ: StreamProgress = {
  cursor: null,
  snapshotAt: null,
  asOf: null,
  files: {},
  identity: null,
  isHeld: false,
};

interface StreamPull extends PullRequest {
  runId: number;
  stream: SourceStream;
  before: StreamProgress;
  /** The warnings of all reads of the stream in this run. */
  warnings: Set<string>;
}

/** One read of a stream: a snapshot, or changes. */
interface StreamRead extends StreamPull {
  mode: ReadMode;
  /** The keys of rows that mappings identify; null where key columns or the content identify the rows. */
  keyOf: KeyOf | null;
  /** True if this snapshot follows a read of changes, so that it shows what the changes have missed. */
  compares: boolean;
  /** True if no other read of the stream follows in this run, unless this one has to be followed by a snapshot. */
  isLast: boolean;
}

/** How a read of a stream has ended. */
interface ReadEnd {
  held: Held;
  /** True if this read of changes did not reach its end, and a snapshot has to follow. */
  needsSnapshot: boolean;
}

/** Why the guard holds an export; null if it does not. */
type Held = Pick<HeldStream, 'message' | 'isOlder'> | null;

async function pullStream(asked: StreamPull, options: PullOptions, abort: AbortSignal): Promise<Held> {
  const request = { ...asked, stream: withWarnings(asked) };
  const identified = await identifyStream(request, options, abort);
  if (identified === null) return null;
  const { keyOf } = identified;
  const stream = identified.nothingNew ? { ...request.stream, pull: only(identified.nothingNew) } : request.stream;
  const [mode, isFollowed] = modesOf(request, options.clock.now());
  const common = { ...request, stream, keyOf };
  const first = await readStream({ ...common, mode, compares: false, isLast: !isFollowed }, options, abort);
  if (abort.aborted) return null;
  if (!isFollowed && !first.needsSnapshot) return first.held;
  // What the changes have missed is only known if they were read to their end.
  const compares = !first.needsSnapshot;
  const { held } = await readStream({ ...common, mode: 'snapshot', compares, isLast: true }, options, abort);
  return abort.aborted ? null : held;
}

/**
 * The mode of the first read, and whether a snapshot follows it. A stream that can give changes and snapshots begins with a
 * snapshot, because only a snapshot shows all records. Later, a snapshot follows the changes whenever the last snapshot is
 * old, or is held by the guard. It finds records that the changes have missed, and records that are gone.
 */
function modesOf({ stream, before, snapshotEveryMs }: StreamPull, now: number): [first: ReadMode, isFollowed: boolean] {
  if (stream.reads !== 'changes-and-snapshot') return [stream.reads, false];
  if (before.snapshotAt === null || before.cursor === null) return ['snapshot', false];
  const age = now - before.snapshotAt;
  const isRecent = age >= 0 && age < (stream.snapshotEveryMs ?? snapshotEveryMs);
  return ['changes', before.isHeld || !isRecent];
}

/** The stream, whose reads add the warnings of their pages, also if a read fails after them. */
function withWarnings({ stream, warnings }: StreamPull): SourceStream {
  return {
    ...stream,
    async *pull(request, signal) {
      for await (const page of stream.pull(request, signal)) {
        for (const text of page.warnings ?? []) warnings.add(text);
        yield page;
      }
    },
  };
}

function only(page: Page): SourceStream['pull'] {
  return async function* () {
    yield page;
  };
}

async function readStream(request: StreamRead, options: PullOptions, abort: AbortSignal): Promise<ReadEnd> {
  const { runId, source, stream, before, mode, omit, guard, onMissing, keyOf, warnings } = request;
  const flagItems = onMissing !== 'ignore';
  const { ledger, emit, mapQueue, wait } = options;
  const isByContent = stream.key.length === 0 && keyOf === null;
  const replaces = mode === 'changes' && !isByContent;
  const seen = replaces ? NOTHING_SEEN : createBitmap();
  const omitted = new Set(omit);
  const ignored = createIgnoredIssues(request.mapper.uses?.(stream.name) ?? null, { key: stream.key, omitted });
  const isMappedLater = mode === 'snapshot' && isByContent;
  const storePage = isMappedLater ? storeUnmapped : mapAndStore;
  let read = 0;
  let changed = 0;
  let uncounted = 0;
  let number = 0;
  let endCursor: JsonValue | undefined;
  let isNew = true;
  let times: StreamEnd['times'];
  let held: OlderExport | null = null;
  let goneSoFar: GoneSoFar | null = null;
  let needsSnapshot = false;
  for await (const page of stream.pull({ mode, cursor: mode === 'changes' ? before.cursor : null }, abort)) {
    if (abort.aborted) return ABORTED;
    if (page.nothingNew === true) {
      assertReadBefore(request);
      isNew = false;
      break;
    }
    if (page.beginAgain !== undefined) {
      assertMayBeginAgain(request, page.beginAgain);
      warnings.add(page.beginAgain);
      needsSnapshot = true;
      break;
    }
    if (mode === 'snapshot' && page.asOf !== undefined && times === undefined) {
      const toCompare = { ...request, warn: (text: string) => warnings.add(text) };
      ({ times, held } = await compareTimes(toCompare, page.asOf, options, abort));
      if (abort.aborted) return ABORTED;
      if (held !== null) break;
    }
    if (mode === 'changes') assertIdentified(request, page.rows);
    const parts: readonly PagePart[] = replaces
      ? partsOfChanges(page.rows, { key: stream.key, omitted, keyOf })
      : [{ gone: new Set(), records: incomingRecords(page.rows, stream.key, omitted, keyOf) }];
    const checked = await checkTombstones(request, { parts, before: goneSoFar }, options, abort);
    needsSnapshot = checked === 'excess';
    if (checked === 'excess') break;
    goneSoFar = checked;
    ignored.count(page.rows);
    // Until a snapshot is complete, changes cannot be read from its end.
    if (mode === 'snapshot') endCursor = page.cursor;
    const cursor = mode === 'changes' && page.cursor !== undefined ? { cursor: page.cursor } : {};
    for (const [at, { records, gone }] of parts.entries()) {
      number += 1;
      const cursorOfPart = at === parts.length - 1 ? cursor : {};
      const goneOfPart = gone.size === 0 ? {} : { gone: { identities: [...gone], flagItems } };
      const part = { runId, source, stream: stream.name, records, seen, uncounted, number };
      const toStore = { ...part, ...goneOfPart, ...cursorOfPart };
      const staged = await storePage(toStore, { ...options, mapper: request.mapper }, abort);
      if (staged === null) return ABORTED;
      uncounted = staged.counted ? 0 : uncounted + records.length;
      read += records.length;
      changed += staged.changed;
      const { done = null, total = null } = page.progress ?? {};
      emit({ type: 'page', source, stream: stream.name, read, changed: staged.changed, done, total });
      await mapQueue.room(abort);
    }
  }
  if (abort.aborted) return ABORTED;
  const message = ignored.describe();
  if (message !== null) warnings.add(message);
  if (goneSoFar !== null && goneSoFar.misnamed !== null) warnings.add(misnamedWarning(goneSoFar.misnamed));
  const of = { runId, source, stream: stream.name, flagItems, withdraws: onMissing === 'unpublish', guard };
  const end = {
    ...of,
    read,
    uncounted,
    seen: mode === 'snapshot' && isNew && held === null ? seen : null,
    times,
    creates: needsSnapshot ? 'keep' : createsAfter(request, held !== null || !isNew),
    warnings: shownOf(warnings),
    ...(held === null ? {} : { held }),
    ...(endCursor === undefined ? {} : { cursor: endCursor }),
    ...(request.compares ? { missedByChanges: changed } : {}),
  };
  const { guarded, refused } = await untilWritable(() => ledger.endStream(end), wait, abort);
  if (isMappedLater) await mapQueue.mapStored(source);
  if (refused !== null) throw refusedFault(request, { ...refused, read });
  return { held: guarded === null ? null : { message: guarded, isOlder: held !== null }, needsSnapshot };
}

/** Decides whether the guard allows what the tombstones of a page take away, together with those of the pages before it. */
async function checkTombstones(
  request: StreamRead,
  { parts, before }: { parts: readonly PagePart[]; before: GoneSoFar | null },
  { ledger, wait }: PullOptions,
  abort: AbortSignal,
): Promise<GoneSoFar | null | 'excess'> {
  const { runId, source, stream, guard, warnings } = request;
  const identities = goneAfter(parts);
  if (identities.length === 0) return before;
  const toCheck = { runId, source, stream: stream.name, identities, before, guard };
  const { excess, ...checked } = await untilWritable(() => ledger.checkGone(toCheck), wait, abort);
  if (excess === null) return checked;
  warnings.add(excessWarning(request, excess, identities));
  return 'excess';
}

const ABORTED: ReadEnd = { held: null, needsSnapshot: false };

/** Changes without a new one show as much as other changes. */
function createsAfter({ isLast, mode }: StreamRead, isWithoutRows: boolean): CreatesAfter {
  if (!isLast) return 'keep';
  return mode === 'snapshot' && isWithoutRows ? 'resume' : 'decide';
}
