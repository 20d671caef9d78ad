import { runWarnings } from '../../../domain/attention.ts';
import type { RefusedRead } from '../../../domain/ports/guarded-intake.ts';
import type { Listed } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { RunView, StreamAccount } from '../../../domain/ports/ledger/ledger-views.ts';
import { stateWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import {
  card,
  confirmForm,
  csrfField,
  dataTable,
  filterForm,
  keyValues,
  pageHead,
  pager,
  withCode,
} from '../../parts.ts';
import { counted, durationOf, figure, formatCount, stateBadge, timeOf } from '../../shown-values.ts';
import { attentionPath, decideAbout, itemsPath, runPath, runsPath } from '../links.ts';
import { refusedText } from './accept-page.ts';

export const RUN_RESULTS = ['complete', 'failed', 'guarded', 'held', 'interrupted', 'running'] as const;

interface RunsView {
  listed: Listed<RunView>;
  query: URLSearchParams;
  /** The sources of the config with their streams. */
  sources: readonly { id: string; streams: readonly string[] }[];
  /** The sources that are being read, each with its run; null for a run that is not in the ledger yet. */
  running: ReadonlyMap<string, number | null>;
  operates: boolean;
  csrf: string;
  now: number;
}

/** The runs, the newest first. */
export function runsPage(view: RunsView): Html {
  const { listed, query, sources, running, operates, csrf } = view;
  const streams = [...new Set(sources.flatMap((source) => source.streams))].toSorted();
  const select = (name: string, label: string, all: string, options: readonly { value: string; name: string }[]) => ({
    type: 'select' as const,
    name,
    label,
    value: query.get(name) ?? '',
    options: [{ value: '', name: all }, ...options],
  });
  const named = (value: string) => ({ value, name: value });
  const filter = filterForm({
    action: '/runs',
    fields: [
      select(
        'source',
        'Source',
        'all sources',
        sources.map(({ id }) => named(id)),
      ),
      select('stream', 'Stream', 'all streams', streams.map(named)),
      select(
        'result',
        'Result',
        'any result',
        RUN_RESULTS.map((value) => ({ value, name: stateWord(value) })),
      ),
    ],
  });
  const only = query.get('source');
  const shown = only === null || only === '' ? sources : sources.filter(({ id }) => id === only);
  const lead = html`${SUM} ${withErrorMeans(only)}`;
  return html`${pageHead('Runs', { lead })}
<div id="runs" data-live>${operates ? startForms(shown, running, csrf) : null}
${card(null, [filter, table(view), pager({ path: '/runs', query, listed })])}</div>`;
}

/** With more sources, one button runs the source that a person chooses from a list. */
const START_BUTTONS_MAX = 8;

/** One button for each source that is not being read, and one button to stop each source that is being read. */
function startForms(sources: RunsView['sources'], running: RunsView['running'], csrf: string): Html {
  const forms = sources.flatMap(({ id }) => {
    if (running.has(id)) return [stopForm({ source: id, run: running.get(id) ?? null }, csrf)];
    return sources.length > START_BUTTONS_MAX ? [] : [startForm(id, csrf)];
  });
  const idle = sources.filter(({ id }) => !running.has(id));
  const choice =
    sources.length <= START_BUTTONS_MAX || idle.length === 0
      ? null
      : html`<form class="inline" method="post" action="/runs/start">${csrfField({ csrf })}<select name="source" aria-label="The source to run">${idle.map(
          ({ id }) => html`<option value="${id}" data-key="${id}">${id}</option>`,
        )}</select> <button>Run now</button></form>`;
  return html`<div class="actions wrap">${choice}${forms}</div>`;
}

function startForm(source: string, csrf: string): Html {
  return confirmForm({ csrf }, { action: '/runs/start', fields: { source }, button: `Run ${source} now` });
}

function table({ listed, running, now }: RunsView): Html {
  const newest = new Set<string>();
  return dataTable({
    caption: 'Runs, the newest first',
    columns: [
      { name: 'run' },
      { name: 'source' },
      { name: 'result' },
      { name: 'started' },
      { name: 'lasted' },
      ...RUN_COUNTS.map((count) => ({ name: countName(count), number: true })),
      { name: 'asked for by' },
    ],
    rows: listed.rows.map((run) => {
      const isRunning = run.endedAt === null && running.has(run.source) && !newest.has(run.source);
      newest.add(run.source);
      const lasted = run.endedAt === null ? (isRunning ? now - run.startedAt : null) : run.endedAt - run.startedAt;
      return [
        html`<a href="${runPath(run.id)}">${formatCount(run.id)}</a>`,
        run.source,
        runBadge(run, isRunning),
        timeOf(run.startedAt),
        lasted === null ? null : durationOf(lasted),
        ...RUN_COUNTS.map((count) => figure(sumOf(run.streams, count))),
        askedBy(run),
      ];
    }),
    empty: 'No run matches the filter.',
  });
}

interface RunPageView {
  run: RunView;
  isRunning: boolean;
  /** How many items were last changed by this run. */
  changedItems: Listed<unknown>['total'];
  /** What of this run waits for a person's decision: its export, which the guard holds, or all of it; null if nothing waits. */
  decidable: 'export' | 'run' | null;
  /** The streams of this run whose exports people have refused. */
  refused: readonly RefusedRead[];
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
  run.error === null ? null : html`<p class="${run.result === 'held' ? 'warn' : 'bad'}">${withCode(run.error)}</p>`,
  ...run.streams.flatMap(({ stream, guarded }) =>
    guarded === null ? [] : [html`<p class="bad">The guard held ${stream}: ${withCode(guarded)}</p>`],
  ),
  ...view.refused.map(refusedText),
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

function accounts(run: RunView): Html {
  const rows = run.streams.map((stream) => [stream.stream, ...RUN_COUNTS.map((count) => figure(stream[count]))]);
  const sum = ['all streams', ...RUN_COUNTS.map((count) => figure(sumOf(run.streams, count)))];
  return html`${dataTable({
    caption: 'Rows by stream',
    columns: [{ name: 'stream' }, ...RUN_COUNTS.map((count) => ({ name: countName(count), number: true }))],
    rows: rows.length > 1 ? [...rows, sum] : rows,
    empty: run.result === 'held' ? 'Nothing that the run has read is stored.' : 'The run has read nothing.',
  })}<p class="quiet">${SUM} Missing rows were in an earlier export. ${withErrorMeans(run.source)}</p>`;
}

function changed({ run, changedItems: { count, atLeast } }: RunPageView): Html {
  const items = `${atLeast ? 'more than ' : ''}${counted(count, 'item')}`;
  const link = count === 0 ? html`No item` : html`<a href="${itemsPath({ run: run.id })}">${items}</a>`;
  return html`<p>${link} ${count === 1 || count === 0 ? 'was' : 'were'} last changed by this run. · <a href="${attentionPath({ source: run.source })}">What needs a person at ${run.source}</a></p>`;
}

function actions({ run, isRunning, decidable, isConfigured, operates, csrf }: RunPageView): Html[] {
  if (!operates || !isConfigured) return [];
  const { source } = run;
  const accept = decidable === null ? [] : [decideAbout(source, decidable, true)];
  if (isRunning) return [stopForm({ source, run: run.id }, csrf)];
  return [...accept, startForm(source, csrf)];
}

/** The counts of a stream. The first is the sum of the four that follow it. */
export const RUN_COUNTS = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;
type RunCount = (typeof RUN_COUNTS)[number];

/** The name of a column with a count. */
export function countName(count: RunCount): string {
  return count === 'quarantined' ? 'with an error' : count;
}

const SUM = 'read = unchanged + changed + with an error + excluded.';

export function sumOf(streams: readonly StreamAccount[], count: RunCount): number {
  return streams.reduce((sum, stream) => sum + stream[count], 0);
}

/** Says which rows a run counts as rows with an error, with the link to all that the source has now, or all sources. */
function withErrorMeans(source: string | null): Html {
  const link = html`<a href="${attentionPath({ type: 'quarantine', source })}">rows that have an error now</a>`;
  return html`The rows with an error are new or changed, and were not sent. Older ones are among the ${link}.`;
}

/** The result of a run. If the guard held one of its streams, this is shown in place of the result. */
export function runBadge(run: RunView, isRunning: boolean): Html {
  if (run.result === 'failed' || run.result === 'held') return stateBadge(run.result);
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
function askedBy({ trigger, askedBy: who }: { trigger: RunView['trigger']; askedBy: string | null }): Html {
  return who === null ? html`${TRIGGERS[trigger]}` : html`${who}`;
}

/** The button that stops the run of a source. It names the run, because a later run may be in progress when it is pressed. */
function stopForm({ source, run }: { source: string; run: number | null }, csrf: string): Html {
  const fields = run === null ? { source } : { source, run: String(run) };
  return confirmForm({ csrf }, { action: '/runs/stop', fields, button: `Stop the run of ${source}`, tone: 'grave' });
}
