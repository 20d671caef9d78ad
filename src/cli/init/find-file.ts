import { basename, dirname, extname, relative, resolve, sep } from 'node:path';
import { fault } from '../../domain/faults.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted } from '../../lib/text/amounts.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { FoundFile, FoundRecords, FoundStream } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { presetOfRecords } from './preset-config.ts';
import { partColumns, productOfBomItems, proposeMapping } from './propose-mapping.ts';
import type { ProposedLine } from './proposed-line.ts';
import type { Sample } from './read-sample.ts';
import { readTable } from './read-table.ts';
import { type FileHead, readHead, recogniseFormat } from './recognise-format.ts';
import { sheetOptions } from './recognise-sheet.ts';
import { damageHints, repeatHints, twinHints } from './sample-hints.ts';

/** A file whose mapping comes from a preset. */
export type PresetFile = Pick<FoundFile, 'head' | 'path' | 'recognised'> & { preset: string };

/**
 * Recognises a file, reads its first records, and proposes a mapping for them.
 *
 * @throws Fault `usage` for a file that is not recognised, `source.unreadable` for one that cannot be read
 */
export async function findFile(
  file: string,
  { configFile, log, signal }: { configFile: string; log: Logger; signal: AbortSignal },
): Promise<(Omit<FoundFile, 'source'> & { preset?: undefined }) | PresetFile> {
  const head = await readHead(file, signal);
  const path = pathFromConfig(head.path, configFile);
  const recognised = recogniseFormat(head);
  if (recognised.preset !== undefined) return { head, path, recognised, preset: recognised.preset };
  if (recognised.connector === 'xlsx') {
    const { stream, hints } = await sheetOptions(head, { log, signal });
    recognised.stream.push(...stream);
    recognised.hints.push(...hints);
  }
  const { sample, tree } = await readTable(head.path, recognised, { log, signal });
  if (sample.rows.length === 0) throw noRecords(head, sample);
  const preset = presetOfRecords(recognised.connector, sample.rows);
  if (preset !== undefined) {
    return { head, path, recognised: { ...recognised, title: 'an export of InvenTree', preset }, preset };
  }
  const name = basename(head.name);
  const found = columnsOf(sample.rows);
  recognised.hints.push(...repeatHints(found.repeats, sample.lines), ...damageHints(sample), ...twinHints(sample));
  const stream = { name: streamName(head), options: recognised.stream, sample, found };
  const made = { head, path, recognised, lookups: [] };
  if (tree !== null) return { ...made, streams: [stream], records: [], tree };
  const records = recordsOf(stream, name);
  return { ...made, streams: [records.stream], records: [records] };
}

/** What the records of a table or a list become. */
function recordsOf(stream: FoundStream, name: string): FoundRecords {
  const { isWhole } = stream.sample;
  const { found, when } = billLines(stream);
  const { columns, repeats } = found;
  const key = keyColumnsOf(columns, { repeats, isWhole, owner: productOfBomItems(columns, name) });
  const mapping = proposeMapping(columns, key, name);
  const records = { stream, name, found, isWhole, hasKey: false, key };
  if (when === null || mapping.to !== 'bom_item') return { ...records, mapping };
  const keyless = 'the key of the mapping identifies the rows, and some rows are no items and have none';
  return { ...records, stream: { ...stream, keyless }, mapping: { ...mapping, when } };
}

/** The rows of a bill that have a part. A row without a part and without a quantity is empty, or is the head of the rows below it. */
function billLines({ found, sample }: FoundStream): { found: Columns; when: ProposedLine | null } {
  const { component, quantity } = partColumns(found.columns);
  if (component === null || quantity === null) return { found, when: null };
  const { column } = component;
  const lines = new Set(column.indexes);
  if (lines.size === sample.rows.length || quantity.column.indexes.some((index) => !lines.has(index)))
    return { found, when: null };
  const left = counted(sample.rows.length - lines.size, 'row has', 'rows have');
  const reason = `${left} neither ${column.label} nor ${quantity.column.label}`;
  const when = { name: 'when', expression: `${column.access} != ""`, reason, isTodo: false };
  return { found: columnsOf(sample.rows.filter((_, at) => lines.has(at))), when };
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

/** The name of the file as the name of a stream: letters, digits and dashes. */
function streamName({ path }: FileHead): string {
  const name = basename(path)
    .replace(/\.(?:gz|zip)$/i, '')
    .replace(extname(path.replace(/\.(?:gz|zip)$/i, '')), '')
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/-+$/, '')
    .slice(0, 64);
  return name === '' ? 'records' : name;
}

/** The path of a file in a config: relative to the config's folder, with slashes. */
function pathFromConfig(file: string, configFile: string): string {
  const found = relative(dirname(resolve(configFile)), file)
    .split(sep)
    .join('/');
  return found.startsWith('../') || found.startsWith('/') ? found : `./${found}`;
}
