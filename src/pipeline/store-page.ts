import type { Mapper } from '../domain/mapping.ts';
import type { ReadPage, SeenRecords, StagedPage } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
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
  { ledger, wait }: Pick<StoreOptions, 'ledger' | 'wait'>,
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
