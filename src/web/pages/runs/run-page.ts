import type { Listed, RunRow } from '../../../domain/ports/ledger/dashboard-views.ts';
import { runWarnings } from '../../../domain/run-warnings.ts';
import { type Html, html } from '../../html.ts';
import { confirmForm } from '../../parts/confirm-form.ts';
import { counted, formatCount } from '../../parts/count-link.ts';
import { dataTable } from '../../parts/data-table.ts';
import { keyValues } from '../../parts/key-values.ts';
import { card, pageHead } from '../../parts/page-head.ts';
import { durationOf, timeOf } from '../../parts/time.ts';
import { acceptPath, attentionPath, itemsPath, runsPath } from '../links.ts';
import { askedBy, quarantinedMeans, RUN_COUNTS, runBadge, runCount, stopForm, sumOf } from './run-parts.ts';

export interface RunPageView {
  run: RunRow;
  isRunning: boolean;
  /** How many items were last changed by this run. */
  changedItems: Listed<unknown>['total'];
  /** True if the guard holds the export of this run at present, so that the export can be accepted. */
  isHeld: boolean;
  /** False for a source that the config does not have any more. */
  isConfigured: boolean;
  operates: boolean;
  csrf: string;
  now: number;
}

/** The page of one run: the rows that it read, the changes, and the problems. */
export function runPage(view: RunPageView): Html {
  const { run, isRunning, now } = view;
  const lasted = run.endedAt === null ? (isRunning ? now - run.startedAt : null) : run.endedAt - run.startedAt;
  return html`<div id="run" data-live>${pageHead(html`Run ${formatCount(run.id)} of <a href="${runsPath({ source: run.source })}">${run.source}</a>`, { actions: actions(view) })}
${card(null, [
  keyValues([
    ['result', runBadge(run, isRunning)],
    ['started', timeOf(run.startedAt)],
    ['ended', timeOf(run.endedAt)],
    ['lasted', lasted === null ? null : durationOf(lasted)],
    ['asked for by', askedBy(run)],
  ]),
  run.error === null ? null : html`<p class="bad">${run.error}</p>`,
  ...run.streams.flatMap(({ stream, guarded }) =>
    guarded === null ? [] : [html`<p class="bad">The guard held ${stream}: ${guarded}</p>`],
  ),
  ...runWarnings(run.streams).map((text) => html`<p class="warn">${text}</p>`),
  ...run.streams.flatMap(({ stream, missedByChanges }) =>
    missedByChanges === null || missedByChanges === 0
      ? []
      : [
          html`<p class="warn">The changes of ${stream} had missed ${formatCount(missedByChanges)} rows, which this complete read found.</p>`,
        ],
  ),
])}
${card('What it read', [accounts(run), changed(view)])}</div>`;
}

function accounts(run: RunRow): Html {
  const rows = run.streams.map((stream) => [stream.stream, ...RUN_COUNTS.map((count) => runCount(stream[count]))]);
  const sum = ['all streams', ...RUN_COUNTS.map((count) => runCount(sumOf(run.streams, count)))];
  return html`${dataTable({
    caption: 'Rows by stream',
    columns: [{ name: 'stream' }, ...RUN_COUNTS.map((name) => ({ name, number: true }))],
    rows: rows.length > 1 ? [...rows, sum] : rows,
    empty: 'The run has read nothing.',
  })}<p class="quiet">read = unchanged + changed + quarantined + excluded. Missing rows were in an earlier export. ${quarantinedMeans(run.source)}</p>`;
}

function changed({ run, changedItems: { count, atLeast } }: RunPageView): Html {
  const items = `${atLeast ? 'more than ' : ''}${counted(count, 'item')}`;
  const link = count === 0 ? html`No item` : html`<a href="${itemsPath({ run: run.id })}">${items}</a>`;
  return html`<p>${link} ${count === 1 || count === 0 ? 'was' : 'were'} last changed by this run. · <a href="${attentionPath({ source: run.source })}">What needs a person at ${run.source}</a></p>`;
}

function actions({ run, isRunning, isHeld, isConfigured, operates, csrf }: RunPageView): Html[] {
  if (!operates || !isConfigured) return [];
  const { source } = run;
  const accept = isHeld ? [html`<a class="button" href="${acceptPath(source)}">Accept this export…</a>`] : [];
  if (isRunning) return [stopForm({ source, run: run.id }, csrf)];
  return [...accept, confirmForm({ csrf }, { action: '/runs/start', fields: { source }, button: `Run ${source} now` })];
}
