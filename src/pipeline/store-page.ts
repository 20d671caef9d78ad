import type { Mapper } from '../domain/mapping.ts';
import type { Correction, ReadPage, SeenRecords, StagedPage } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import { identityOf, recordKey } from '../domain/record.ts';
import { messageOf } from '../lib/errors.ts';
import { incomingRecords } from './incoming-record.ts';
import type { MapQueue } from './map-queue.ts';
import { untilWritable, type WritableWait } from './until-writable.ts';

/**
 * Among changes, a later row of a record replaces the earlier ones. So no record counts as seen before, and rows with
 * the same key are stored one after the other. In a snapshot, rows with the same key are separate records.
 */
export const NOTHING_SEEN: SeenRecords = { has: () => false, add: () => undefined, size: () => 0 };

interface PageToStore extends ReadPage {
  number: number;
  uncounted: number;
}

interface StoreOptions {
  ledger: Pick<IntakeLedger, 'lookUpPage' | 'stagePage'>;
  mapQueue: Pick<MapQueue, 'mapPage' | 'mapStored'>;
  wait: WritableWait;
}

/**
 * Stores changed rows that their content identifies. They are mapped at the end of the stream: only then is it known
 * which rows are gone.
 */
export function storeUnmapped(
  page: PageToStore,
  { ledger, wait }: StoreOptions,
  abort: AbortSignal,
): Promise<StagedPage> {
  const { number: _, ...toStage } = page;
  return untilWritable(() => ledger.stagePage({ ...toStage, deferMapping: true }), wait, abort);
}

/** Maps and stores the changed rows of a page. Null after an abort. */
export async function mapAndStore(
  page: PageToStore,
  { ledger, mapQueue, wait, mapper }: StoreOptions & { mapper: Mapper },
  abort: AbortSignal,
): Promise<StagedPage | null> {
  const lookUp = await untilWritable(() => ledger.lookUpPage(page), wait, abort);
  if (lookUp.skipped) return { changed: 0, counted: false };
  const { toMap } = lookUp;
  if (toMap.length === 0) {
    const { number: _, ...toStage } = page;
    const mapped = { mappingRevision: mapper.revision, results: new Map() };
    return await untilWritable(() => ledger.stagePage({ ...toStage, deferMapping: false, mapped }), wait, abort);
  }
  const staged = await untilWritable(() => mapQueue.mapPage({ ...page, toMap, mapper }, wait, abort), wait, abort);
  if (staged !== null && hasUnmapped(staged)) await mapQueue.mapStored(page.source);
  return staged;
}

/** True if changed rows of a page were stored without being mapped. */
function hasUnmapped({ changed, summary }: StagedPage): boolean {
  return summary !== undefined && changed > summary.mapped + summary.excluded + summary.quarantined;
}

// Stores rows that a person has corrected.
//
// The rows are handled like those of any page: their hashes are compared, the changed ones are mapped, and one
// transaction stores records, items and deliveries (I1, I4). The run of an upload does not read the source. The cursor
// does not move, and no record counts as missing. The next export of the source replaces a corrected row with its own
// row.

interface CorrectionRequest {
  source: string;
  stream: string;
  /** Columns that identify a record; at least one. */
  key: readonly string[];
  /** Columns that are never stored. */
  omit: readonly string[];
  /** The corrected rows; no key occurs twice. */
  rows: readonly Correction[];
  /** The person who has corrected them. */
  askedBy: string | undefined;
  mapper: Mapper;
}

export interface CorrectionResult {
  runId: number;
  result: 'complete' | 'interrupted';
  /** How many rows were left out, because their records have changed or are gone since the person saw them. */
  leftOut: number;
  /** How many of the rows differed from the stored records. */
  changed: number;
  mapped: number;
  quarantined: number;
  excluded: number;
}

const PAGE_ROWS = 500;

/**
 * Call it while no other run of the source is under way. Otherwise a record that disappears meanwhile would be stored
 * as a new one.
 */
export async function storeCorrections(
  { source, stream, key, omit, rows, askedBy, mapper }: CorrectionRequest,
  options: {
    ledger: Pick<IntakeLedger, 'startRun' | 'recordsByKey' | 'lookUpPage' | 'stagePage' | 'endStream' | 'endRun'>;
    mapQueue: Pick<MapQueue, 'mapPage' | 'mapStored'>;
    emit: Emit;
    wait: WritableWait;
  },
  abort: AbortSignal,
): Promise<CorrectionResult> {
  const { ledger, mapQueue, emit, wait } = options;
  const start = { source, trigger: 'upload' as const, askedBy, streams: [stream], mappingRevision: mapper.revision };
  const { runId } = await untilWritable(() => ledger.startRun(start), wait, abort);
  const done = { runId, leftOut: 0, changed: 0, mapped: 0, quarantined: 0, excluded: 0 };
  let read = 0;
  let uncounted = 0;
  try {
    for (let at = 0; at < rows.length && !abort.aborted; at += PAGE_ROWS) {
      const part = rows.slice(at, at + PAGE_ROWS);
      const present = await stillThere(part, { source, stream, key }, ledger);
      done.leftOut += part.length - present.length;
      const records = incomingRecords(present, key, new Set(omit));
      const page = { runId, source, stream, records, seen: NOTHING_SEEN, uncounted, number: at / PAGE_ROWS + 1 };
      const staged = await mapAndStore(page, { ledger, mapQueue, wait, mapper }, abort);
      if (staged === null) break;
      uncounted = staged.counted ? 0 : uncounted + records.length;
      done.changed += staged.changed;
      done.mapped += staged.summary?.mapped ?? 0;
      done.quarantined += staged.summary?.quarantined ?? 0;
      done.excluded += staged.summary?.excluded ?? 0;
      read += records.length;
      emit({ type: 'page', source, stream, read, changed: staged.changed, done: at + part.length, total: rows.length });
    }
    if (!abort.aborted) {
      const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
      const end = {
        runId,
        source,
        stream,
        read,
        uncounted,
        seen: null,
        creates: 'keep' as const,
        flagItems: false,
        guard,
      };
      await untilWritable(() => ledger.endStream(end), wait, abort);
    }
  } catch (error) {
    const failed = { runId, result: 'failed', error: messageOf(error) } as const;
    await untilWritable(() => ledger.endRun(failed), wait, abort);
    throw error;
  }
  const result = abort.aborted ? 'interrupted' : 'complete';
  await untilWritable(() => ledger.endRun({ runId, result }), wait, abort);
  await mapQueue.mapStored(source);
  return { ...done, result };
}

/** The rows whose records have not changed since the person saw them, and whose key no other row has. */
async function stillThere(
  rows: readonly Correction[],
  { source, stream, key }: Pick<CorrectionRequest, 'source' | 'stream' | 'key'>,
  ledger: Pick<IntakeLedger, 'recordsByKey'>,
): Promise<Correction[]> {
  const keys = rows.map(({ fields }) => identityOf(fields, key) ?? '');
  const asked = keys.flatMap((one) => [one, recordKey(one, 2)]);
  const found = await ledger.recordsByKey({ source, stream, keys: asked });
  const stored = new Map(found.map((record) => [record.key, record]));
  return rows.filter(({ version }, at) => {
    const record = stored.get(keys[at] ?? '');
    if (stored.get(recordKey(keys[at] ?? '', 2))?.missing === false) return false;
    return record !== undefined && !record.missing && record.version === version;
  });
}
