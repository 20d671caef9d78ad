// What the lines of a plan say, besides the items.

import type { RuntimeConfig } from '../sources/open-source.ts';
import type { PlanRequest, PlanSummary } from './plan.ts';

/** The first line of a plan. */
export function headLine({ of, config, sources }: PlanRequest, madeAt: number): object {
  return {
    type: 'plan',
    version: 1,
    of,
    madeAt: new Date(madeAt).toISOString(),
    target: config.target.baseUrl,
    sources: sourcesOf(config, sources),
  };
}

const sourcesOf = ({ sources }: RuntimeConfig, named: readonly string[]): string[] =>
  named.length === 0 ? sources.map(({ id }) => id) : [...new Set(named)];

/** The last line of a plan. */
export function summaryLine({ standing, ...summary }: PlanSummary, more: { ok: boolean; seconds: number | null }) {
  const { guarded, missing, quarantined } = standing;
  return { type: 'summary', ok: more.ok, ...summary, guarded, missing, quarantined, seconds: more.seconds };
}
