import { basename } from 'node:path';
import { fault } from '../../domain/faults.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted } from '../../lib/text/amounts.ts';
import { columnsOf } from './columns.ts';
import { pathFromConfig, streamName } from './file-names.ts';
import type { FileSet } from './file-sets.ts';
import { findObjects } from './find-objects.ts';
import type { FoundFile } from './found-file.ts';
import { presetOfRecords } from './preset-config.ts';
import type { Sample } from './read-sample.ts';
import { readTable } from './read-table.ts';
import { type FileHead, readHead, recogniseFormat } from './recognise-format.ts';
import { sheetOptions } from './recognise-sheet.ts';
import { damageHints, repeatHints, twinHints } from './sample-hints.ts';
import { streamRecords } from './stream-records.ts';
import { treeRecords } from './tree-records.ts';

/** A file whose mapping comes from a preset. */
export type PresetFile = Pick<FoundFile, 'head' | 'path' | 'recognised'> & { preset: string };

/**
 * Recognises a file or a set of files, reads the first records, and proposes a mapping for them.
 *
 * @throws Fault `usage` for a file that is not recognised, `source.unreadable` for one that cannot be read
 */
export async function findFile(
  { first, pattern, isObjects, further }: FileSet,
  { configFile, log, signal }: { configFile: string; log: Logger; signal: AbortSignal },
): Promise<(Omit<FoundFile, 'source'> & { preset?: undefined }) | PresetFile> {
  const head = await readHead(first, signal);
  const shown = pattern ?? head.path;
  const path = pathFromConfig(shown, configFile);
  const objects = await findObjects({ head, shown, isObjects, further }, { log, signal });
  if (objects !== null) return { head, shown, path, ...objects };
  const recognised = recogniseFormat(head);
  if (recognised.preset !== undefined) return { head, path, recognised, preset: recognised.preset };
  if (recognised.connector === 'xlsx') {
    const { stream, hints } = await sheetOptions(head, { log, signal });
    recognised.stream.push(...stream);
    recognised.hints.push(...hints);
  }
  const { sample, tree } = await readTable(shown, recognised, { log, signal });
  if (sample.rows.length === 0) throw noRecords(head, sample);
  const preset = presetOfRecords(recognised.connector, sample.rows);
  if (preset !== undefined) {
    return { head, path, recognised: { ...recognised, title: 'an export of InvenTree', preset }, preset };
  }
  const name = basename(head.name);
  const found = columnsOf(sample.rows);
  recognised.hints.push(...repeatHints(found.repeats, sample.lines), ...damageHints(sample), ...twinHints(sample));
  const stream = { name: streamName(shown), options: recognised.stream, sample, found };
  const made = { head, shown, path, recognised, lookups: [] };
  if (tree !== null) {
    return { ...made, streams: [stream], records: [], divide: (known) => treeRecords({ name, stream, tree }, known) };
  }
  const records = streamRecords(stream, name);
  return { ...made, streams: [records.stream], records: [records] };
}

function noRecords({ path }: FileHead, sample: Sample): Error {
  const { broken } = sample;
  const damage = damageHints(sample).map((hint) => ` ${hint}`);
  return fault(
    'usage',
    `${path} has no record that can be read${broken === 0 ? '' : `, and ${counted(broken, 'broken one')}`}.${damage.join('')}`,
    {
      suggestion: 'Export it with a few records, so that there is something to recognise.',
    },
  );
}
