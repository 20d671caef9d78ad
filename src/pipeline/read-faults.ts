// What ends a read with an error, and the warnings about a read that goes on.

import { fault } from '../domain/faults.ts';
import { formatPlace } from '../domain/issue.ts';
import type { MisnamedGone } from '../domain/ports/guarded-intake.ts';
import type { EndedStream, StreamProgress } from '../domain/ports/intake.ts';
import type { ReadMode, SourceRow, SourceStream } from '../domain/ports/source.ts';
import { readableKey } from '../domain/record.ts';

/** The read of a stream. */
interface Read {
  source: string;
  stream: SourceStream;
}

/** A stream keeps at most this many warnings of a run (I9). */
const WARNINGS_MAX = 20;

/** The warnings of a read, as they are stored. */
export function shownOf(warnings: ReadonlySet<string>): string[] {
  const all = [...warnings];
  if (all.length <= WARNINGS_MAX) return all;
  return [...all.slice(0, WARNINGS_MAX), `The read has ${all.length - WARNINGS_MAX} more warnings.`];
}

/** The error for a complete read without any row that can be used. */
export function refusedFault(
  { source, stream }: Read,
  { read, place, issues }: NonNullable<EndedStream['refused']> & { read: number },
): Error {
  const rows = read === 1 ? 'the only row' : `all ${read} rows`;
  const first = `The first one is ${formatPlace(place)}: ${issues[0]?.message ?? ''}`;
  return fault(
    'source.refused',
    `${source}/${stream.name}: ${rows} of this export cannot be used, so no record counts as missing. ${first}`.trim(),
    {
      suggestion: `Correct the export or the config. All the rows and their reasons: dpp-sync quarantine --source ${source}`,
    },
  );
}

/**
 * Without one complete export the content of the source is unknown, so no run counts as complete.
 *
 * @throws Fault `source.unreadable` if the stream was never read
 */
export function assertReadBefore({
  source,
  stream,
  before,
  warnings,
}: Read & { before: StreamProgress; warnings: ReadonlySet<string> }): void {
  if (before.snapshotAt !== null || before.cursor !== null) return;
  const why = warnings.size === 0 ? 'there is nothing to read.' : shownOf(warnings).join(' ');
  throw fault('source.unreadable', `${source}/${stream.name} has no export yet: ${why}`, {
    suggestion:
      warnings.size === 0
        ? 'Write a complete export first, and pull again.'
        : 'Change what the message says about the export, and pull again.',
  });
}

/**
 * Checks whether a read may end with the lost position of its changes.
 *
 * @throws Fault `source.unreadable` if no snapshot could follow
 */
export function assertMayBeginAgain({ source, stream, mode }: Read & { mode: ReadMode }, why: string): void {
  if (mode === 'changes' && stream.reads !== 'changes') return;
  const what = mode === 'changes' ? 'gives no snapshots' : 'is being read completely';
  throw fault('source.unreadable', `${source}/${stream.name} cannot be read from its beginning: ${why}`, {
    suggestion: `Correct the connector: it asks for a snapshot (\`beginAgain\`), but the stream ${what}.`,
  });
}

/**
 * Checks that it is known which records the tombstones among the rows mean.
 *
 * @throws Fault `source.unreadable` if the stream has no key columns
 */
export function assertIdentified({ source, stream }: Read, rows: readonly SourceRow[]): void {
  if (stream.key.length > 0) return;
  const row = rows.find(({ isGone }) => isGone === true);
  if (row === undefined) return;
  // A mapping that identifies rows needs all their fields. With few of them it could give the key of another record.
  const message = `${source}/${stream.name} says that a record is gone, and nothing says which one: ${formatPlace(row.place)}.`;
  const suggestion = 'Name the columns that identify a row in `key` of the stream.';
  throw fault('source.unreadable', message, { suggestion });
}

/**
 * The warning about changes of a page that take away more records than the guard allows, if a snapshot follows.
 *
 * @param excess as in `CheckedGone`
 * @param gone the identities of the records that the page takes away
 * @throws Fault `source.gone` if no snapshot can follow
 */
export function excessWarning({ source, stream }: Read, excess: string, gone: readonly string[]): string {
  const names = gone.slice(0, NAMED).map(readableKey).join(', ');
  const more = gone.length > NAMED ? ` and ${gone.length - NAMED} more` : '';
  const message = `The changes say that ${excess} are gone. These were to be taken away now: ${names}${more}.`;
  if (stream.reads !== 'changes') return `${message} So the changes were left, and all records were read.`;
  throw fault(
    'source.gone',
    `${source}/${stream.name}: ${message} So they were left, and none of the changes after them was read.`,
    {
      suggestion:
        'Find out whether the source has really lost these records. If it has, set `guard.maxMissing` or `guard.maxMissingCount` of the source higher for one run.',
    },
  );
}

/** So many records are named in a message. */
const NAMED = 5;

/** The warning about tombstones whose keys are written in another way than those of the rows. */
export function misnamedWarning({ count, named, stored }: MisnamedGone): string {
  const [rows, which] = count === 1 ? ['One row says', 'a record'] : [`${count} rows say`, 'records'];
  return `${rows} that ${which} with an unknown key ${count === 1 ? 'is' : 'are'} gone, and the stream has keys that differ only in their spelling: ${readableKey(named)} is unknown, and ${readableKey(stored)} stays. If both are the same record, correct the key that the source gives for records that are gone. The next complete read shows what is gone.`;
}
