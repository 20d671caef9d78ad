import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { AsOf, SourceStream } from '../domain/ports/source.ts';
import type { KeyOf } from '../domain/stream-identity.ts';
import type { Clock } from '../lib/clock.ts';
import { createBitmap } from '../lib/collections/bitmap.ts';
import { incomingRecords } from './incoming-record.ts';

interface SnapshotRead {
  source: string;
  stream: SourceStream;
  omit: readonly string[];
  keyOf: KeyOf | null;
  /** `asOf` is the time of the newest file of the last snapshot. */
  before: { asOf: number | null };
  onWarning?: (stream: string, message: string) => void;
}

/** What would become of the stored records with an older snapshot. */
interface WayBack {
  changed: number;
  missing: number;
  fresh: number;
}

/** Clocks of two machines differ by less. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Compares the time of a snapshot with that of the last one. `asOf` is the time to store with the snapshot, and `held` is
 * why the guard holds it before its first row: it is older than the last one, and records would go back. A snapshot with
 * the rows that are stored is not held. It leaves the time of the last one as it is.
 *
 * A time in the future counts as the present time. Otherwise all later exports would be older than this one.
 */
export async function compareTimes(
  request: SnapshotRead,
  { file, at }: AsOf,
  { ledger, clock }: { ledger: Pick<IntakeLedger, 'comparePage' | 'countPresent'>; clock: Clock },
  abort: AbortSignal,
): Promise<{ asOf: number; held: string | null }> {
  const now = clock.now();
  if (at > now + CLOCKS_DIFFER_MS) {
    request.onWarning?.(
      request.stream.name,
      `${file} was modified at ${utc(at)}, which is in the future. It counts as modified at ${utc(now)}. Correct the clock or the time zone of the machine that writes the file. With \`files: latest\`, no other file is read before that time.`,
    );
  }
  const asOf = Math.min(at, now);
  const last = request.before.asOf;
  // A stored time in the future shows that the clock of this machine was set back. Nothing can be concluded from it.
  if (last === null || last > now || asOf >= last) return { asOf, held: null };
  const back = await compareRows(request, ledger, abort);
  if (back.changed + back.missing + back.fresh === 0) return { asOf: last, held: null };
  return {
    asOf: last,
    held: `${file} was modified at ${utc(at)}, and the export that was read last at ${utc(last)}, which is later. With ${file}, ${describe(back)}. So none of its rows was stored.`,
  };
}

async function compareRows(
  { source, stream, omit, keyOf }: SnapshotRead,
  ledger: Pick<IntakeLedger, 'comparePage' | 'countPresent'>,
  abort: AbortSignal,
): Promise<WayBack> {
  const omitted = new Set(omit);
  const of = { source, stream: stream.name };
  const seen = createBitmap();
  const back = { changed: 0, missing: 0, fresh: 0 };
  for await (const { rows } of stream.pull({ mode: 'snapshot', cursor: null }, abort)) {
    if (abort.aborted) return back;
    const records = incomingRecords(rows, stream.key, omitted, keyOf);
    const { changed, fresh } = await ledger.comparePage({ ...of, records, seen });
    back.changed += changed;
    back.fresh += fresh;
  }
  back.missing = (await ledger.countPresent(of)) - seen.size();
  return back;
}

function describe({ changed, missing, fresh }: WayBack): string {
  const said = [
    [changed, 'would get former values'],
    [missing, 'would be missing'],
    [fresh, 'would be new or back again'],
  ] as const;
  const parts = said.flatMap(([count, what]) => (count === 0 ? [] : [{ count, what }]));
  const [first, ...others] = parts.map(({ count, what }, at) =>
    at > 0 ? `${count} ${what}` : `${count === 1 ? '1 record' : `${count} records`} ${what}`,
  );
  const last = others.pop();
  return [[first, ...others].join(', '), ...(last === undefined ? [] : [last])].join(' and ');
}

function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
