import type { RunView } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { countLink, durationOf, stateBadge, timeOf } from '../../shown-values.ts';
import { attentionPath, runPath, runsPath } from '../links.ts';
import { RUN_COUNTS, runBadge, runCount, sumOf } from '../runs/runs-pages.ts';
import type { OverviewView } from './overview-view.ts';

const IN_QUARANTINE = 'in quarantine now';

/**
 * The last run of each source, with its counts: read = unchanged + changed + quarantined + excluded. An unchanged row
 * counts as unchanged also if it is in quarantine, so a further column has all rows in quarantine.
 */
export function sourcesCard(view: OverviewView): Html {
  const rows = view.standing.sources.map((source) => sourceRow(source, view));
  const heads = RUN_COUNTS.map((count) => html`<th scope="col" class="number">${count}</th>`);
  return html`<section class="card" aria-labelledby="sources"><h2 id="sources">Last run of each source</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="sources"><table class="stacks">
<thead><tr><th scope="col">source</th><th scope="col">result</th>${heads}<th scope="col" class="number">${IN_QUARANTINE}</th><th scope="col">next run</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function sourceRow(
  { source, lastRun, nextRunAt }: OverviewView['standing']['sources'][number],
  { running, pauses, inQuarantine, now }: OverviewView,
): Html {
  const pause = pauses.get(source);
  const paused = pause === undefined ? null : html`<span class="badge warn">paused</span> until ${timeOf(pause)}<br />`;
  const next = nextRunAt === null ? html`<span class="quiet">on demand</span>` : timeOf(nextRunAt);
  const quarantined =
    inQuarantine === null
      ? null
      : countLink(inQuarantine.get(source) ?? 0, attentionPath({ type: 'quarantine', source }));
  const cells = RUN_COUNTS.map(
    (count) =>
      html`<td class="number" data-label="${count}">${lastRun === null ? null : runCount(sumOf(lastRun.streams, count))}</td>`,
  );
  return html`<tr><th scope="row"><a href="${runsPath({ source })}">${source}</a></th>
<td class="text" data-label="result">${resultOf(lastRun, running.includes(source), now)}</td>${cells}<td class="number" data-label="${IN_QUARANTINE}">${quarantined}</td><td data-label="next run">${paused}${next}</td></tr>`;
}

function resultOf(run: RunView | null, isRunning: boolean, now: number): Html {
  if (run === null) return isRunning ? stateBadge('running') : html`<span class="quiet">never</span>`;
  if (isRunning) {
    return html`${stateBadge('running')} <a href="${runPath(run.id)}">for ${durationOf(now - run.startedAt)}</a>`;
  }
  const ended = run.endedAt ?? run.startedAt;
  const lasted = run.endedAt === null ? null : html`, ${durationOf(run.endedAt - run.startedAt)}`;
  const error = run.error === null ? null : html`<br /><span class="quiet">${run.error}</span>`;
  return html`${runBadge(run, isRunning)} <a href="${runPath(run.id)}">${timeOf(ended)}</a>${lasted}${error}`;
}
