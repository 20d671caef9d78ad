import type { MapResult } from '../../../src/domain/mapping.ts';
import type { MissingGuard } from '../../../src/domain/ports/guarded-intake.ts';
import { type IncomingRecord, serializeFields } from '../../../src/domain/record.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { text } from './items.ts';

export function row(identity: string, fields: JsonObject = {}, line = 1): IncomingRecord {
  return { identity, ...serializeFields({ id: identity, ...fields }), place: { file: 'test.csv', line }, issues: [] };
}

export interface Export {
  stream?: string;
  rows: IncomingRecord[];
  revision?: string;
  snapshot?: boolean;
  /** True for a stream without a key. */
  deferMapping?: boolean;
  /** False for a source with `onMissing: ignore`. */
  flagItems?: boolean;
  guard?: MissingGuard;
}

const HALF: MissingGuard = { maxMissing: 0.5, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 0.5 };
/** A guard that treats no read as a broken export. */
export const NO_GUARD: MissingGuard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };

/** Runs one complete pull of one stream. Returns the id of the run and the results of its page and end. */
export async function pullRows(
  ledger: SqliteLedger,
  {
    stream = 'default',
    rows,
    revision = 'r1',
    snapshot = true,
    deferMapping = false,
    flagItems = true,
    guard = HALF,
  }: Export,
) {
  const { runId } = await ledger.startRun({
    source: 'erp',
    trigger: 'cli',
    streams: [stream],
    mappingRevision: revision,
  });
  const seen = createBitmap();
  const page = await ledger.stagePage({
    runId,
    source: 'erp',
    stream,
    records: rows,
    seen,
    deferMapping,
    uncounted: 0,
  });
  const end = await ledger.endStream({
    runId,
    source: 'erp',
    stream,
    seen: snapshot ? seen : null,
    read: rows.length,
    creates: 'decide' as const,
    flagItems,
    guard,
    uncounted: page.counted ? 0 : rows.length,
  });
  await ledger.endRun({ runId, result: 'complete' });
  return { runId, ...page, ...end };
}

/** Runs one complete pull of these rows, and then maps and stages the new and changed ones. */
export async function pullAndMap(ledger: SqliteLedger, rows: IncomingRecord[], map: (fields: JsonObject) => MapResult) {
  await pullRows(ledger, { rows });
  return mapRows(ledger, map);
}

/** Runs one complete pull of rows with these ids, and maps each row to its result. */
export async function stageRows(ledger: SqliteLedger, results: Record<string, MapResult>): Promise<void> {
  // A row gets a new version when its result changes.
  const rows = Object.entries(results).map(([id, result]) => row(id, { version: JSON.stringify(result) }));
  await pullAndMap(ledger, rows, ({ id }) => results[text(id)] ?? { status: 'excluded' });
}

/** Maps and stages all records that wait to be mapped. */
export async function mapRows(ledger: SqliteLedger, map: (fields: JsonObject) => MapResult) {
  const records = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 10_000 });
  return ledger.stage(records.map(({ id, version, fields }) => ({ id, version, result: map(fields) })));
}
