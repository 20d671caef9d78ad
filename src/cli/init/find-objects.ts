// Recognises JSON files that are one object each, such as a product with the list of its parts.

import { basename, dirname } from 'node:path';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted } from '../../lib/text/amounts.ts';
import { formatDocumentPath } from '../../sdk/document-path.ts';
import { type Column, columnsOf, type NestedList } from './columns.ts';
import { isNamed } from './field-names.ts';
import { streamName } from './file-names.ts';
import type { FoundFile, FoundStream } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { objectRecords, type PartList, partList } from './object-records.ts';
import { readSample, type Sample } from './read-sample.ts';
import { recogniseEncoding } from './recognise-encoding.ts';
import type { FileHead, FoundOption, Recognised } from './recognise-format.ts';
import { brokenHints, damageHints, repeatHints } from './sample-hints.ts';

/** The object that a file is; null for any other file, for JSON lines, and for a file that is too long to be held. */
export function objectIn(head: FileHead): JsonObject | null {
  if (/\.(?:jsonl|ndjson)$/i.test(head.name)) return null;
  const text = head.isWhole ? (recogniseEncoding(head.bytes)?.text ?? '') : '';
  if (!/^\ufeff?\s*\{/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return isJsonObject(value) ? value : null;
  } catch {
    // It may be JSON lines. If it is damaged, the connector says so.
    return null;
  }
}

interface Objects {
  head: FileHead;
  /** The path of the file, or the pattern of the files. */
  shown: string;
  /** True for several files that are one object each. */
  isObjects: boolean;
  /** How many files that nobody has named the pattern reads too. */
  further: number;
}

/**
 * Finds the records of files that are one object each: the objects, and the parts that they list.
 *
 * @returns null if the file is not an object, or if the object only holds a list of records, as an export does
 */
export async function findObjects(
  { head, shown, isObjects, further }: Objects,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<Omit<FoundFile, 'head' | 'shown' | 'path' | 'source'> | null> {
  // The first one of several files may be damaged.
  if (!isObjects && objectIn(head) === null) return null;
  const format: FoundOption = {
    name: 'format',
    value: 'object',
    reason: isObjects ? 'each file is one object' : 'the file is one object, and not a list of them',
  };
  const read = (stream: FoundOption[]): Promise<Sample> =>
    readSample(shown, { connector: 'json', options: [format], stream }, { log, signal });
  const { sample, hints } = withoutForeign(await read([]));
  const found = columnsOf(sample.rows);
  const { columns, repeats, lists } = found;
  const key = keyColumnsOf(columns, { repeats, isWhole: sample.isWhole, owner: null });
  const [naming, ...more] = key?.columns ?? [];
  if (naming === undefined || more.length > 0 || !(isObjects || identifies(naming))) return null;
  const name = streamName(isObjects ? dirname(shown) : shown);
  const parts: PartList[] = [];
  for (const list of lists) {
    const { parent, options } = listOptions(list, naming);
    const ofList = await read(options);
    const ownName = `${name}-${list.path.join('-')}`.replaceAll(/[^A-Za-z0-9_-]+/g, '-');
    const made = partList(
      { name: ownName, options, sample: ofList, found: columnsOf(ofList.rows) },
      { parent, path: list.path },
    );
    if (made !== null) parts.push(made);
  }
  // An export of articles has its list beside values such as its date. An object is a record if it has no list, or one of parts.
  if (!isObjects && lists.length > 0 && parts.length === 0) return null;
  const used = parts.map(({ stream }) => stream.options[0]?.value);
  const root: FoundStream = {
    name,
    options: [],
    sample,
    found: { ...found, lists: lists.filter(({ path }) => !used.includes(formatDocumentPath(path))) },
  };
  const recognised: Recognised = {
    connector: 'json',
    title: isObjects ? 'JSON files of one object each' : 'a JSON file that is one object',
    options: [format],
    stream: [],
    hints: [
      ...(further === 0 ? [] : [furtherHint(shown, further)]),
      ...brokenHints(sample),
      ...hints,
      ...repeatHints(repeats, sample.lines),
      ...damageHints(sample),
    ],
  };
  const files = {
    name: isObjects ? `${basename(dirname(shown))}/${basename(shown)}` : basename(head.name),
    root,
    naming,
    lists: parts,
  };
  return { recognised, streams: [], records: [], lookups: [], divide: (known) => objectRecords(files, known) };
}

function furtherHint(pattern: string, further: number): string {
  return `${basename(pattern)} also reads ${counted(further, 'file of the folder that was', 'files of the folder that were')} not named. If they do not belong to it, put the named ones into a folder of their own.`;
}

/** True for the number or the name of an article, or of a bill. */
function identifies({ label }: Column): boolean {
  return (['sku', 'product', 'article', 'materialCode', 'id', 'name'] as const).some((concept) =>
    isNamed(label, concept),
  );
}

/** The options of a stream of the list, with the key of the object around each record. */
function listOptions({ path, members }: NestedList, naming: Column): { parent: string; options: FoundOption[] } {
  const own = naming.path.at(-1) ?? '';
  const parent = [own, 'product', 'parent', 'parent_key'].find((name) => !members.includes(name)) ?? `parent_${own}`;
  return {
    parent,
    options: [
      { name: 'at', value: formatDocumentPath(path), reason: 'the list of parts in each object' },
      { name: 'parent', value: { [parent]: formatDocumentPath(naming.path) }, reason: 'the object around each part' },
    ],
  };
}

// Finds files of a folder whose object is something else than those of the others, such as settings among products.

/** Of fewer objects, none is like most of the others. */
const OBJECTS_MIN = 3;
const SHOWN_MAX = 5;

/** The sample without the objects that have no member which most of the others have, and a hint that names their files. */
function withoutForeign(sample: Sample): { sample: Sample; hints: string[] } {
  const { rows, lines, files } = sample;
  const common = commonNames(rows);
  const isOwn = rows.map((row) => common.length === 0 || common.some((name) => Object.hasOwn(row, name)));
  const foreign = files.filter((_, at) => isOwn[at] === false);
  if (foreign.length === 0) return { sample, hints: [] };
  const own = <T>(all: readonly T[]): T[] => all.filter((_, at) => isOwn[at] === true);
  const names = foreign.slice(0, SHOWN_MAX).join(', ');
  const more = foreign.length > SHOWN_MAX ? ` and ${counted(foreign.length - SHOWN_MAX, 'further file')}` : '';
  const members = common.slice(0, SHOWN_MAX).join(', ');
  return {
    sample: { ...sample, rows: own(rows), lines: own(lines), files: own(files) },
    hints: [
      `${names}${more}: nothing of what the other files have (${members}), so a run quarantines what is in there. Move it to another folder.`,
    ],
  };
}

/** The names that more than half of the objects have. */
function commonNames(rows: readonly JsonObject[]): string[] {
  if (rows.length < OBJECTS_MIN) return [];
  const counts = new Map<string, number>();
  for (const name of rows.flatMap((row) => Object.keys(row))) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].flatMap(([name, count]) => (count > rows.length / 2 ? [name] : []));
}
