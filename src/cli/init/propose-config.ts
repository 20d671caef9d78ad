import { readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { fault } from '../../domain/faults.ts';
import type { MappingDefinition } from '../../domain/mapping.ts';
import { comparableName } from '../../domain/natural-key.ts';
import { kindWord } from '../../domain/words/states.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import { rootOf } from '../../pipeline/mapping/make-item.ts';
import type { Output } from '../text/output.ts';
import { printable, wrap } from '../text/style.ts';
import { columnsOf } from './columns.ts';
import { keyColumnsOf } from './key-columns.ts';
import { productOfBomItems, proposeMapping } from './propose-mapping.ts';
import { type ProposedLine, type ProposedMapping, writtenExpression } from './proposed-line.ts';
import { readSample, type Sample, sheetOptions } from './read-sample.ts';
import { type FileHead, type FoundOption, type Recognised, readHead, recogniseFormat } from './recognise-format.ts';
import { headText, sourcesText, todoOf } from './write-config.ts';

/** A config for one file. */
export interface ProposedConfig {
  source: string;
  recognised: Recognised;
  /** Null if a preset has the mappings. */
  mapping: ProposedMapping | null;
  key: string[];
  /** The counts of the records from which the proposal is made; null if it is made from a preset. */
  sample: { records: number; broken: number; isWhole: boolean; columns: number } | null;
  /** The lines of the config that have a TODO. */
  todo: string[];
  text: string;
}

/**
 * Proposes a config for an exported file.
 *
 * @param root the folder of this program's package
 * @throws Fault `usage` for a file that is not recognised, `source.unreadable` for one that cannot be read
 */
export async function proposeConfig(
  file: string,
  { configFile, root, log, signal }: { configFile: string; root: string; log: Logger; signal: AbortSignal },
): Promise<ProposedConfig> {
  const head = await readHead(file, signal);
  const path = pathFromConfig(head.path, configFile);
  const recognised = recogniseFormat(head);
  const about = `A first config for ${basename(head.path)}, written by \`dpp-sync init --from\`.`;
  const withPreset = (found: Recognised): ProposedConfig => {
    const { source, text } = presetSources(found, path, root);
    const note = `The mapping comes from config/presets/${found.preset}.yaml, which fits ${found.title}.`;
    const config = `${headText(source, `${about} ${note}`, configFile)}${text}`;
    return { source, recognised: found, mapping: null, key: [], sample: null, todo: [], text: config };
  };
  if (recognised.preset !== undefined) return withPreset(recognised);

  if (recognised.connector === 'xlsx') {
    const { stream, hints } = await sheetOptions(head, { log, signal });
    recognised.stream.push(...stream);
    recognised.hints.push(...hints);
  }
  const sample = await readSample(head.path, recognised, { log, signal });
  if (sample.rows.length === 0) throw noRecords(head, sample);
  const preset = presetOfRecords(recognised.connector, sample.rows);
  if (preset !== undefined) return withPreset({ ...recognised, title: 'an export of InvenTree', preset });
  return await proposed({ head, path, recognised, sample, about, configFile });
}

async function proposed({
  head,
  path,
  recognised,
  sample,
  about,
  configFile,
}: {
  head: FileHead;
  path: string;
  recognised: Recognised;
  sample: Sample;
  about: string;
  configFile: string;
}): Promise<ProposedConfig> {
  const columns = columnsOf(sample.rows);
  const owner = productOfBomItems(columns.columns, basename(head.name));
  const key = keyColumnsOf(columns.columns, { repeats: columns.repeats, isWhole: sample.isWhole, owner });
  const stream = streamName(head);
  const source = 'erp';
  const guess = proposeMapping(columns.columns, key, basename(head.name));
  const mapping = await checkProposal(guess, sample.rows, { source, stream });
  const readable = sample.broken === 0 ? '' : `, of which ${sample.rows.length} can be read`;
  const read = counted(sample.rows.length + sample.broken, 'record');
  const seen = `The reasons are from ${sample.isWhole ? 'all' : 'the first'} ${read} of the file${readable}.`;
  recognised.hints.push(...repeatHints(columns.repeats, sample.lines), ...damageHints(sample), ...twinHints(sample));
  const parts = { source, stream, path, recognised, key, mapping, columns };
  const text = `${headText(source, `${about} ${seen}`, configFile)}${sourcesText(parts)}`;
  const { length } = sample.rows;
  return {
    source,
    recognised,
    mapping,
    key: key?.columns.map(({ label }) => label) ?? [],
    sample: { records: length, broken: sample.broken, isWhole: sample.isWhole, columns: columns.columns.length },
    todo: todoOf(parts),
    text,
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

/** The codes of rows that lack a value. The reason of a line says how many rows have one. */
const LACKS_VALUE: ReadonlySet<string> = new Set(['field.required', 'refs.product', 'refs.part']);

interface Failure {
  count: number;
  /** The message about the first record. */
  message: string;
}

/**
 * Maps the records of the sample with a proposed mapping. A line that fails for some of them although it is not marked
 * gets a TODO with the message.
 */
export async function checkProposal(
  mapping: ProposedMapping,
  rows: readonly JsonObject[],
  at: { source: string; stream: string },
): Promise<ProposedMapping> {
  const definition = definitionOf(mapping, at.stream);
  const compiled = await compileMappings({ source: at.source, definitions: [definition], baseDir: '.' });
  // The preview of the written config names the problems.
  if (!compiled.ok) return mapping;
  const failures = new Map<string, Failure>();
  for (const fields of rows) {
    const result = compiled.value.map({ ...at, fields, place: {}, issues: [] });
    if (result.status !== 'quarantined') continue;
    const named = new Map(result.issues.map((issue) => [nameOf(issue.field), issue]));
    for (const [name, { code, message }] of named) {
      if (LACKS_VALUE.has(code)) continue;
      const known = failures.get(name);
      if (known === undefined) failures.set(name, { count: 1, message });
      else known.count += 1;
    }
  }
  const checked = (line: ProposedLine): ProposedLine => {
    const failure = failures.get(line.name);
    return failure === undefined || line.isTodo ? line : withFailure(line, failure, rows.length);
  };
  return {
    ...mapping,
    key: checked(mapping.key),
    refs: mapping.refs.map(checked),
    fields: mapping.fields.map(checked),
  };
}

/** The name of the line to which the field of an issue belongs: `product` for `refs.product`. */
function nameOf(field: string | undefined): string {
  return rootOf(field?.replace(/^refs\./, ''));
}

function withFailure(line: ProposedLine, { count, message }: Failure, records: number): ProposedLine {
  const fails = `fails for ${formatCount(count)} of ${counted(records, 'record')}: ${message}`;
  return { ...line, reason: `${line.reason}; ${fails}`, isTodo: true };
}

function definitionOf({ to, key, refs, fields }: ProposedMapping, stream: string): MappingDefinition {
  return {
    stream,
    to,
    key: writtenExpression(key) ?? '',
    refs: expressionsOf(refs),
    fields: expressionsOf(fields),
    path: 'mappings[0]',
  };
}

function expressionsOf(lines: readonly ProposedLine[]): Record<string, string> {
  return Object.fromEntries(
    lines.flatMap((line) => {
      const expression = writtenExpression(line);
      return expression === null ? [] : [[line.name, expression]];
    }),
  );
}

const WIDTH = 100;
const NAME_WIDTH = 22;
const REASON_INDENT = ' '.repeat(NAME_WIDTH + 5);

/** Lines for people about the format that was recognised, and about the mapping that is proposed. */
export function foundLines(file: string, found: ProposedConfig, output: Output): string[] {
  const { recognised, mapping, sample, todo } = found;
  const { paint } = output;
  const lines = [`${paint('bold', printable(file))} is ${recognised.title}.`];
  for (const option of [...recognised.options, ...recognised.stream]) lines.push(...optionLines(option, output));
  if (sample !== null) lines.push(`  ${sampleWords(sample)}`);
  if (recognised.preset !== undefined) lines.push(`  The mapping comes from config/presets/${recognised.preset}.yaml.`);
  if (mapping !== null) {
    const isTodo = false;
    const kind = { name: 'becomes', expression: kindWord(mapping.to), reason: mapping.reason, isTodo };
    lines.push('');
    for (const line of [kind, mapping.key, ...mapping.refs, ...mapping.fields])
      lines.push(...mappedLines(line, output));
  }
  for (const hint of recognised.hints) lines.push(...reasonLines('  ', hint, output));
  if (todo.length > 0) {
    const what = `${counted(todo.length, 'line')} with TODO: look at ${todo.length === 1 ? 'it' : 'them'} before a sync.`;
    lines.push('', paint('yellow', what));
  }
  return lines;
}

function optionLines({ name, value, reason, isTodo = false }: FoundOption, output: Output): string[] {
  return mappedLines({ name, expression: JSON.stringify(value), reason, isTodo }, output);
}

function mappedLines({ name, expression, reason, isTodo }: ProposedLine, output: Output): string[] {
  const { paint } = output;
  const todo = isTodo ? paint('yellow', 'TODO') : '';
  const what = [todo, expression === null ? '' : printable(expression)].filter((part) => part !== '').join(' ');
  const first = `  ${name.padEnd(NAME_WIDTH)} ${what === '' ? paint('dim', 'left out') : what}`;
  return [first, ...reasonLines(REASON_INDENT, reason, output)];
}

function reasonLines(indent: string, reason: string, { paint, width }: Output): string[] {
  if (reason === '') return [];
  return wrap(printable(reason), (width ?? WIDTH) - indent.length).map((line) => `${indent}${paint('dim', line)}`);
}

function sampleWords({ records, columns, broken, isWhole }: NonNullable<ProposedConfig['sample']>): string {
  const readable = broken === 0 ? '' : `, of which ${formatCount(records)} can be read`;
  return `${isWhole ? '' : 'Of the file, the first '}${counted(records + broken, 'record')} with ${counted(columns, 'column')}${readable}.`;
}
