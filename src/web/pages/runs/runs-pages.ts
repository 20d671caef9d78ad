import { runWarnings } from '../../../domain/attention.ts';
import type { GuardedRead, RefusedRead } from '../../../domain/ports/intake.ts';
import type { AdoptedChanges } from '../../../domain/ports/ledger/contact-ledger.ts';
import type { GoneEffect, Listed } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { RunView, StreamAccount } from '../../../domain/ports/ledger/ledger-views.ts';
import { stateWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import {
  card,
  confirmForm,
  dataTable,
  filterForm,
  keyValues,
  pageHead,
  pager,
  SHOWN,
  shownMark,
  withCode,
} from '../../parts.ts';
import { counted, durationOf, formatCount, KINDS, stateBadge, timeOf } from '../../shown-values.ts';
import { acceptPath, attentionPath, goneFilePath, itemPath, itemsPath, runPath, runsPath } from '../links.ts';

export const RUN_RESULTS = ['complete', 'failed', 'guarded', 'interrupted', 'running'] as const;

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
  const lead = html`${SUM} ${withErrorMeans(query.get('source'))}`;
  return html`${pageHead('Runs', { lead })}
<div id="runs" data-live>${operates ? startForms(sources, running, csrf) : null}
${card(null, [filter, table(view), pager({ path: '/runs', query, listed })])}</div>`;
}

/** One button for each source that is not being read, and one button to stop each source that is being read. */
function startForms(sources: RunsView['sources'], running: RunsView['running'], csrf: string): Html {
  const forms = sources.map(({ id }) =>
    running.has(id)
      ? stopForm({ source: id, run: running.get(id) ?? null }, csrf)
      : confirmForm({ csrf }, { action: '/runs/start', fields: { source: id }, button: `Run ${id} now` }),
  );
  return html`<div class="actions wrap">${forms}</div>`;
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
        ...RUN_COUNTS.map((count) => runCount(sumOf(run.streams, count))),
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
  /** True if the guard holds the export of this run at present, so that the export can be accepted. */
  isHeld: boolean;
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
  run.error === null ? null : html`<p class="bad">${run.error}</p>`,
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

function refusedText({ source, stream, by, at }: RefusedRead): Html {
  return html`<p>${by} has refused the export of ${source}/${stream}, ${timeOf(at)}: what was there stays. Nobody is asked again until an export lacks more.</p>`;
}

function accounts(run: RunView): Html {
  const rows = run.streams.map((stream) => [stream.stream, ...RUN_COUNTS.map((count) => runCount(stream[count]))]);
  const sum = ['all streams', ...RUN_COUNTS.map((count) => runCount(sumOf(run.streams, count)))];
  return html`${dataTable({
    caption: 'Rows by stream',
    columns: [{ name: 'stream' }, ...RUN_COUNTS.map((count) => ({ name: countName(count), number: true }))],
    rows: rows.length > 1 ? [...rows, sum] : rows,
    empty: 'The run has read nothing.',
  })}<p class="quiet">${SUM} Missing rows were in an earlier export. ${withErrorMeans(run.source)}</p>`;
}

function changed({ run, changedItems: { count, atLeast } }: RunPageView): Html {
  const items = `${atLeast ? 'more than ' : ''}${counted(count, 'item')}`;
  const link = count === 0 ? html`No item` : html`<a href="${itemsPath({ run: run.id })}">${items}</a>`;
  return html`<p>${link} ${count === 1 || count === 0 ? 'was' : 'were'} last changed by this run. · <a href="${attentionPath({ source: run.source })}">What needs a person at ${run.source}</a></p>`;
}

function actions({ run, isRunning, isHeld, isConfigured, operates, csrf }: RunPageView): Html[] {
  if (!operates || !isConfigured) return [];
  const { source } = run;
  const accept = isHeld
    ? [html`<a class="button" href="${acceptPath(source)}">Look at what is gone, and decide…</a>`]
    : [];
  if (isRunning) return [stopForm({ source, run: run.id }, csrf)];
  return [...accept, confirmForm({ csrf }, { action: '/runs/start', fields: { source }, button: `Run ${source} now` })];
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

/** A count of rows at the time of the run. The ledger has no list of these rows, so the figure is not a link. */
export function runCount(figure: number): Html {
  return html`<span class="${figure === 0 ? 'zero' : ''}">${formatCount(figure)}</span>`;
}

/** Says which rows a run counts as rows with an error, with the link to all that the source has now, or all sources. */
function withErrorMeans(source: string | null): Html {
  const link = html`<a href="${attentionPath({ type: 'quarantine', source })}">rows that have an error now</a>`;
  return html`The rows with an error are new or changed, and were not sent. Older ones are among the ${link}.`;
}

/** The result of a run. If the guard held one of its streams, this is shown in place of the result. */
export function runBadge(run: RunView, isRunning: boolean): Html {
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
function askedBy({ trigger, askedBy: who }: { trigger: RunView['trigger']; askedBy: string | null }): Html {
  return who === null ? html`${TRIGGERS[trigger]}` : html`${who}`;
}

/** The button that stops the run of a source. It names the run, because a later run may be in progress when it is pressed. */
function stopForm({ source, run }: { source: string; run: number | null }, csrf: string): Html {
  const fields = run === null ? { source } : { source, run: String(run) };
  return confirmForm({ csrf }, { action: '/runs/stop', fields, button: `Stop the run of ${source}`, tone: 'grave' });
}

export interface AcceptView {
  source: string;
  guarded: readonly GuardedRead[];
  adopted: readonly AdoptedChanges[];
  /** The products that use what is gone, for each held read. */
  effects: readonly GoneEffect[];
  /** The exports of the source that people have refused, the newest first. */
  refused: readonly RefusedRead[];
  onMissing: 'flag' | 'ignore' | 'unpublish';
  csrf: string;
}

const AFTERWARDS: Record<AcceptView['onMissing'], string> = {
  flag: 'Their items stay at the platform and are shown as missing until a person decides.',
  ignore: 'Nothing happens to their items, as the config says (onMissing: ignore).',
  unpublish: 'The passports of products among them are withdrawn, as the config says (onMissing: unpublish).',
};

/** The page that explains the effect of accepting an export before a person confirms it. */
export function acceptPage(view: AcceptView): Html {
  const { source, guarded, adopted, effects, refused, onMissing, csrf } = view;
  if (guarded.length === 0 && adopted.length === 0) {
    const [last] = refused;
    return html`${pageHead(`Accept the export of ${source}`)}${card(null, [html`<p>Nothing of ${source} waits for a decision.</p>`, last === undefined ? null : refusedText(last), html`<p><a href="/runs">Runs</a></p>`])}`;
  }
  const missing = guarded.reduce((sum, read) => sum + read.missing, 0);
  const released = guarded.reduce((sum, read) => sum + read.released, 0);
  const older = guarded.filter(({ isOlder }) => isOlder);
  // A stream that is held for several reasons is listed for each.
  const byStream = Map.groupBy(guarded, ({ stream }) => stream);
  const creates = [...byStream.values()].reduce(
    (sum, reads) => sum + Math.max(...reads.map((read) => read.creates)),
    0,
  );
  const changes = adopted.reduce((sum, { items }) => sum + items, 0);
  return html`${pageHead(`Accept the export of ${source}`)}
${guarded.length === 0 ? null : card('What the guard holds', [held(guarded), ...guarded.map(goneList), ...effects.map(effectText)])}
${adopted.length === 0 ? null : card('Changes of items that were found at the platform', adoptedTable(adopted))}
${card('What will happen', [
  html`<ul>
${older.length === 0 ? null : html`<li>A run of ${source} begins. The rows of the older export then replace the rows that were read after it.</li>`}
${missing === 0 ? null : html`<li>A run of ${source} begins. At most ${counted(missing, 'record')} that the export lacks then ${missing === 1 ? 'counts' : 'count'} as missing. ${AFTERWARDS[onMissing]}</li>`}
${released === 0 ? null : html`<li>${counted(released, 'item')} that no row makes any more ${released === 1 ? 'counts' : 'count'} as missing.</li>`}
${creates === 0 ? null : html`<li>${counted(creates, 'new item')} that the guard has held ${creates === 1 ? 'is' : 'are'} created. The platform cannot delete them.</li>`}
${changes === 0 ? null : html`<li>${counted(changes, 'item')} that ${changes === 1 ? 'was' : 'were'} found at the platform ${changes === 1 ? 'is' : 'are'} changed there to the values of the source.</li>`}
<li>If more records are missing from the next export, the guard holds that export again.</li></ul>`,
  confirmForm(
    { csrf },
    {
      action: '/runs/accept',
      fields: { source, [SHOWN]: waitingMark(view) },
      button: `The rows are really gone: accept this export of ${source}`,
      tone: 'grave',
    },
  ),
])}${guarded.every(({ isLeft }) => isLeft) ? null : refuseCard(view)}`;
}

function refuseCard(view: AcceptView): Html {
  const { source, csrf } = view;
  return card('Or refuse it', [
    html`<p>What the export lacks stays as it was, and nobody is asked again until an export of ${source} lacks more.</p>`,
    confirmForm(
      { csrf },
      {
        action: '/runs/refuse',
        fields: { source, [SHOWN]: waitingMark(view) },
        button: `Refuse this export of ${source}`,
        tone: 'plain',
      },
    ),
  ]);
}

/** How many products use what is gone, how many of their passports everybody can see, and the first of these products. */
function effectText({ stream, products, public: visible, examples }: GoneEffect): Html {
  if (products === null || visible === null) {
    return html`<p>${stream}: so much is gone that the products that use it are not counted.</p>`;
  }
  if (products === 0) return html`<p>${stream}: no product uses what is gone.</p>`;
  const links = examples.map((key) => html`<li><a href="${itemPath('product', key)}">${key}</a></li>`);
  const more = products - examples.length;
  return html`<h3>Products that are gone, or use what is gone: ${stream} (${formatCount(products)})</h3>
<p>The passports of ${formatCount(visible)} of them are public.</p>
<ul>${links}${more <= 0 ? null : html`<li>and ${formatCount(more)} more</li>`}</ul>`;
}

/**
 * The mark of everything of a source that waits for the person's decision. The number of the run is left out: each run
 * that reads the same export has another number, and an acceptance is about the figures.
 */
export function waitingMark({ guarded, adopted }: Pick<AcceptView, 'guarded' | 'adopted'>): string {
  return shownMark([guarded.map((read) => ({ ...read, runId: null })), adopted]);
}

function held(guarded: readonly GuardedRead[]): Html {
  return dataTable({
    caption: 'Streams that the guard holds',
    columns: [
      { name: 'stream' },
      { name: 'rows read', number: true },
      { name: 'records missing', number: true },
      { name: 'items released', number: true },
      { name: 'held since' },
      { name: 'why' },
    ],
    rows: guarded.map(({ stream, runId, read, missing, released, since, message, isOlder }) => [
      stream,
      html`<a href="${runPath(runId)}">${isOlder ? 'none' : formatCount(read)}</a>`,
      formatCount(missing),
      formatCount(released),
      timeOf(since),
      withCode(message),
    ]),
  });
}

/** The names of the records or items that are gone, how many more there are, and the files that have all of them. */
function goneList({ source, stream, missing, released, gone, isLeft }: GuardedRead): Html | null {
  if (gone.length === 0) return null;
  const all = released > 0 ? released : missing;
  const what = released > 0 ? 'Items that no row makes any more' : 'Records that the export lacks';
  const more = all - gone.length;
  const file = { source, stream, of: released > 0 ? 'released' : 'lost' };
  // A file has the form of the files of its stream, so a stream that the config no longer has gets none.
  const files = isLeft
    ? null
    : html`<p class="row"><a class="button plain" href="${goneFilePath('xlsx', file)}">Download as XLSX</a> <a class="button plain" href="${goneFilePath('csv', file)}">Download as CSV</a> <span class="quiet">all ${formatCount(all)}, each with the products that use it</span></p>`;
  return html`<h3>${what}: ${stream} (${formatCount(all)})</h3>
${files}<ul>${gone.map((name) => html`<li>${name}</li>`)}${more <= 0 ? null : html`<li>and ${formatCount(more)} more</li>`}</ul>`;
}

function adoptedTable(adopted: readonly AdoptedChanges[]): Html {
  return dataTable({
    caption: 'Changes that wait for a person',
    columns: [{ name: 'kind' }, { name: 'items', number: true }, { name: 'fields that would change' }],
    rows: adopted.map(({ kind, items, fields }) => [
      KINDS[kind].many,
      formatCount(items),
      Object.entries(fields)
        .map(([field, count]) => `${field} (${formatCount(count)})`)
        .join(', '),
    ]),
  });
}
