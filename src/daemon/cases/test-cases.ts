import { basename } from 'node:path';
import { casesFileOf, type PlacedCase, readCases } from '../../config/cases.ts';
import type { MappingsConfig } from '../../config/loaded-config.ts';
import { formatPath, problemsFault } from '../../config/problem.ts';
import { fault } from '../../domain/faults.ts';
import { createRowEntries, type LookupEntry, rowsOfEntry } from '../../domain/lookup.ts';
import { type MappableRecord, type Mapper, type MapResult, whyExcluded } from '../../domain/mapping.ts';
import type { GivenRow } from '../../domain/mapping-case.ts';
import { readBoundedFile } from '../../lib/files.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import type { Tested, TestedCase } from '../../operations/test-document.ts';
import { compareCase, type Difference } from '../../pipeline/cases/compare-case.ts';
import { mappableRow } from '../../pipeline/incoming-record.ts';
import { mapRecords, type ReadEntries } from '../../pipeline/map-records.ts';
import { createMappers } from '../sources/mappers.ts';

/** A difference with its place in the file. */
interface PlacedDifference extends Omit<Difference, 'path'> {
  /** The place in `expect`, such as `items[0].fields.sku`. */
  path: string;
  line: number | null;
}

interface CaseResult {
  file: string;
  line: number | null;
  name: string;
  source: string;
  stream: string;
  /** Empty if the case has passed. */
  differences: PlacedDifference[];
  /** The lookup tables over streams that the row looks up, and of which the case gives no rows. */
  emptyTables: string[];
}

/** A file of cases, as it was read. */
interface CasesOfFile {
  file: string;
  cases: readonly PlacedCase[];
}

/**
 * Runs cases with the mappings of a config.
 *
 * @returns also the mappings of the sources that the cases name
 * @throws Fault `mapping.invalid` with all problems of the mappings
 */
async function runCases(
  files: readonly CasesOfFile[],
  config: MappingsConfig,
): Promise<{ results: CaseResult[]; mappers: ReadonlyMap<string, Mapper> }> {
  const sources = files.flatMap(({ cases }) => cases.map(({ given }) => given.source));
  const mappers = await createCaseMappers(config, sources);
  const results = files.flatMap(({ file, cases }) =>
    cases.map(({ name, given, expect, line, lineOf }): CaseResult => {
      const { result, missing } = mappers.map(given);
      const differences = compareCase(expect, result).map(({ path, ...difference }) => ({
        path: formatPath(path),
        line: lineOf(path),
        ...difference,
      }));
      return { file, line, name, source: given.source, stream: given.stream, differences, emptyTables: missing };
    }),
  );
  return { results, mappers: mappers.bySource };
}

/** The streams whose mappings no case tests, as `source/stream`. */
function untestedStreams(results: readonly CaseResult[], { sources }: MappingsConfig): string[] {
  const tested = new Set(results.map(({ source, stream }) => `${source}/${stream}`));
  const mapped = sources.flatMap(({ id, mappings }) => mappings.map(({ stream }) => `${id}/${stream}`));
  return [...new Set(mapped)].filter((name) => !tested.has(name));
}

interface TestTools {
  config: MappingsConfig;
  /** The config file, as a person has named it. */
  configFile: string;
  secrets: SecretStore;
}

/**
 * Runs the cases of files with the mappings of a config, or those of the file beside the config if none is named.
 *
 * @returns the results, and the mappings of the sources that the cases name
 * @throws Fault `cases.missing`, `cases.invalid`, or `mapping.invalid`
 */
export async function testCases(
  files: readonly string[],
  tools: TestTools,
): Promise<{ tested: Tested; mappers: ReadonlyMap<string, Mapper> }> {
  const { config } = tools;
  const { results, mappers } = await runCases(await loadCases(files, tools), config);
  const cases = results.map((result) => documentOf(result, config));
  const failed = cases.filter(({ result }) => result === 'failed').length;
  const tested = { cases, passed: cases.length - failed, failed, untested: untestedStreams(results, config) };
  return { tested, mappers };
}

function documentOf(result: CaseResult, config: MappingsConfig): TestedCase {
  const { file, line, name, source, stream, differences } = result;
  const hasFailed = differences.length > 0;
  const hints = hasFailed ? hintsOf(result, config) : [];
  return { file, line, name, source, stream, result: hasFailed ? 'failed' : 'passed', differences, hints };
}

/** What helps to understand a failure: full sentences, or the mappings of the stream with the reasons why they do not take the row. */
function hintsOf({ source, stream, differences, emptyTables }: CaseResult, { sources }: MappingsConfig): string[] {
  const isExcluded = differences.some(({ path, got }) => path === 'excluded' && got === true);
  const mappings =
    sources.find(({ id }) => id === source)?.mappings.filter((mapping) => mapping.stream === stream) ?? [];
  return [
    ...emptyTables.map(
      (name) => `The case gives no rows of the lookup table ${name}: add them at given.lookups.${name}.`,
    ),
    ...(isExcluded ? whyExcluded(mappings) : []),
  ];
}

export function withoutSecrets(tested: Tested, secrets: SecretStore): Tested {
  const scrub = (_: string, member: unknown) => (typeof member === 'string' ? secrets.scrubValue(member) : member);
  return JSON.parse(JSON.stringify(tested, scrub)) as Tested;
}

const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads the cases of files, or those of the file beside the config if none is named.
 *
 * @throws Fault `cases.missing` for a file that does not exist or cannot be read, `cases.invalid` with the problems of all
 *   files
 */
async function loadCases(
  files: readonly string[],
  { config, configFile, secrets }: { config: MappingsConfig; configFile: string; secrets: SecretStore },
): Promise<CasesOfFile[]> {
  const loaded: CasesOfFile[] = [];
  const refused: Parameters<typeof problemsFault>[1][number][] = [];
  for (const file of files.length > 0 ? files : [casesFileOf(configFile)]) {
    const cases = readCases(await readCasesFile(file), { config, secrets });
    if (cases.ok) loaded.push({ file, cases: cases.value });
    else refused.push({ file, problems: cases.error });
  }
  if (refused.length > 0) throw problemsFault('cases.invalid', refused);
  return loaded;
}

/** @throws Fault `cases.missing` */
async function readCasesFile(file: string): Promise<string> {
  const text = await readIfThere(file);
  if (text !== null) return text;
  throw fault('cases.missing', `There is no file of cases: ${file}.`, {
    suggestion: `Write a case from a stored row with \`dpp-sync test --record KEY\`, or by hand: docs/tests.md shows one. Or name files: \`dpp-sync test FILE\`.`,
  });
}

/** Null if there is no such file. */
export async function readIfThere(file: string): Promise<string | null> {
  const content = await readBoundedFile(file, BYTES_MAX);
  if (content.ok) return content.value;
  const { kind, reason } = content.error;
  if (kind === 'missing') return null;
  throw fault('cases.missing', `The file of cases ${file} ${reason}.`, {
    suggestion: `Check the path and the permissions of ${basename(file)}.`,
  });
}

/** The cases of a text, which has to be without problems. */
export function casesIn(
  file: string,
  text: string,
  given: { config: MappingsConfig; secrets: SecretStore },
): PlacedCase[] {
  const cases = readCases(text, given);
  if (!cases.ok) throw problemsFault('cases.invalid', [{ file, problems: cases.error }]);
  return cases.value;
}

/**
 * The mappings of these sources, for rows that are given. Nothing is opened and nothing is stored: neither a source nor the
 * ledger nor the platform is needed.
 *
 * @throws Fault `mapping.invalid` with all problems of the mappings
 */
export async function createCaseMappers(config: MappingsConfig, sources: readonly string[]) {
  const { file, profile } = config;
  const wanted = config.sources.filter(({ id }) => sources.includes(id));
  const compiled = await createMappers({ sources: () => config.sources, file, profile }).compile(wanted);

  function prepare({ source: id, stream: name, row }: Omit<GivenRow, 'lookups'>): {
    record: MappableRecord;
    mapper: Mapper;
  } {
    const source = wanted.find((one) => one.id === id);
    const stream = source?.streams.find((one) => one.name === name);
    const mapper = compiled.get(id);
    if (source === undefined || stream === undefined || mapper === undefined)
      throw new Error(`There is no stream ${id}/${name}.`);
    const of = { source: id, stream: name, key: stream.key, omitted: new Set(source.omit) };
    return { record: mappableRow({ fields: row, place: {} }, of), mapper };
  }

  return {
    /** The mappings by source. */
    bySource: compiled as ReadonlyMap<string, Mapper>,
    /** Maps the row of a case. `missing`: the tables over streams that it looks up and that the case does not give, by name. */
    map({ lookups, ...row }: GivenRow): { result: MapResult; missing: string[] } {
      const { record, mapper } = prepare(row);
      const entries = createRowEntries();
      const tables = (mapper.lookups ?? []).filter(({ stream }) => stream !== null);
      for (const table of tables) for (const fields of lookups[table.name] ?? []) entries.add(table, fields);
      const result = mapper.map(record, entries.find);
      const used = new Set(result.uses?.map(({ table }) => table));
      const missing = tables.filter(({ id, name }) => used.has(id) && !Object.hasOwn(lookups, name));
      return { result, missing: missing.map(({ name }) => name) };
    },
    /**
     * Maps a row with the entries that `read` gives. Returns the result, and the row as a case gives it: without the columns
     * that are never stored, and with the rows of the entries that it has looked up.
     */
    async record(row: Omit<GivenRow, 'lookups'>, read: ReadEntries): Promise<{ given: GivenRow; result: MapResult }> {
      const { record, mapper } = prepare(row);
      const entries = new Map<string, LookupEntry>();
      const [result] = await mapRecords(mapper, [record], async (keys) => {
        const found = await read(keys);
        for (const { table, key, ...entry } of found) entries.set(`${table} ${key}`, entry);
        return found;
      });
      if (result === undefined) throw new Error('The row has no result.');
      const lookups = rowsLookedUp(result, mapper, entries);
      return { given: { source: row.source, stream: row.stream, row: record.fields, lookups }, result };
    },
  };
}

/** The rows of the tables over streams from which a result has its values, by the names of the tables. */
function rowsLookedUp(
  { uses = [] }: MapResult,
  mapper: Mapper,
  entries: ReadonlyMap<string, LookupEntry>,
): Record<string, JsonObject[]> {
  const tables = new Map((mapper.lookups ?? []).map((table) => [table.id, table]));
  const rows: Record<string, JsonObject[]> = {};
  for (const { table: id, key } of uses) {
    const table = tables.get(id);
    if (table === undefined || table.stream === null) continue;
    const values = entries.get(`${id} ${key}`)?.values ?? [];
    rows[table.name] = [...(rows[table.name] ?? []), ...rowsOfEntry(table.stream, key, values)];
  }
  return rows;
}
