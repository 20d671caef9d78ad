import type { Listed, RunRow } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { confirmForm } from '../../parts/confirm-form.ts';
import { formatCount } from '../../parts/count-link.ts';
import { dataTable } from '../../parts/data-table.ts';
import { filterForm } from '../../parts/filter-form.ts';
import { card, pageHead } from '../../parts/page-head.ts';
import { pager } from '../../parts/pager.ts';
import { stateName } from '../../parts/state-badge.ts';
import { durationOf, timeOf } from '../../parts/time.ts';
import { runPath } from '../links.ts';
import { askedBy, quarantinedMeans, RUN_COUNTS, runBadge, runCount, stopForm, sumOf } from './run-parts.ts';

export const RUN_RESULTS = ['complete', 'failed', 'guarded', 'interrupted', 'running'] as const;

export interface RunsView {
  listed: Listed<RunRow>;
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
        RUN_RESULTS.map((value) => ({ value, name: stateName(value) })),
      ),
    ],
  });
  const lead = html`read = unchanged + changed + quarantined + excluded. ${quarantinedMeans(query.get('source'))}`;
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
      ...RUN_COUNTS.map((name) => ({ name, number: true })),
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
