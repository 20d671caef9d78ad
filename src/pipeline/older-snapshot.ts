import type { FileTimes, OlderExport, StreamEnd, StreamProgress } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { AsOf, SourceStream } from '../domain/ports/source.ts';
import type { KeyOf } from '../domain/record.ts';
import type { Clock } from '../lib/clock.ts';
import { createBitmap } from '../lib/collections.ts';
import { incomingRecords } from './incoming-record.ts';

interface SnapshotRead {
  source: string;
  stream: SourceStream;
  omit: readonly string[];
  keyOf: KeyOf | null;
  before: Pick<StreamProgress, 'asOf' | 'files'>;
  /** Called with what people should know about the times. */
  warn: (text: string) => void;
}

/** What would become of the stored records with an older snapshot. */
interface WayBack {
  /** How many rows the snapshot has. */
  read: number;
  changed: number;
  missing: number;
  fresh: number;
}

/** Clocks of two machines differ by less. */
const CLOCKS_DIFFER_MS = 60_000;

/** Of a snapshot with more files, only so many of the last ones are compared with their last read (I9). */
const FILES_MAX = 1000;

/**
 * Compares the times of a snapshot with those of the last one. `times` are to be stored with the snapshot. `held` is the
 * export that the guard holds before its first row: it is older than the last one, and records would go back. An older
 * snapshot with the rows that are stored is not held, and neither is a snapshot of which only some files are older. A
 * warning says so, as long as no newer file comes: the newest times stay stored.
 *
 * A time in the future counts as the present time. Otherwise all later exports would be older than this one.
 */
export async function compareTimes(
  request: SnapshotRead,
  newest: AsOf,
  { ledger, clock }: { ledger: Pick<IntakeLedger, 'comparePage' | 'countPresent'>; clock: Clock },
  abort: AbortSignal,
): Promise<{ times: StreamEnd['times']; held: OlderExport | null }> {
  const now = clock.now();
  const { file } = newest;
  if (newest.at > now + CLOCKS_DIFFER_MS) {
    request.warn(
      `${file} was modified at ${utc(newest.at)}, which is in the future. It counts as modified at ${utc(now)}. Correct the clock or the time zone of the machine that writes the file. With \`files: latest\`, no other file is read before that time.`,
    );
  }
  const asOf = Math.min(newest.at, now);
  const { files, older } = compareFiles(newest.files ?? {}, request.before.files, now);
  const last = request.before.asOf;
  // A stored time in the future shows that the clock of this machine was set back. Nothing can be concluded from it.
  if (last === null || last > now || asOf >= last) {
    for (const { name, at, before } of older) {
      request.warn(
        `${name} was modified at ${utc(at)}, and the ${name} that was read before at ${utc(before)}, which is later. Its rows count now. If it was put back by mistake, bring a newer file.`,
      );
    }
    return { times: { asOf, files }, held: null };
  }
  const back = await compareRows(request, ledger, abort);
  const times = { asOf: last, files };
  const isOlder = `${file} was modified at ${utc(newest.at)}, and the export that was read last at ${utc(last)}, which is later.`;
  if (back.changed + back.missing + back.fresh === 0) {
    if (!abort.aborted) request.warn(`${isOlder} It has the rows that are stored, so nothing goes back.`);
    return { times, held: null };
  }
  const { missing, read } = back;
  const message = `${isOlder} With ${file}, ${describe(back)}. So none of its rows was stored.`;
  return { times, held: { message, asOf, missing, read } };
}

/** The newest known time of each file, and the files that are older than at their last read. */
function compareFiles(found: FileTimes, known: FileTimes, now: number) {
  const before = new Map(Object.entries(known).filter(([, at]) => at <= now));
  const older: { name: string; at: number; before: number }[] = [];
  const files = Object.entries(found)
    .slice(-FILES_MAX)
    .map(([name, time]): [string, number] => {
      const at = Math.min(time, now);
      const last = before.get(name) ?? at;
      if (at < last) older.push({ name, at, before: last });
      return [name, Math.max(at, last)];
    });
  return { files: Object.fromEntries(files), older };
}

async function compareRows(
  { source, stream, omit, keyOf }: SnapshotRead,
  ledger: Pick<IntakeLedger, 'comparePage' | 'countPresent'>,
  abort: AbortSignal,
): Promise<WayBack> {
  const omitted = new Set(omit);
  const of = { source, stream: stream.name };
  const seen = createBitmap();
  const back = { read: 0, changed: 0, missing: 0, fresh: 0 };
  for await (const { rows } of stream.pull({ mode: 'snapshot', cursor: null }, abort)) {
    if (abort.aborted) return back;
    const records = incomingRecords(rows, stream.key, omitted, keyOf);
    const { changed, fresh } = await ledger.comparePage({ ...of, records, seen });
    back.read += records.length;
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
