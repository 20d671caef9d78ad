import type { MappingsConfig } from '../../config/loaded-config.ts';
import type { Mapper } from '../../domain/mapping.ts';
import { whyExcluded } from '../../domain/words/excluded.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import type { Tested, TestedCase } from '../../operations/test-document.ts';
import { loadCases } from './load-cases.ts';
import { type CaseResult, runCases, untestedStreams } from './run-cases.ts';

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
