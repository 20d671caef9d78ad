import { stringify } from 'yaml';
import { fieldNamesOf, type ItemKind } from '../../domain/item.ts';
import { kindWord } from '../../domain/words/states.ts';
import { sentence } from '../../lib/errors.ts';
import { visibleText } from '../../lib/text/safe-text.ts';
import { DEFAULT_CONFIG, withOwnCommands } from '../own-command.ts';
import { printable, wrap } from '../text/style.ts';
import type { Column, Columns } from './columns.ts';
import type { FoundLookup } from './found-file.ts';
import { type FoundKey, keyExampleOf, NO_KEY } from './key-columns.ts';
import { describeValues, type ProposedLine, type ProposedMapping, writtenExpression } from './proposed-line.ts';
import type { FoundOption, Recognised } from './recognise-format.ts';
import { asDecimal, isAmbiguousDecimal } from './value-checks.ts';

/** The parts of a source. */
export interface ConfigParts {
  source: string;
  /** The path of the file, relative to the config. */
  path: string;
  recognised: Recognised;
  lookups: readonly FoundLookup[];
  streams: readonly ConfigStream[];
}

/** The parts of a stream. */
export interface ConfigStream {
  stream: string;
  /** The options besides the path. */
  options: readonly FoundOption[];
  key: FoundKey | null;
  /** Why the stream needs no key; absent if it needs one. */
  keyless?: string | undefined;
  columns: Columns;
  mappings: readonly ProposedMapping[];
}

/**
 * The beginning of a config: everything but its sources.
 *
 * @param configFile the config as the command line names it
 */
export function headText(sources: readonly string[], about: string, configFile: string): string {
  return `${commentLines(0, about).join('\n')}
# Read the reasons. A line with TODO needs you: correct it or keep it, and delete the word TODO. Then run:
${steps(sources, configFile).join('\n')}
# docs/configuration.md describes every key, docs/mapping.md the expressions.

target:
  # The address of the platform and an API key: set the variables, or write the values here.
  # Without the variable the address is that of \`dpp-sync sandbox\`.
  baseUrl: \${DPP_BASE_URL:-http://127.0.0.1:4290}
  apiKey: \${DPP_API_KEY:-no-key-yet}
queue: embedded
ledger: ./data/ledger.db
# passports: { init: when-complete, publish: manual } # without this line only \`publish\` initialises them

`;
}

function steps(sources: readonly string[], configFile: string): string[] {
  const start = { command: 'dpp-sync', configFile: configFile === DEFAULT_CONFIG ? null : configFile };
  const commands = [
    ...sources.map((source) => [`dpp-sync preview ${source}`, 'records beside the items that they become']),
    ['dpp-sync check', 'whether everything can be reached'],
  ].map(([command = '', what = '']) => [printable(withOwnCommands(command, () => start)), what]);
  const width = Math.max(...commands.map(([command = '']) => command.length));
  return commands.map(([command = '', what = '']) => `#   ${command.padEnd(width)}   ${what}`);
}

/** The `sources` section, with a source for each file. */
export function sourcesText(...files: readonly ConfigParts[]): string {
  return `${['sources:', ...files.flatMap(sourceLines)].join('\n')}\n`;
}

function sourceLines({ source, path, recognised, lookups, streams }: ConfigParts): string[] {
  return [
    ...yamlLine(2, `- id: ${source}`, 'a name of your choice, which cannot be changed later'),
    ...yamlLine(4, `connector: ${recognised.connector}`, recognised.title),
    ...yamlLine(4, '# schedule: "30 2 * * *"', 'every night at half past two'),
    ...optionLines(4, recognised.options),
    '    streams:',
    ...streams.flatMap((stream) => streamLines(stream, path)),
    ...recognised.hints.flatMap((hint) => commentLines(6, hint)),
    ...lookupLines(lookups),
    '    mappings:',
    ...streams.flatMap(mappingLines),
    ...yamlLine(4, 'onMissing: flag', 'an item that is no longer in the export is shown; or ignore, unpublish'),
    ...yamlLine(4, 'guard: { maxMissing: 5%, maxDrop: 20% }', GUARD_REASON),
  ];
}

function lookupLines(lookups: readonly FoundLookup[]): string[] {
  if (lookups.length === 0) return [];
  const lines = lookups.flatMap(({ name, stream, key, value, reason }) =>
    yamlLine(6, `${name}: ${yamlValue({ stream, key, value })}`, reason),
  );
  return ['    lookups:', ...lines];
}

function mappingLines(parts: ConfigStream): string[] {
  const { stream, mappings } = parts;
  return [
    ...mappings.flatMap((mapping) => [
      ...yamlLine(6, `- stream: ${stream}`),
      ...yamlLine(8, `to: ${mapping.to}`, marked(mapping.reason, mapping.isTodo)),
      ...mappedLine(8, mapping.key),
      ...(mapping.when === undefined ? [] : mappedLine(8, mapping.when)),
      ...(mapping.refs.length === 0 ? [] : ['        refs:', ...mapping.refs.flatMap((line) => mappedLine(10, line))]),
      ...fieldLines(mapping.fields),
    ]),
    ...nestedLines(parts),
    ...unusedLines(parts),
  ];
}

/** The mappings of a source that a config has already. Streams without a key have a comment with the key to write. */
export function mappingsText(streams: readonly (ConfigStream & { hasKey: boolean })[]): string {
  const keys = streams.flatMap(({ stream, key, hasKey }) => {
    if (hasKey || key === null) return [];
    const names = key.columns.map(({ path: [name = ''] }) => yamlName(name)).join(', ');
    return commentLines(4, `Under streams, ${stream} needs key: [${names}] (${key.reason}).`);
  });
  return `${[...keys, '    mappings:', ...streams.flatMap(mappingLines)].join('\n')}\n`;
}

/** The lines of a mapping that have a TODO, each with name and reason. */
export function todoOfMapping({ reason, isTodo = false, key, when, refs, fields }: ProposedMapping): string[] {
  return todoIn([{ name: 'to', reason, isTodo }, key, ...(when === undefined ? [] : [when]), ...refs, ...fields]);
}

const GUARD_REASON =
  'a read beyond these limits is held as a broken export; of fewer than 20 records, one that is missing is beyond 5%';

function optionLines(indent: number, options: readonly FoundOption[]): string[] {
  if (options.length === 0) return [];
  const lines = options.flatMap(({ name, value, reason, isTodo }) =>
    yamlLine(indent + 2, `${name}: ${yamlValue(value)}`, marked(reason, isTodo)),
  );
  return [`${' '.repeat(indent)}options:`, ...lines];
}

/** Marks a reason if a person has to check it. */
function marked(reason: string, isTodo = false): string {
  return isTodo ? `TODO ${reason}` : reason;
}

/** The lines with a TODO in the `sources` section, each with name and reason. */
export function todoOf({ recognised, streams }: ConfigParts): string[] {
  const ofStreams = streams.flatMap(({ options, key, keyless, mappings }) => [
    ...todoIn([...options, ...(keyless === undefined ? [streamKey(key)] : [])]),
    ...mappings.flatMap(todoOfMapping),
  ]);
  return [...todoIn(recognised.options), ...ofStreams];
}

const todoIn = (lines: readonly { name: string; reason: string; isTodo?: boolean }[]): string[] =>
  lines.filter(({ isTodo }) => isTodo).map(({ name, reason }) => `${name}: ${reason}`);

const STREAM_KEY = 'key of the stream';
const NO_STREAM_KEY = `${NO_KEY}; without a key a changed record counts as a new one`;

function streamKey(key: FoundKey | null) {
  return { name: STREAM_KEY, reason: key?.reason ?? NO_STREAM_KEY, isTodo: key?.isFlawed ?? true };
}

function streamLines({ stream, options, key, keyless, columns }: ConfigStream, path: string): string[] {
  const lines = [`      ${stream}:`, ...yamlLine(8, `path: ${yamlValue(path)}`)];
  for (const { name, value, reason, isTodo, isOff = false } of options) {
    const option = `${name}: ${yamlValue(value)}`;
    if (isOff) lines.push(...commentLines(8, marked(`${name}: ${reason}`, isTodo)), `        # ${option}`);
    else lines.push(...yamlLine(8, option, marked(reason, isTodo)));
  }
  if (keyless !== undefined) return [...lines, ...commentLines(8, `no key: ${keyless}`)];
  if (key === null) {
    const example = yamlName(keyExampleOf(columns.columns)?.path[0] ?? 'ID');
    lines.push(...commentLines(8, marked(`${STREAM_KEY}: ${NO_STREAM_KEY}. For example:`, true)));
    return [...lines, `        # key: [${example}]`];
  }
  const names = key.columns.map(({ path: [name = ''] }) => yamlName(name)).join(', ');
  return [...lines, ...yamlLine(8, `key: [${names}]`, marked(key.reason, key.isFlawed))];
}

function fieldLines(fields: readonly ProposedLine[]): string[] {
  return ['        fields:', ...fields.flatMap((line) => mappedLine(10, line))];
}

function mappedLine(indent: number, line: ProposedLine): string[] {
  const { name, reason, isTodo } = line;
  const expression = writtenExpression(line);
  return expression === null
    ? commentLines(indent, marked(`${name}: ${reason}`, isTodo))
    : yamlLine(indent, `${name}: ${yamlValue(expression)}`, marked(reason, isTodo));
}

function nestedLines({ columns, stream, key }: ConfigStream): string[] {
  return columns.lists.slice(0, 6).flatMap(({ path, members }) => {
    const names = members.slice(0, 8).join(', ');
    const access = path.join('.');
    const owner = key?.columns[0]?.access ?? 'row.KEY';
    return commentLines(
      6,
      `The list ${access} has objects with ${names}. If they are parts: - { stream: ${stream}, to: bom_item, each: row.${access}, key: ${owner} + "/" + item.…, refs: { product: ${owner}, part: item.… } }`,
    );
  });
}

/** The parts of an expression that name columns. */
const ACCESS = /\brow(?:\.\w+|\["(?:[^"\\]|\\.)*"\])+/g;
const UNUSED_NUMBERS_MAX = 12;
const UNUSED_MAX = 60;

/** Comments about columns that no line uses, and how to read those with numbers. */
function unusedLines({ columns, mappings, key, options }: ConfigStream): string[] {
  const [{ to }] = mappings as [ProposedMapping];
  const lines = mappings.flatMap((mapping) => [mapping.key, ...mapping.refs, ...mapping.fields]);
  const used = new Set(lines.flatMap(({ expression }) => expression?.match(ACCESS) ?? []));
  const named = new Set([
    ...options.flatMap(({ value }) => textsIn(value)),
    ...(key?.columns ?? []).map(({ label }) => label),
  ]);
  const left = columns.columns.filter((column) => !used.has(column.access) && !named.has(column.label));
  const [empty, unused] = [left.filter(isEmpty), left.filter((column) => !isEmpty(column))];
  const emptyLines =
    empty.length === 0 ? [] : commentLines(6, `In the sample, no record has a value of ${someOf(empty)}.`);
  if (unused.length === 0) return emptyLines;
  const numbers = unused.map(asNumbers).filter((text) => text !== null);
  return [
    ...commentLines(6, `${sentence(`No line uses ${someOf(unused)}`)} ${fieldsOf(to, numbers.length)}`),
    ...numbers.slice(0, UNUSED_NUMBERS_MAX).flatMap((text) => commentLines(6, text)),
    ...emptyLines,
  ];
}

/** The texts of an option, such as the names of columns in `tree`. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const isEmpty = (column: Column): boolean => column.values.length === 0;

function someOf(columns: readonly Column[]): string {
  const names = columns.slice(0, UNUSED_MAX).map(({ label }) => label);
  const more = columns.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Which fields there are, because not every column has one. A weight or an amount is the quantity of a BOM item. */
function fieldsOf(kind: ItemKind, numbers: number): string {
  const names = fieldNamesOf(kind);
  const all = `The fields of a ${kindWord(kind)} are ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`;
  if (kind === 'bom_item' || numbers === 0) return all;
  return `${all} A weight can be the quantity of a BOM item, which needs a mapping of its own.`;
}

/** In a column of numbers, more than this share of the values are numbers. The others count as mistakes. */
const NUMBERS_SHARE_MIN = 0.5;

/** How to read a column with fractions; null for all others. */
function asNumbers(column: Column): string | null {
  const hasFractions = column.values.some((value) => /[.,]/.test(value));
  const checked = asDecimal(column);
  if (!hasFractions || checked.taken <= checked.of * NUMBERS_SHARE_MIN) return null;
  const unsure = isAmbiguousDecimal(column)
    ? ` If the values are above a thousand, write decimal(${column.access}, ",").`
    : '';
  return `${column.label}: ${describeValues(checked)}: ${checked.expression(column.access)}.${unsure}`;
}

/** The longest line with a comment. A longer line gets its comment above it. */
const LINE_MAX = 110;

/** A line of YAML with a comment. */
export function yamlLine(indent: number, text: string, comment = ''): string[] {
  const blanks = ' '.repeat(indent);
  if (comment === '') return [`${blanks}${text}`];
  const line = `${blanks}${text} # ${printable(comment)}`;
  return line.length <= LINE_MAX ? [line] : [...commentLines(indent, comment), `${blanks}${text}`];
}

/** A comment on separate lines, as many as it needs. */
function commentLines(indent: number, comment: string): string[] {
  return wrap(printable(comment), LINE_MAX - indent - 2).map((line) => `${' '.repeat(indent)}# ${line}`);
}

/** A value as YAML on one line. A `${` in the value is escaped. */
export function yamlValue(value: unknown): string {
  return flowOf(withoutPlaceholders(value));
}

function flowOf(escaped: unknown): string {
  if (typeof escaped === 'string' && /[\w"]/.test(escaped) && visibleText(escaped) === escaped) {
    return stringify(escaped, { lineWidth: 0, defaultStringType: 'PLAIN', blockQuote: false }).trimEnd();
  }
  if (Array.isArray(escaped)) return `[${escaped.map(yamlItem).join(', ')}]`;
  if (typeof escaped !== 'object' || escaped === null) return jsonOf(escaped);
  const members = Object.entries(escaped).map(([name, member]) => `${yamlText(name)}: ${yamlItem(member)}`);
  return `{ ${members.join(', ')} }`;
}

/** A value within a list or an object, whose placeholders are escaped. */
function yamlItem(value: unknown): string {
  return typeof value === 'string' ? yamlText(value) : flowOf(value);
}

/** The form of a name in a list in brackets. */
function yamlName(name: string): string {
  return yamlText(name.replaceAll('${', () => '$${'));
}

function yamlText(text: string): string {
  const isPlain = /^[A-Za-z_][\w-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : jsonOf(text);
}

/** JSON is YAML, and has no line breaks in it. An escape shows each character that people cannot see. */
function jsonOf(value: unknown): string {
  return visibleText(JSON.stringify(value));
}

function withoutPlaceholders(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (Array.isArray(value)) return value.map(withoutPlaceholders);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutPlaceholders(member)]));
}
