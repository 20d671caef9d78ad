import type { PlacedCase } from '../../config/cases/read-cases.ts';
import type { MappingsConfig } from '../../config/loaded-config.ts';
import { formatPath } from '../../config/problem.ts';
import type { Mapper } from '../../domain/mapping.ts';
import { compareCase, type Difference } from '../../pipeline/cases/compare-case.ts';
import { createCaseMappers } from './case-mappers.ts';

/** A difference with its place in the file. */
export interface PlacedDifference extends Omit<Difference, 'path'> {
  /** The place in `expect`, such as `items[0].fields.sku`. */
  path: string;
  line: number | null;
}

export interface CaseResult {
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
export interface CasesOfFile {
  file: string;
  cases: readonly PlacedCase[];
}

/**
 * Runs cases with the mappings of a config.
 *
 * @returns also the mappings of the sources that the cases name
 * @throws Fault `mapping.invalid` with all problems of the mappings
 */
export async function runCases(
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
export function untestedStreams(results: readonly CaseResult[], { sources }: MappingsConfig): string[] {
  const tested = new Set(results.map(({ source, stream }) => `${source}/${stream}`));
  const mapped = sources.flatMap(({ id, mappings }) => mappings.map(({ stream }) => `${id}/${stream}`));
  return [...new Set(mapped)].filter((name) => !tested.has(name));
}
