import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Document, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { casesFileOf, type PlacedCase } from '../../config/cases.ts';
import type { KeyedSource, MappingsConfig } from '../../config/loaded-config.ts';
import { casesIn, createCaseMappers, readIfThere } from '../../daemon/cases/test-cases.ts';
import { openPreview, type PreviewedRecord } from '../../daemon/preview/preview.ts';
import type { ConfiguredSource, RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import type { Expectation, GivenRow, MappingCase } from '../../domain/mapping-case.ts';
import { RAW_FIELD, readableKey } from '../../domain/record.ts';
import { kindWord } from '../../domain/words/states.ts';
import { fileReasonOf } from '../../lib/errors.ts';
import { withHiddenShown } from '../../lib/text/safe-text.ts';
import { compareCase, expectationOf } from '../../pipeline/cases/compare-case.ts';
import type { ReadEntries } from '../../pipeline/map-records.ts';
import type { CommandContext } from '../context.ts';

interface Target {
  file: string;
  /** The name that the case gets if no other case of the file has it. */
  name: string;
  config: MappingsConfig;
  secrets: CommandContext['secrets'];
  read: ReadEntries;
}

/**
 * Adds a case of a row to a file, which is made if it does not exist.
 *
 * @returns the case, or the case of the file that has the same row already
 * @throws Fault `usage` if the file cannot be written
 */
export async function writeCase(
  row: Omit<GivenRow, 'lookups'>,
  { file, name, config, secrets, read }: Target,
): Promise<PlacedCase | { known: PlacedCase }> {
  const text = await readIfThere(file);
  const present = text === null || hasNoCase(text) ? [] : casesIn(file, text, { config, secrets });
  const mappers = await createCaseMappers(config, [row.source]);
  const { given, result } = await mappers.record(row, read);
  const known = present.find((one) => isDeepStrictEqual(one.given, given));
  if (known !== undefined) return { known };
  const made = { name: freeName(name, present), given, expect: expectationOf(result) };
  const isSourceKnown = sourcesWith(given.stream, config).length === 1;
  const next =
    text === null ? newCasesText(basename(config.file), made, isSourceKnown) : withCase(text, made, isSourceKnown);
  const written = casesIn(file, next, { config, secrets }).at(-1);
  const isSame =
    written !== undefined &&
    isDeepStrictEqual(written.given, given) &&
    compareCase(written.expect, mappers.map(written.given).result).length === 0;
  if (!isSame) {
    throw fault('usage', `What the row becomes now cannot be written as a case, so ${file} stays as it is.`, {
      suggestion: 'Read the sources that the mapping looks up to their end, or name another row.',
    });
  }
  await store(file, next);
  return written;
}

function freeName(name: string, cases: readonly PlacedCase[]): string {
  const isTaken = (one: string) => cases.some((other) => other.name === one);
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? name : `${name} (${count})`;
    if (!isTaken(free)) return free;
  }
}

async function store(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw fault('usage', `${file} cannot be written: ${fileReasonOf(error)}.`, {
      suggestion: 'Name a file in a folder that exists and in which dpp-sync may write.',
      cause: error,
    });
  }
}

function sourcesWith(stream: string, { sources }: MappingsConfig): KeyedSource[] {
  return sources.filter(({ streams }) => streams.some(({ name }) => name === stream));
}

/** @param key null for a row without a key */
export function nameOfRow(
  { source, stream }: Omit<GivenRow, 'lookups'>,
  key: string | null,
  config: MappingsConfig,
): string {
  const of = sourcesWith(stream, config).length === 1 ? stream : `${source}/${stream}`;
  return key === null ? `a row of ${of}` : `row ${readableKey(key)} of ${of}`;
}

/** What a case expects, as a sentence. */
export function described({ items = [], issue = [], excluded }: Expectation): string {
  if (excluded) return 'No mapping takes the row.';
  const made = items.map(({ kind, key }) => `${kindWord(kind)} ${key}`);
  const found = issue.map(({ code, field }) => `${code}${field === undefined ? '' : ` in ${field}`}`);
  return `The row becomes ${[...made, ...found.map((one) => `the issue ${one}`)].join(', ')}.`;
}

// Writes cases as YAML, for people to read and change.

const OPTIONS = { lineWidth: 0, blockQuote: false } as const;

/** A case in the form of the file. The source is left out if the stream alone shows it. */
function written({ name, given, expect }: MappingCase, isSourceKnown: boolean): object {
  const { source, stream, row, lookups } = given;
  const { issue, ...others } = expect;
  return {
    name,
    given: {
      ...(isSourceKnown ? {} : { source }),
      stream,
      row,
      ...(Object.keys(lookups).length === 0 ? {} : { lookups }),
    },
    expect: { ...others, ...(issue === undefined ? {} : { issue: issue.length === 1 ? issue[0] : issue }) },
  };
}

/** The text of a new file with one case. */
export function newCasesText(configName: string, one: MappingCase, isSourceKnown: boolean): string {
  return `# Cases of the mappings in ${configName}: a row, and what it becomes. \`dpp-sync test\` runs them without key, network or ledger.
# \`dpp-sync test --record KEY\` adds a case from a stored row. docs/tests.md describes the file.

${textOf(new Document({ cases: [written(one, isSourceKnown)] }))}`;
}

/** True for a file in which no case stands yet. A run refuses such a file. */
export function hasNoCase(text: string): boolean {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !(document.contents === null || isMap(document.contents))) return false;
  const cases = document.get('cases');
  return cases === undefined || cases === null || (isSeq(cases) && cases.items.length === 0);
}

/** The text of a file with one more case at its end. Everything that stands in the file stays as it is. */
export function withCase(text: string, one: MappingCase, isSourceKnown: boolean): string {
  const document = parseDocument(text);
  const cases = document.get('cases', true);
  if (isSeq(cases) && cases.flow !== true && cases.items.length > 0) {
    const [start] = cases.range ?? [0];
    const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1);
    const lines = textOf(new Document([written(one, isSourceKnown)]))
      .trimEnd()
      .split('\n');
    return `${text.trimEnd()}\n\n${lines.map((line) => `${indent}${line}`).join('\n')}\n`;
  }
  // There is no case yet, or the file has another form, such as JSON.
  const entry = document.createNode(written(one, isSourceKnown));
  if (isSeq(cases)) cases.add(entry);
  else {
    const list = document.createNode([entry]);
    list.commentBefore = (isScalar(cases) ? cases.comment : null) ?? null;
    document.set('cases', list);
  }
  return textOf(document);
}

/** The text of a document in which each character can be seen. */
function textOf(document: Document): string {
  visit(document, {
    Scalar(_key, node) {
      // Only between double quotes an escape stands for a character.
      if (typeof node.value === 'string' && withHiddenShown(node.value) !== node.value) node.type = 'QUOTE_DOUBLE';
    },
  });
  return withHiddenShown(document.toString(OPTIONS));
}

/**
 * Writes the file of cases beside a new config, with one case from a row of a source. A file that is there stays as it is.
 *
 * @returns the absolute path of the file; null if nothing was written
 */
export async function writeFirstCase(
  source: ConfiguredSource,
  config: RuntimeConfig,
  context: CommandContext,
): Promise<string | null> {
  const { configFile, secrets } = context;
  const file = casesFileOf(configFile);
  if (existsSync(file)) return null;
  const preview = await openPreview(source, config, { log: await context.log(), signal: context.interruption() });
  try {
    const found = await firstRow(source, preview);
    if (found === null) return null;
    const { stream, record } = found;
    const row = { source: source.id, stream, row: record.fields };
    const name = nameOfRow(row, record.key, config);
    const read: ReadEntries = async (keys) =>
      keys.map((key) => ({ ...key, ...(preview.find(key) ?? { values: [], isRead: false }) }));
    await writeCase(row, { file, name, config, secrets, read });
    return resolve(file);
  } finally {
    await preview.close();
  }
}

interface FoundRow {
  stream: string;
  record: PreviewedRecord;
}

/** The first row that becomes items, among the first rows of each stream. If there is none, the first row that could be read. */
async function firstRow(
  { mappings }: ConfiguredSource,
  preview: Awaited<ReturnType<typeof openPreview>>,
): Promise<FoundRow | null> {
  let readable: FoundRow | null = null;
  for (const stream of new Set(mappings.map((mapping) => mapping.stream))) {
    for await (const { records } of preview.read(stream)) {
      const mapped = records.find(({ status }) => status === 'mapped');
      if (mapped !== undefined) return { stream, record: mapped };
      const record = records.find(({ fields }) => !Object.hasOwn(fields, RAW_FIELD));
      if (record !== undefined) readable ??= { stream, record };
      break;
    }
  }
  return readable;
}
