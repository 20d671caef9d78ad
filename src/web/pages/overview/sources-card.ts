import type { RunView, StreamAccount } from '../../../domain/ports/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { span, time } from '../figures.ts';
import { attentionPath, countLink, itemsPath, runPath, runsPath } from '../links.ts';
import { badge } from '../words.ts';
import type { OverviewView } from './overview-view.ts';

const COUNTS = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;
type Count = (typeof COUNTS)[number];

/** The last run of each source, with counts that add up: read = unchanged + changed + quarantined + excluded. */
export function sourcesCard(view: OverviewView): Html {
  const rows = view.standing.sources.map((source) => sourceRow(source, view));
  const heads = COUNTS.map((count) => html`<th scope="col" class="number">${count}</th>`);
  return html`<section class="card" aria-labelledby="sources"><h2 id="sources">Last run of each source</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="sources"><table class="stacks">
<thead><tr><th scope="col">source</th><th scope="col">result</th>${heads}<th scope="col">next run</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function sourceRow(
  { source, lastRun, nextRunAt }: OverviewView['standing']['sources'][number],
  { running, now }: OverviewView,
): Html {
  const next = nextRunAt === null ? html`<span class="quiet">on demand</span>` : time(nextRunAt);
  const cells = COUNTS.map(
    (count) => html`<td class="number" data-label="${count}">${cell(count, source, lastRun)}</td>`,
  );
  return html`<tr><th scope="row"><a href="${runsPath({ source })}">${source}</a></th>
<td data-label="result">${resultOf(lastRun, running.includes(source), now)}</td>${cells}<td data-label="next run">${next}</td></tr>`;
}

function cell(count: Count, source: string, run: RunView | null): Html {
  if (run === null) return html``;
  const sum = sumOf(run.streams, count);
  if (count === 'changed') return countLink(sum, itemsPath({ run: run.id }));
  if (count === 'quarantined') return countLink(sum, attentionPath({ source, type: 'quarantine' }));
  if (count === 'missing') return countLink(sum, itemsPath({ state: 'missing', source }));
  return countLink(sum, runPath(run.id));
}

export function sumOf(streams: readonly StreamAccount[], count: Count): number {
  return streams.reduce((sum, stream) => sum + stream[count], 0);
}

function resultOf(run: RunView | null, isRunning: boolean, now: number): Html {
  if (run === null) return isRunning ? badge('running', 'busy') : html`<span class="quiet">never</span>`;
  if (isRunning) {
    return html`${badge('running', 'busy')} <a href="${runPath(run.id)}">for ${span(now - run.startedAt)}</a>`;
  }
  const ended = run.endedAt ?? run.startedAt;
  const lasted = run.endedAt === null ? null : html`, ${span(run.endedAt - run.startedAt)}`;
  const error = run.error === null ? null : html`<br /><span class="quiet">${run.error}</span>`;
  return html`${runBadge(run)} <a href="${runPath(run.id)}">${time(ended)}</a>${lasted}${error}`;
}

/** The result of a run; a guard that held one of its streams counts before its result. */
export function runBadge(run: Pick<RunView, 'result' | 'endedAt' | 'streams'>): Html {
  if (run.result === 'failed') return badge('failed', 'bad');
  if (run.streams.some(({ guarded }) => guarded !== null)) return badge('guard holds', 'bad');
  if (run.result === 'complete') return badge('complete', 'good');
  if (run.result === 'interrupted') return badge('interrupted', 'warn');
  return run.endedAt === null ? badge('running', 'busy') : badge('cut short', 'warn');
}
