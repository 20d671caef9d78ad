import { readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { fault } from '../../domain/faults.ts';
import { comparableName } from '../../domain/natural-key.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { checkProposal } from './check-proposal.ts';
import { columnsOf } from './columns.ts';
import { type Join, joinFiles } from './join-files.ts';
import type { JoinableFile } from './joinable-file.ts';
import { type JoinedProduct, joinedProduct } from './joined-preview.ts';
import { keyColumnsOf } from './key-columns.ts';
import { productOfBomItems, proposeMapping } from './propose-mapping.ts';
import type { ProposedMapping } from './proposed-line.ts';
import { readSample, type Sample, sheetOptions } from './read-sample.ts';
import { ONLY_ASCII } from './recognise-encoding.ts';
import { type FileHead, type Recognised, readHead, recogniseFormat } from './recognise-format.ts';
import { type ConfigParts, headText, sourcesText, todoOf } from './write-config.ts';

/** What is proposed for one file. */
export interface ProposedFile {
  file: string;
  source: string;
  recognised: Recognised;
  /** Null if a preset has the mappings. */
  mapping: ProposedMapping | null;
  key: string[];
  /** The counts of the records from which the proposal is made; null if it is made from a preset. */
  sample: { records: number; broken: number; isWhole: boolean; columns: number } | null;
  /** The lines of the config that have a TODO. */
  todo: string[];
}

/** A config for one or several files. */
export interface ProposedConfig {
  files: ProposedFile[];
  /** How the files belong together; empty for one file. */
  joins: Join[];
  /** A product with its parts; null for one file, and if nothing joins. */
  joined: JoinedProduct | null;
  text: string;
}

interface ProposeOptions {
  configFile: string;
  /** The folder of this program's package. */
  root: string;
  log: Logger;
  signal: AbortSignal;
}

/** The one source of a config for one file. */
const ONLY_SOURCE = 'erp';

/**
 * Proposes a config for exported files.
 *
 * @throws Fault `usage` for a file that is not recognised, `source.unreadable` for one that cannot be read
 */
export async function proposeConfig(files: readonly string[], options: ProposeOptions): Promise<ProposedConfig> {
  const [only, ...more] = files;
  if (only !== undefined && more.length === 0) return await proposeOne(only, options);
  const found: FoundFile[] = [];
  for (const file of files) {
    const one = await findFile(file, options);
    if (one.preset !== undefined) throw presetFault(one);
    found.push({ ...one, source: sourceName(one.stream, found) });
  }
  shareEncodings(found);
  return await configOf(found, `${basename(files[0] ?? '')} and ${counted(files.length - 1, 'other file')}`, options);
}

/** A file that has only ASCII shows no encoding. The system that wrote the other files has probably written it in theirs. */
function shareEncodings(files: readonly FoundFile[]): void {
  const encodingOf = ({ recognised }: FoundFile) =>
    [...recognised.options, ...recognised.stream].find(({ name }) => name === 'encoding');
  const shown = files.flatMap((file) => {
    const option = encodingOf(file);
    return option === undefined || option.reason === ONLY_ASCII ? [] : [{ name: file.name, value: option.value }];
  });
  const [first] = shown;
  if (first === undefined || shown.some(({ value }) => value !== first.value)) return;
  for (const file of files) {
    const option = encodingOf(file);
    if (option?.reason !== ONLY_ASCII) continue;
    option.value = first.value;
    option.reason = `only ASCII so far; as in ${first.name}`;
  }
}

async function proposeOne(file: string, options: ProposeOptions): Promise<ProposedConfig> {
  const found = await findFile(file, options);
  if (found.preset === undefined) return await configOf([{ ...found, source: ONLY_SOURCE }], basename(file), options);
  const { recognised, path } = found;
  const { source, text } = presetSources(recognised, path, options.root);
  const note = `The mapping comes from config/presets/${found.preset}.yaml, which fits ${recognised.title}.`;
  const proposed = { file, source, recognised, mapping: null, key: [], sample: null, todo: [] };
  const head = headText([source], `${aboutText(basename(found.head.path))} ${note}`, options.configFile);
  return { files: [proposed], joins: [], joined: null, text: `${head}${text}` };
}

const aboutText = (files: string): string => `A first config for ${files}, written by \`dpp-sync init --from\`.`;

/** What was found in a file with records, before its mapping is compared with the other files. */
interface FoundFile extends JoinableFile {
  head: FileHead;
  /** The path of the file, relative to the config. */
  path: string;
  source: string;
  stream: string;
  recognised: Recognised;
  sample: Sample;
}

type PresetFile = Pick<FoundFile, 'head' | 'path' | 'recognised'> & { preset: string };

async function findFile(
  file: string,
  { configFile, log, signal }: ProposeOptions,
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
  const sample = await readSample(head.path, recognised, { log, signal });
  if (sample.rows.length === 0) throw noRecords(head, sample);
  const preset = presetOfRecords(recognised.connector, sample.rows);
  if (preset !== undefined) {
    return { head, path, recognised: { ...recognised, title: 'an export of InvenTree', preset }, preset };
  }
  const name = basename(head.name);
  const found = columnsOf(sample.rows);
  const { columns, repeats } = found;
  const owner = productOfBomItems(columns, name);
  const key = keyColumnsOf(columns, { repeats, isWhole: sample.isWhole, owner });
  recognised.hints.push(...repeatHints(repeats, sample.lines), ...damageHints(sample), ...twinHints(sample));
  const mapping = proposeMapping(columns, key, name);
  const { isWhole } = sample;
  return {
    head,
    path,
    stream: streamName(head),
    name,
    recognised,
    sample,
    found,
    isWhole,
    hasKey: false,
    key,
    mapping,
  };
}

function presetFault({ head, recognised }: PresetFile): Error {
  return fault('usage', `${head.path} is ${recognised.title}, whose config has several streams already.`, {
    suggestion: 'Make a config for this file alone, and add the sources of the others to it.',
  });
}

/** The name of a stream as the name of a source, which no earlier file has. */
function sourceName(stream: string, earlier: readonly FoundFile[]): string {
  const plain = stream.toLowerCase().replaceAll(/[-_]+/g, '-').replace(/-$/, '');
  const isTaken = (name: string): boolean => earlier.some(({ source }) => source === name);
  for (let number = 2, name = plain; ; number += 1) {
    if (!isTaken(name)) return name;
    name = `${plain}-${number}`;
  }
}

async function configOf(found: readonly FoundFile[], files: string, options: ProposeOptions): Promise<ProposedConfig> {
  const { files: joinedFiles, joins } = found.length === 1 ? { files: found, joins: [] } : joinFiles(found);
  const checked = await Promise.all(
    joinedFiles.map(async (file) => ({
      ...file,
      mapping: await checkProposal(file.mapping, file.sample.rows, file),
    })),
  );
  const parts = checked.map((file): ConfigParts => ({ ...file, columns: file.found }));
  const seen = checked.map(seenText).join(' ');
  const head = headText(
    checked.map(({ source }) => source),
    `${aboutText(files)} ${seen}`,
    options.configFile,
  );
  const sampled = checked.map(({ source, stream, mapping, sample }) => ({
    source,
    stream,
    mapping,
    rows: sample.rows,
  }));
  return {
    files: checked.map((file, at) => proposedOf(file, parts[at])),
    joins,
    joined: found.length === 1 ? null : await joinedProduct(sampled),
    text: `${head}${sourcesText(...parts)}`,
  };
}

function seenText({ sample, name }: FoundFile, _at: number, { length }: readonly unknown[]): string {
  const readable = sample.broken === 0 ? '' : `, of which ${sample.rows.length} can be read`;
  const read = counted(sample.rows.length + sample.broken, 'record');
  const of = length === 1 ? 'the file' : name;
  return `The reasons are from ${sample.isWhole ? 'all' : 'the first'} ${read} of ${of}${readable}.`;
}

function proposedOf(file: FoundFile, parts: ConfigParts | undefined): ProposedFile {
  const { head, source, recognised, mapping, key, sample, found } = file;
  return {
    file: head.path,
    source,
    recognised,
    mapping,
    key: key?.columns.map(({ label }) => label) ?? [],
    sample: {
      records: sample.rows.length,
      broken: sample.broken,
      isWhole: sample.isWhole,
      columns: found.columns.length,
    },
    todo: parts === undefined ? [] : todoOf(parts),
  };
}

const REPEATS_SHOWN = 3;

/** Names the lines of equal records, if lines are known. */
function repeatHints(repeats: ReadonlyMap<number, number>, lines: readonly number[]): string[] {
  if (repeats.size === 0) return [];
  const shown = [...repeats].slice(0, REPEATS_SHOWN).flatMap(([index, first]) => {
    const [line = 0, before = 0] = [lines[index], lines[first]];
    return line > 0 && before > 0 ? [`line ${line} repeats line ${before}`] : [];
  });
  const named = shown.length === 0 ? '' : `: ${shown.join(', ')}${repeats.size > shown.length ? ' …' : ''}`;
  const what = repeats.size === 1 ? 'record is equal to an earlier one' : 'records are equal to earlier ones';
  return [`${formatCount(repeats.size)} ${what} in all columns${named}.`];
}

const DAMAGED_SHOWN = 5;

/** Names the values that no encoding brings back. */
function damageHints({ damaged }: Sample): string[] {
  if (damaged.length === 0) return [];
  const rest = damaged.length - DAMAGED_SHOWN;
  const shown = `${damaged.slice(0, DAMAGED_SHOWN).join('; ')}${rest > 0 ? `; and ${formatCount(rest)} more` : ''}`;
  return [
    `${counted(damaged.length, 'value is', 'values are')} damaged (U+FFFD): ${shown}. Let the source system write the file again.`,
  ];
}

/** Names columns of a table whose names differ only in characters that look the same. */
function twinHints({ isTable, rows: [row = {}] }: Sample): string[] {
  const alike = isTable ? Map.groupBy(Object.keys(row), comparableName) : new Map<string, string[]>();
  return [...alike].flatMap(([form, names]) =>
    names.length < 2
      ? []
      : [
          `${counted(names.length, 'column has', 'columns have')} the name ${JSON.stringify(form)} in characters that look the same. Give each column its own name in the export.`,
        ],
  );
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

/** The `sources` section of a preset, in which the user's file replaces the example. */
interface PresetSources {
  /** The id of the source. */
  source: string;
  text: string;
}

/**
 * Replaces the example files of a preset with the user's file. Streams that the file does not have are left out, with
 * their mappings.
 *
 * @param root the folder of this program's package
 */
function presetSources(
  { preset = '', presetStreams, options, stream: streamOptions }: Recognised,
  path: string,
  root: string,
): PresetSources {
  const document = parseDocument(readFileSync(join(root, 'config', 'presets', `${preset}.yaml`), 'utf8'));
  for (const name of ['target', 'queue', 'ledger', 'passports']) document.delete(name);
  document.commentBefore = null;
  const source = document.getIn(['sources', 0]) as YAMLMap;
  source.delete('schedule');
  source.delete('timezone');
  for (const { name, value } of options) source.setIn(['options', name], value);
  const streams = source.get('streams') as YAMLMap;
  for (const name of streams.items.map(({ key }) => String(key))) {
    if (presetStreams !== undefined && !presetStreams.includes(name)) {
      streams.delete(name);
      continue;
    }
    const stream = streams.get(name) as YAMLMap;
    stream.set(
      'path',
      path.replaceAll('${', () => '$${'),
    );
    stream.delete('files');
    for (const option of streamOptions) stream.set(option.name, option.value);
  }
  const mappings = source.get('mappings');
  if (isSeq(mappings)) {
    mappings.items = mappings.items.filter((mapping) => isMap(mapping) && streams.has(String(mapping.get('stream'))));
  }
  return {
    source: String(source.get('id')),
    text: document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimStart(),
  };
}

/** The preset for records that look like the plain JSON files of a known system; null if there is none. */
function presetOfRecords(connector: string, rows: readonly JsonObject[]): string | undefined {
  if (connector !== 'json') return undefined;
  const models = new Set(rows.map(({ model, fields }) => (isJsonObject(fields) ? model : null)));
  return models.has('part.part') && models.has('part.bomitem') ? 'inventree' : undefined;
}
