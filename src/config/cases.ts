import { basename, dirname, extname, join } from 'node:path';
import { z } from 'zod';
import { ITEM_KINDS } from '../domain/item.ts';
import type { ExpectedIssue, MappingCase } from '../domain/mapping-case.ts';
import { withoutAbsent } from '../lib/collections.ts';
import { normalizeDecimal } from '../lib/decimal.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { createFindings, type Findings } from './checks/findings.ts';
import { parseDocumentText } from './document.ts';
import { Slug, StreamName } from './fields.ts';
import type { KeyedSource, MappingsConfig } from './loaded-config.ts';
import { parseSettings } from './parse-settings.ts';
import type { ConfigProblem, PathSegment } from './problem.ts';

/** A value of the file. YAML gives only values that JSON has too. */
const Value = z.custom<JsonValue>((value) => value !== undefined, 'a value');
const Row = z.record(z.string(), Value).transform((row) => row as JsonObject);

/** A key is text. A number in the file stands for the text with its digits. */
const Key = z
  .union([z.string(), z.number()])
  .transform((key) => (typeof key === 'string' ? key : (normalizeDecimal(String(key)) ?? String(key))));

const Given = z
  .strictObject({
    source: Slug.optional().describe(
      'The id of the source. It is needed only if several sources have a stream of this name.',
    ),
    stream: StreamName.default('default').describe('The stream to which the row belongs.'),
    row: Row.describe(
      'The row as the connector gives it: the values by column. Connectors for CSV, XLSX, XML and other text give texts, so their numbers stand in quotes.',
    ),
    lookups: z
      .record(StreamName, z.array(Row))
      .default({})
      .describe(
        'The rows of lookup tables over streams, by the name of the table. A table that is not named is empty. Tables over files are read from their files.',
      ),
  })
  .describe('The row that is mapped.');

const Item = z
  .strictObject({
    kind: z.enum(ITEM_KINDS).describe('What the row becomes.'),
    key: Key.describe('The key of the item.'),
    fields: z
      .record(z.string(), Value)
      .transform((fields) => fields as JsonObject)
      .optional()
      .describe('All fields of the item. Without this key, the fields are not compared.'),
    refs: z
      .strictObject({
        product: Key.optional().describe('The key of the product that the BOM item belongs to.'),
        material: Key.optional().describe('The key of the material.'),
        component: Key.optional().describe('The key of the product that is the component.'),
        part: Key.optional().describe('The key of the part, if the mapping gives it as `part`.'),
      })
      .transform(withoutAbsent)
      .optional()
      .describe('All refs of a BOM item, as in the mapping. Without this key, the refs are not compared.'),
  })
  .describe('An item that the row makes.');

const Issue = z
  .strictObject({
    code: z
      .string()
      .min(1, 'the code of an issue, such as country.unknown')
      .describe('The code, such as `country.unknown`.'),
    field: z
      .string()
      .optional()
      .describe('The field of the item, or the column. Without this key, it is not compared.'),
    value: Value.optional().describe('The value at fault. Without this key, it is not compared.'),
  })
  .describe('An issue that the row has.');

const Expect = z
  .strictObject({
    items: z
      .array(Item)
      .min(1, 'at least one item, or `excluded: true` for a row that makes none')
      .optional()
      .describe('All items that the row makes, in any order.'),
    issue: z
      .union([Issue.transform((issue) => [issue]), z.array(Issue).min(1, 'at least one issue')])
      .meta({ title: 'issue or list of issues' })
      .optional()
      .describe('The issue that the row has, or the list of all its issues.'),
    excluded: z.literal(true, 'true, or no such key').optional().describe('`true` if no mapping takes the row.'),
  })
  .describe('What the row becomes: `items`, `issue`, or `excluded`.');

const Case = z
  .strictObject({
    name: z
      .string()
      .refine((name) => name.trim() !== '', 'a name that is not empty')
      .describe('What the case is about. Each case of a file has its own name.'),
    given: Given,
    expect: Expect,
  })
  .describe('A row, and what it becomes.');

/** A file of cases. Types, checks and JSON Schema are taken from this tree. */
export const CasesFile = z.strictObject({
  cases: z
    .array(Case, 'a list of cases')
    .min(1, 'at least one case')
    .describe('The cases, which `dpp-sync test` runs in this order.'),
});
export type CasesFile = z.infer<typeof CasesFile>;

/** A case with its place in the file. */
export interface PlacedCase extends MappingCase {
  /** From 1. */
  line: number | null;
  /** The line of a part of what the case expects, such as `['items', 0, 'fields', 'sku']`. */
  lineOf: (path: readonly PathSegment[]) => number | null;
}

/** The file with the cases of a config: `dpp-sync.cases.yaml` beside `dpp-sync.yaml`. */
export function casesFileOf(configFile: string): string {
  return join(dirname(configFile), `${basename(configFile, extname(configFile))}.cases.yaml`);
}

/** Reads the text of a file of cases, and checks it against the config. Fails with all problems at once. */
export function readCases(
  text: string,
  { config, secrets }: { config: MappingsConfig; secrets: SecretStore },
): Result<PlacedCase[], readonly ConfigProblem[]> {
  const document = parseDocumentText(text);
  if (!document.ok) return err(document.error);
  // An empty file is one without cases.
  const value = document.value.value ?? {};
  const findings = createFindings({ document: document.value, value, templates: new Map(), secrets });
  const file = parseSettings(CasesFile, value, { path: [], findings, isExpanded: () => false });
  if (file === undefined) return err(findings.problems);
  const sources = checkCases(file, config, findings);
  if (findings.problems.length > 0) return err(findings.problems);
  return ok(
    file.cases.map(({ name, given, expect: { items, issue, excluded } }, at) => ({
      name,
      given: { ...given, source: sources[at] ?? '' },
      expect: withoutAbsent({
        items: items?.map(withoutAbsent),
        issue: issue?.map(withoutAbsent) as ExpectedIssue[] | undefined,
        excluded,
      }),
      line: document.value.lineOf(['cases', at]),
      lineOf: (path) => document.value.lineOf(['cases', at, 'expect', ...path]),
    })),
  );
}

type CaseOfFile = CasesFile['cases'][number];

/**
 * The built-in connectors that give no numbers, because all values of their formats are text. A number in a row of such a
 * connector would test something that no export has.
 */
export const WITHOUT_NUMBERS: readonly string[] = ['csv', 'xlsx', 'xml', 'fixed-width', 'sap-idoc', 'bmecat', 'gdsn'];

/**
 * Checks what the cases name against the config, and that each case says one thing.
 *
 * @returns the id of the source of each case
 */
function checkCases({ cases }: CasesFile, config: MappingsConfig, findings: Findings): string[] {
  const places = new Map<string, number>();
  return cases.map((one, at) => {
    const path = ['cases', at];
    const first = places.get(one.name);
    if (first !== undefined)
      findings.addMismatch([...path, 'name'], `a name of its own, because cases[${first}] has it`);
    else places.set(one.name, at);
    checkExpectation(one.expect, [...path, 'expect'], findings);
    const source = sourceOf(one.given, [...path, 'given'], config, findings);
    if (source === undefined) return '';
    checkValues(one.given.row, source, [...path, 'given', 'row'], findings);
    checkLookups(one.given.lookups, source, [...path, 'given', 'lookups'], { config, findings });
    return source.id;
  });
}

function checkExpectation(
  { items, issue, excluded }: CaseOfFile['expect'],
  path: PathSegment[],
  findings: Findings,
): void {
  if (items === undefined && issue === undefined && excluded === undefined)
    findings.addProblem(path, 'found nothing that is expected, expected items, issue or excluded');
  if (excluded !== undefined && (items !== undefined || issue !== undefined)) {
    const cure = 'Remove it, or the items and the issue: an excluded row has neither.';
    findings.addProblem([...path, 'excluded'], 'found excluded beside other expectations, expected it alone', cure);
  }
  for (const [at, { fields = {} }] of (items ?? []).entries()) {
    for (const [name, value] of Object.entries(fields)) {
      if (value !== null) continue;
      const cure = 'Leave the field out if the item must not have it.';
      findings.addMismatch([...path, 'items', at, 'fields', name], 'a value', cure);
    }
  }
}

/** The source that the case names, or the only one that has its stream. Undefined if there was a problem. */
function sourceOf(
  { source: id, stream }: CaseOfFile['given'],
  path: PathSegment[],
  { sources }: MappingsConfig,
  findings: Findings,
): KeyedSource | undefined {
  const having = sources.filter(({ streams }) => streams.some(({ name }) => name === stream));
  const named = id === undefined ? having : sources.filter((one) => one.id === id);
  const [source, ...others] = named;
  if (source === undefined) {
    if (id !== undefined) {
      const ids = sources.map((one) => one.id);
      findings.addUnknownName([...path, 'source'], 'a source of the config', ids);
    } else {
      const names = sources.flatMap(({ streams }) => streams.map(({ name }) => name));
      findings.addUnknownName([...path, 'stream'], 'a stream of the config', [...new Set(names)]);
    }
    return undefined;
  }
  if (others.length > 0) {
    const ids = named.map((one) => one.id).join(', ');
    findings.addMismatch([...path, 'source'], `one of ${ids}, because each of them has a stream ${stream}`);
    return undefined;
  }
  if (!having.includes(source)) {
    const names = source.streams.map(({ name }) => name);
    findings.addUnknownName([...path, 'stream'], `a stream of the source ${source.id}`, names);
    return undefined;
  }
  if (source.mappings.some((mapping) => mapping.stream === stream)) return source;
  const mapped = [...new Set(source.mappings.map((mapping) => mapping.stream))];
  findings.addUnknownName([...path, 'stream'], 'a stream that a mapping of the config uses', mapped);
  return undefined;
}

function checkValues(
  row: JsonObject,
  { connectorName }: KeyedSource,
  path: readonly PathSegment[],
  findings: Findings,
): void {
  if (!WITHOUT_NUMBERS.includes(connectorName)) return;
  for (const { at, number } of numbersIn(row, path)) {
    const expected = `text, because all values of the connector ${connectorName} are text`;
    findings.addMismatch(at, expected, `Write it in quotes, with the digits of the export: "${number}".`);
  }
}

function numbersIn(value: JsonValue, at: readonly PathSegment[]): { at: readonly PathSegment[]; number: number }[] {
  if (typeof value === 'number') return [{ at, number: value }];
  if (Array.isArray(value)) return value.flatMap((entry, index) => numbersIn(entry, [...at, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => numbersIn(member, [...at, name]));
}

/** Each row of a lookup table has to have all columns that the table uses. */
function checkLookups(
  given: CaseOfFile['given']['lookups'],
  source: KeyedSource,
  path: readonly PathSegment[],
  { config, findings }: { config: MappingsConfig; findings: Findings },
): void {
  const overStreams = Object.keys(source.lookups).filter((name) => source.lookups[name]?.stream !== undefined);
  for (const [name, rows] of Object.entries(given)) {
    const table = Object.hasOwn(source.lookups, name) ? source.lookups[name] : undefined;
    if (table === undefined) {
      findings.addUnknownKey([...path, name], overStreams);
      continue;
    }
    if (table.stream === undefined) {
      const message = `found rows of the lookup table ${name}, expected none: its entries are in the file ${table.file}`;
      findings.addProblem([...path, name], message, 'Remove the rows. The case uses the file.');
      continue;
    }
    const columns = [...table.key, ...[table.value].flat()];
    const of = config.sources.find(({ id }) => id === (table.source ?? source.id));
    for (const [at, row] of rows.entries()) {
      if (of !== undefined) checkValues(row, of, [...path, name, at], findings);
      const absent = columns.filter((column) => !Object.hasOwn(row, column));
      if (absent.length === 0) continue;
      const message = `found a row without ${absent.join(' and ')}, expected the columns ${columns.join(', ')}`;
      findings.addProblem([...path, name, at], message);
    }
  }
}
