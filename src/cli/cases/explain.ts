import type { MappingsConfig } from '../../config/loaded-config.ts';
import type { CaseResult } from '../../daemon/cases/run-cases.ts';
import { whyExcluded } from '../text/excluded.ts';

/** The result of a case, with what helps to understand a failure. */
export interface ExplainedResult extends CaseResult {
  /** Full sentences, or the mappings of the stream with the reasons why they do not take the row. */
  hints: string[];
}

export function explain(result: CaseResult, { sources }: MappingsConfig): ExplainedResult {
  const { source, stream, differences, emptyTables } = result;
  if (differences.length === 0) return { ...result, hints: [] };
  const isExcluded = differences.some(({ path, got }) => path === 'excluded' && got === true);
  const mappings =
    sources.find(({ id }) => id === source)?.mappings.filter((mapping) => mapping.stream === stream) ?? [];
  const hints = [
    ...emptyTables.map(
      (name) => `The case gives no rows of the lookup table ${name}: add them at given.lookups.${name}.`,
    ),
    ...(isExcluded ? whyExcluded(mappings) : []),
  ];
  return { ...result, hints };
}
