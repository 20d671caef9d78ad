import type { RuntimeConfig } from '../sources/open-source.ts';
import { type PlanRequest, type PlanSummary, type PlanTools, plan } from './plan.ts';
import { createRecording, type Recording } from './recording.ts';

/** The first line of a plan. */
function headLine({ of, config, sources }: PlanRequest, madeAt: number): object {
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
function summaryLine({ standing, ...summary }: PlanSummary, more: { ok: boolean; seconds: number | null }) {
  const { guarded, missing, quarantined } = standing;
  return { type: 'summary', ok: more.ok, ...summary, guarded, missing, quarantined, seconds: more.seconds };
}

export interface WritePlanTools extends Omit<PlanTools, 'recording'> {
  /** Gets the rows that are read, and stays open. Without it, only digests of the rows are made. */
  recording?: Recording;
  /** Gets the lines, some hundred at once. The plan continues when the promise is fulfilled. */
  write: (lines: readonly object[]) => Promise<void>;
  /** How many requests a second the platform allows; null if nothing is known. */
  rate: () => Promise<number | null>;
}

export interface WrittenPlan {
  summary: PlanSummary;
  rate: number | null;
  /** The last line. */
  last: ReturnType<typeof summaryLine>;
}

/**
 * Makes a plan, and writes it line by line. An error before its first item has no line before it.
 *
 * @throws the errors of `plan`
 */
export async function writePlan(request: PlanRequest, tools: WritePlanTools, abort: AbortSignal): Promise<WrittenPlan> {
  const recording = tools.recording ?? (await createRecording(null));
  let head = [headLine(request, tools.clock.now())];
  const write = async (lines: readonly object[]): Promise<void> => {
    const whole = [...head, ...lines];
    head = [];
    await tools.write(whole);
  };
  const onItems: PlanTools['onItems'] = async (items) => {
    await tools.onItems(items);
    await write(items.map((item) => ({ type: 'item', ...item })));
  };
  try {
    const summary = await plan(request, { ...tools, recording, onItems }, abort);
    const rate = await tools.rate();
    const seconds = rate === null ? null : Math.ceil(summary.requests / rate);
    const last = summaryLine(summary, { ok: summary.failed.length === 0, seconds });
    await write([last]);
    return { summary, rate, last };
  } finally {
    if (tools.recording === undefined) await recording.close();
  }
}

/** The smallest of the rates that are known; null if none is. */
export function smallestRate(...rates: readonly (number | null | undefined)[]): number | null {
  const known = rates.filter((rate) => typeof rate === 'number');
  return known.length === 0 ? null : Math.min(...known);
}
