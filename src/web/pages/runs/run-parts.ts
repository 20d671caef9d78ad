import type { RunView, StreamAccount } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { confirmForm } from '../../parts/confirm-form.ts';
import { formatCount } from '../../parts/count-link.ts';
import { stateBadge } from '../../parts/state-badge.ts';
import { attentionPath } from '../links.ts';

/** The counts of a stream. The first is the sum of the four that follow it. */
export const RUN_COUNTS = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;
export type RunCount = (typeof RUN_COUNTS)[number];

export function sumOf(streams: readonly StreamAccount[], count: RunCount): number {
  return streams.reduce((sum, stream) => sum + stream[count], 0);
}

/** A count of rows at the time of the run. The ledger has no list of these rows, so the figure is not a link. */
export function runCount(figure: number): Html {
  return html`<span class="${figure === 0 ? 'zero' : ''}">${formatCount(figure)}</span>`;
}

/** Says which rows a run counts as quarantined, with the link to the rows of the source, or of all, in quarantine now. */
export function quarantinedMeans(source: string | null): Html {
  const link = html`<a href="${attentionPath({ type: 'quarantine', source })}">rows that are in quarantine now</a>`;
  return html`Quarantined rows are new or changed rows that the run has put into quarantine, and not all ${link}.`;
}

/** The result of a run. If the guard held one of its streams, this is shown in place of the result. */
export function runBadge(run: Pick<RunView, 'result' | 'endedAt' | 'streams'>, isRunning: boolean): Html {
  if (run.result === 'failed') return stateBadge('failed');
  if (run.streams.some(({ guarded }) => guarded !== null)) return stateBadge('guarded');
  if (run.result === 'complete') return stateBadge('complete');
  // If a run has no end and its source is not being read, the run was interrupted when its process ended.
  return stateBadge(run.endedAt === null && isRunning ? 'running' : 'interrupted');
}

const TRIGGERS: Record<RunView['trigger'], string> = {
  cli: 'a person',
  schedule: 'the schedule',
  retry: 'Retry in the queues',
  file: 'a changed export',
  upload: 'an upload',
};

/** Who asked for a run. */
export function askedBy({ trigger, askedBy: who }: { trigger: RunView['trigger']; askedBy: string | null }): Html {
  return who === null ? html`${TRIGGERS[trigger]}` : html`${who}`;
}

/** The button that stops the run of a source. It names the run, because a later run may be in progress when it is pressed. */
export function stopForm({ source, run }: { source: string; run: number | null }, csrf: string): Html {
  const fields = run === null ? { source } : { source, run: String(run) };
  return confirmForm({ csrf }, { action: '/runs/stop', fields, button: `Stop the run of ${source}`, tone: 'grave' });
}
