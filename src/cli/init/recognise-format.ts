import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SaxesParser } from 'saxes';
import { separatorLineOf } from '../../../connectors/csv/schema.ts';
import { fault } from '../../domain/faults.ts';
import { fileReasonOf } from '../../lib/errors.ts';
import { FILE_SOURCE } from '../../sdk/files/file-options.ts';
import { openParts } from '../../sdk/files/open-parts.ts';
import { contentFault, recogniseContent } from '../../sdk/files/recognise.ts';
import { localVersionOf } from '../../sdk/files/source-file.ts';
import { createTemporaryFiles } from '../../sdk/files/temporary-files.ts';
import { createFileDecoder } from '../../sdk/text-decoder.ts';
import { recogniseCsv } from './recognise-csv.ts';
import { type FoundEncoding, recogniseEncoding } from './recognise-encoding.ts';
import { recogniseJson } from './recognise-json.ts';

/** An option of a connector, and the reason for its value. */
export interface FoundOption {
  name: string;
  value: unknown;
  reason: string;
  /** True if a person has to look at it. */
  isTodo?: boolean;
  /** True if the evidence is too thin to set the option. It is written as a comment. */
  isOff?: boolean;
}

/** The recognised format of a file, and the settings for reading it. */
export interface Recognised {
  connector: string;
  /** The format in a few words. */
  title: string;
  /** Options of the source, and of the stream besides the file. */
  options: FoundOption[];
  stream: FoundOption[];
  /** The other content of the file, as lines for a comment. */
  hints: string[];
  /** The file of config/presets that fits, without its ending. */
  preset?: string;
  /** The streams of the preset that the file has. Absent if the file has all of them. */
  presetStreams?: string[];
}

/**
 * Recognises the format of a file by its beginning.
 *
 * @throws Fault `usage` for a file whose format is not recognised, with what to do
 */
export function recogniseFormat(head: FileHead): Recognised {
  const kind = recogniseContent(head.bytes);
  if (kind === 'spreadsheet' || (kind === 'zip' && !head.isArchive)) return plain('xlsx', 'an XLSX workbook');
  if (kind !== null && kind !== 'xml' && kind !== 'json') {
    const { message, suggestion } = contentFault(head.path, kind, 'a format that `init` reads', head.bytes) as Error & {
      suggestion?: string;
    };
    throw fault('usage', message, suggestion === undefined ? {} : { suggestion });
  }
  const encoding = recogniseEncoding(head.bytes);
  if (encoding === null) {
    throw fault('usage', `${head.path} is not a text file: it has zeros and control characters in it.`, {
      suggestion: 'Export it as CSV, JSON, XML or XLSX.',
    });
  }
  if (encoding.text.trim() === '') throw emptyFault(head.path);
  if (kind === 'xml' || /^\s*<[A-Za-z_]/.test(encoding.text)) return xmlOf(head, encoding);
  if (kind === 'json' || /^\s*[[{]/.test(encoding.text)) {
    const found = jsonOf(head, encoding);
    if (found !== null) return found;
  }
  return textOf(head, encoding);
}

function plain(connector: string, title: string): Recognised {
  return { connector, title, options: [], stream: [], hints: [] };
}

function xmlOf(head: FileHead, encoding: FoundEncoding): Recognised {
  const { text, name } = encoding;
  const found = recogniseXml(text);
  if (found === null) throw unrecognised(head, 'It begins like XML, and has no element.');
  const known = knownXml(found, text);
  const declares = /^\s*<\?xml[^>]*?\sencoding\s*=/.test(text.slice(0, 1_000));
  const options = declares || name === 'utf-8' ? [] : [encodingOption(encoding)];
  if (known !== null) return { ...known, options };
  const [records, ...others] = found.elements;
  if (records === undefined) throw unrecognised(head, `It is XML, and nothing in <${found.root}> looks like a record.`);
  const within = others.filter(({ at }) => at.startsWith(`${records.at}/`)).slice(0, 6);
  const beside = others.filter(({ at }) => !at.startsWith(`${records.at}/`)).slice(0, 6);
  return {
    ...plain('xml', 'XML'),
    options,
    stream: [
      { name: 'at', value: records.at, reason: `${count(records.count, head)} such elements, each with members` },
    ],
    hints: [
      ...beside.map(({ at, count: times }) => `Another stream could be at: ${at} (${count(times, head)} elements).`),
      ...within.map(
        ({ at, count: times }) =>
          `Elements within records: ${at} (${count(times, head)}). For rows of their own: at: ${at}, with parent: { … }.`,
      ),
    ],
  };
}

const GDSN_ROOT = 'catalogueItemNotificationMessage';
/** The segments of IDocs that the preset has streams for. */
const IDOC_STREAMS = { E1MARAM: 'materials', E1STPOM: 'bom' };

/** Recognises formats in XML that have their own connectors. */
function knownXml({ root, version, second }: FoundXml, text: string): Recognised | null {
  if (root === 'BMECAT') {
    const preset = version?.startsWith('2005') === true ? 'bmecat-2005' : 'bmecat-1.2';
    const update = second.find((name) => name.startsWith('T_UPDATE_'));
    const reason = `${update} has only the changes, not the whole catalogue`;
    const stream = update === undefined ? [] : [{ name: 'contents', value: 'changes', reason }];
    return { ...plain('bmecat', `a BMEcat catalogue, version ${version ?? 'not stated'}`), preset, stream };
  }
  if (root === GDSN_ROOT) return { ...plain('gdsn', 'a GDSN catalogue item notification'), preset: 'gdsn' };
  if (!second.includes('IDOC')) return null;
  const presetStreams = Object.entries(IDOC_STREAMS).flatMap(([segment, name]) =>
    text.includes(`<${segment}`) ? [name] : [],
  );
  if (presetStreams.length === 0) return null;
  return { ...plain('sap-idoc', `SAP IDocs (${root})`), preset: 'sap-idoc', presetStreams };
}

function jsonOf(head: FileHead, { text, name }: FoundEncoding): Recognised | null {
  if (name.startsWith('utf-16') && createFileDecoder('utf-8', head.bytes).encoding !== name) {
    throw unrecognised(
      head,
      'It is JSON in UTF-16 without a byte order mark.',
      'Write it in UTF-8, as JSON is exchanged, or with the mark.',
    );
  }
  const [records, ...others] = recogniseJson(text, head.name);
  if (records === undefined) {
    if (!/^\s*[[{]\s*["[{\]}]/.test(text)) return null;
    throw unrecognised(head, 'It is JSON, and has no list of objects that could be records.');
  }
  const shape = text.trimStart().startsWith('{') && records.at === '$' ? 'JSON lines' : 'JSON';
  return {
    ...plain('json', shape),
    stream: records.at === '$' ? [] : [listOption(records.at, records.objects, head)],
    hints: others.slice(0, 12).map(({ at, objects, isNested, members }) => {
      const names = members.slice(0, 6).join(', ');
      const parent = isNested ? `, parent: { … } for values around them` : '';
      return `${isNested ? 'Lists within records' : 'Another list'}: at: "${at}"${parent} (${count(objects, head)}, with ${names}).`;
    }),
  };
}

function listOption(at: string, objects: number, head: FileHead): FoundOption {
  return { name: 'at', value: at, reason: `the list with the most records: ${count(objects, head)}` };
}

function encodingOption({ name, reason, isGuess }: FoundEncoding): FoundOption {
  return { name: 'encoding', value: name, reason, ...(isGuess ? { isTodo: true } : {}) };
}

function textOf(head: FileHead, encoding: FoundEncoding): Recognised {
  const { text } = encoding;
  const dialect = recogniseCsv(text, head.isWhole);
  if (dialect === null) {
    if (hasFixedWidth(text)) {
      throw unrecognised(
        head,
        'Its lines have the same length, so it may have columns of fixed width, whose borders cannot be recognised.',
        'Use `connector: fixed-width` and write `columns`: config/presets/sap-flat-files.yaml is an example.',
      );
    }
    const named = separatorLineOf(text);
    if (named !== null) {
      const [below = ''] = text.slice(named.line.length).split(/\r?\n|\r/, 1);
      throw unrecognised(
        head,
        `Its first line ${named.line.trim()} says that ${JSON.stringify(named.delimiter)} divides the values, but it does not divide the lines below into the same number of values: ${below.slice(0, 100)}.`,
        'Correct the first line of the file, or remove it.',
      );
    }
    throw unrecognised(
      head,
      'No delimiter divides its lines into the same number of values.',
      'If its columns have fixed width, use `connector: fixed-width` and write `columns`, as config/presets/sap-flat-files.yaml does. docs/connectors has a page for each format.',
    );
  }
  const options = Object.entries(dialect.options).map(([option, value]) => ({
    name: option,
    value,
    reason: dialect.reasons[option as keyof typeof dialect.reasons] ?? '',
  }));
  return {
    ...plain('csv', 'delimited text (CSV)'),
    options: [...options, encodingOption(encoding)],
  };
}

/** True if nearly all lines have the same length and values end with blanks. */
function hasFixedWidth(text: string): boolean {
  const lines = text.slice(0, 200_000).split(/\r?\n/).slice(0, 200);
  const whole = lines.slice(0, -1);
  const lengths = new Map<number, number>();
  for (const { length } of whole) lengths.set(length, (lengths.get(length) ?? 0) + 1);
  const most = Math.max(0, ...lengths.values());
  return whole.length > 1 && most >= whole.length * 0.8 && whole.some((line) => / {2}/.test(line));
}

function count(number: number, head: FileHead): string {
  return head.isWhole ? String(number) : `${number} or more`;
}

function unrecognised({ path }: FileHead, what: string, suggestion?: string): Error {
  return fault('usage', `The format of ${path} is not recognised. ${what}`, {
    suggestion:
      suggestion ??
      'Write the config by hand: docs/connectors has a page for each format, and config/presets has examples.',
  });
}

/** Elements that may be records. */
interface FoundElements {
  /** The path of the elements, in the form of the stream option `at`. */
  at: string;
  count: number;
  /** The names of the elements and attributes in them. */
  members: readonly string[];
}

/** The structure that the beginning of an XML document shows. */
interface FoundXml {
  /** The name of the outermost element, without its prefix. */
  root: string;
  version: string | null;
  /** The names of the elements directly in the outermost element, without prefixes. */
  second: readonly string[];
  /** Elements with elements or attributes in them, the ones that are most likely to be the records first. */
  elements: readonly FoundElements[];
}

const DEPTH_MAX = 20;
/** The greatest depth. The connectors refuse deeper documents. */
const OPEN_MAX = 1_000;
const PATHS_MAX = 2_000;
const PIECE = 64 * 1024;

/** @returns null for a text that has no element */
export function recogniseXml(text: string): FoundXml | null {
  const paths = new Map<string, { count: number; depth: number; members: Set<string> }>();
  const open: string[] = [];
  const second = new Set<string>();
  let version: string | null = null;
  const parser = new SaxesParser({ position: false });
  // The connector reports mistakes of the document, because it reads all of it.
  parser.on('error', () => undefined);
  parser.on('opentag', ({ name, attributes }) => {
    const local = localName(name);
    if (open.length === 0) version = typeof attributes['version'] === 'string' ? attributes['version'] : null;
    if (open.length === 1) second.add(local);
    const around = open.length > 0 && open.length <= DEPTH_MAX ? paths.get(`/${open.join('/')}`) : undefined;
    around?.members.add(local);
    open.push(local);
    if (open.length > DEPTH_MAX) return;
    const path = `/${open.join('/')}`;
    const known = paths.get(path);
    const here = known ?? { count: 0, depth: open.length, members: new Set<string>() };
    here.count += 1;
    for (const attribute of Object.keys(attributes))
      if (!attribute.startsWith('xmlns')) here.members.add(`@${attribute}`);
    if (known === undefined && paths.size < PATHS_MAX) paths.set(path, here);
  });
  parser.on('closetag', () => void open.pop());
  for (let at = 0; at < text.length && open.length <= OPEN_MAX; at += PIECE) parser.write(text.slice(at, at + PIECE));
  const [root] = paths.keys();
  if (root === undefined) return null;
  return { root: root.slice(1), version, second: [...second], elements: recordsAmong(paths) };
}

/**
 * Finds the elements that may be records: they are repeated and have members. The outermost elements come first,
 * because an element that is repeated within a record is a part of it. Of elements at the same depth the most frequent
 * one comes first.
 */
function recordsAmong(paths: ReadonlyMap<string, { count: number; depth: number; members: Set<string> }>) {
  const withMembers = [...paths].filter(([, { members, depth }]) => members.size > 1 && depth > 1);
  const repeated = withMembers.filter(([, { count }]) => count > 1);
  const candidates = repeated.length > 0 ? repeated : withMembers;
  return candidates
    .toSorted(([, one], [, other]) => one.depth - other.depth || other.count - one.count)
    .map(([at, { count, members }]) => ({ at, count, members: [...members] }));
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The beginning of a file, unpacked. */
export interface FileHead {
  /** The absolute path of the file. */
  path: string;
  /** The name of the file. For a packed file, the name of its content. */
  name: string;
  bytes: Buffer;
  /** True if `bytes` is the complete content. */
  isWhole: boolean;
  /** True if the file is a ZIP archive but not a workbook. */
  isArchive: boolean;
}

/** The number of bytes that are read of any file (I9). */
const HEAD_BYTES_MAX = 4 * 1024 * 1024;
/** Every XLSX workbook has this entry, and an archive does not. */
const WORKBOOK_ENTRY = '[Content_Types].xml';

/**
 * Reads the beginning of a file of this machine. Of a ZIP archive it reads the first file.
 *
 * @throws Fault `usage` if the path is not a file, does not exist or is empty, `source.unreadable` if the file cannot
 *   be read or unpacked
 */
export async function readHead(file: string, signal: AbortSignal): Promise<FileHead> {
  const path = resolve(file);
  const stats = await stat(path, { bigint: true }).catch((error: unknown) => {
    throw fault('usage', `${path} cannot be read: ${fileReasonOf(error)}.`, {
      suggestion: 'Check the path and its permissions.',
      cause: error,
    });
  });
  if (!stats.isFile()) {
    throw fault('usage', `${path} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}.`, {
      suggestion: 'Name one exported file with --from; more files can be added to the config as further streams.',
    });
  }
  if (stats.size === 0n) throw emptyFault(path);
  const found = { path, label: path, name: file, bytes: Number(stats.size), version: localVersionOf(stats) };
  const temporary = createTemporaryFiles(undefined);
  try {
    const limits = FILE_SOURCE.unpacking.parse({});
    for await (const part of openParts(found, { entry: '*', limits, temporary, document: WORKBOOK_ENTRY })) {
      const { bytes, isWhole } = await bytesOf(part.file.chunks(signal));
      if (bytes.length === 0) throw emptyFault(path);
      return { path, name: part.file.name, bytes, isWhole, isArchive: part.file.name !== file };
    }
    throw emptyFault(path);
  } finally {
    await temporary.close();
  }
}

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const read: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    length += chunk.length;
    if (length > HEAD_BYTES_MAX) return { bytes: Buffer.concat(read).subarray(0, HEAD_BYTES_MAX), isWhole: false };
  }
  return { bytes: Buffer.concat(read), isWhole: true };
}

function emptyFault(path: string): Error {
  return fault('usage', `${path} is empty.`, {
    suggestion: 'Export it again, with at least a few records in it.',
  });
}
