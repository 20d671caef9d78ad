import cliProgress from 'cli-progress';
import type { Admin } from '../../admin/local-admin.ts';
import type { WorkProgress } from '../../admin/work-progress.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { describeWait } from '../../daemon/watches.ts';
import type { ApiWait } from '../../domain/delivery/outcome.ts';
import type { Clock } from '../../lib/clock.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Operation } from '../../operations/operation.ts';
import type { CommandContext } from '../context.ts';
import type { Output } from './output.ts';
import { formatTime, printable, shorten } from './style.ts';

/** Shows the progress of the work. */
export interface Progress {
  /** Null if nothing is to be shown. */
  show: ((progress: WorkProgress) => void) | null;
  /** Ends the progress. Call it before the result is printed. */
  stop: () => void;
}

export interface ProgressOptions {
  output: Output;
  clock: Clock;
}

/**
 * Shows bars in a terminal, otherwise a line every few seconds. Shows nothing with `--quiet` or `--json`. Writes to
 * stderr.
 */
export function createProgress(options: ProgressOptions): Progress {
  const { output } = options;
  if (output.quiet || output.json) return { show: null, stop: () => {} };
  return output.watched ? createBars(options) : createLines(options);
}

type ReadStream = WorkProgress['streams'][number];

/** At most this many streams are shown one by one, so that the bars fit into a terminal. */
const STREAMS_SHOWN = 6;

/** The streams that are shown one by one, which are the last ones to be read, and the others together. */
export function shownStreams(streams: readonly ReadStream[]): { others: string | null; last: readonly ReadStream[] } {
  const before = streams.slice(0, -STREAMS_SHOWN);
  if (before.length === 0) return { others: null, last: streams };
  const rows = before.reduce((sum, { read }) => sum + read, 0);
  const others = `${counted(before.length, 'other stream')} ${counted(rows, 'row')}`;
  return { others, last: streams.slice(-STREAMS_SHOWN) };
}

function createBars({ output, clock }: ProgressOptions): Progress {
  const startedAt = clock.ticks();
  const bars = createBarGroup();
  output.divert((text) => bars.log(`${text}\n`));
  const streams = new Map<string, cliProgress.SingleBar>();
  let others: cliProgress.SingleBar | null = null;
  let deliver: cliProgress.SingleBar | null = null;
  const lists = new Map<string, cliProgress.SingleBar>();

  const showStreams = (all: readonly ReadStream[]): void => {
    const shown = shownStreams(all);
    const names = new Set(shown.last.map(nameOf));
    for (const [name, bar] of streams) {
      if (names.has(name)) continue;
      bars.remove(bar);
      streams.delete(name);
    }
    if (shown.others !== null) {
      others ??= bars.create(1, 1, { label: barLabel('read before'), detail: shown.others });
      others.update(1, { detail: shown.others });
    }
    shown.last.forEach(showStream);
  };
  const showStream = ({ source, stream, read, done, total }: ReadStream): void => {
    const name = nameOf({ source, stream });
    const detail = counted(read, 'row');
    const all = Math.max(1, total ?? read);
    const bar = streams.get(name) ?? bars.create(all, 0, { label: barLabel(name), detail });
    streams.set(name, bar);
    bar.setTotal(all);
    bar.update(done ?? read, { detail });
  };
  const showList = ({ list, read, done }: WorkProgress['lists'][number]): void => {
    const detail = `${formatCount(read)} ${done ? 'found' : 'so far'} at the platform`;
    const bar = lists.get(list) ?? bars.create(1, 0, { label: barLabel(`list ${list}s`), detail });
    lists.set(list, bar);
    bar.update(done ? 1 : 0, { detail });
  };
  const showDeliveries = (progress: WorkProgress): void => {
    const { settled, left, waiting } = progress;
    if (settled + left + waiting === 0) return;
    const perSecond = (settled * 1000) / Math.max(1000, clock.ticks() - startedAt);
    const rate = perSecond < 1 ? '' : `, ${formatCount(Math.round(perSecond))}/s`;
    const detail = restLine(progress) ?? `${sentWords(progress)}${rate}`;
    deliver ??= bars.create(1, 0, { label: barLabel('deliver'), detail });
    deliver.setTotal(settled + left + waiting);
    deliver.update(settled, { detail });
  };

  return {
    show(progress) {
      showStreams(progress.streams);
      progress.lists.forEach(showList);
      showDeliveries(progress);
    },
    stop() {
      output.divert(null);
      bars.stop();
    },
  };
}

const nameOf = ({ source, stream }: Pick<ReadStream, 'source' | 'stream'>): string => `${source}/${stream}`;

function sentWords({ settled, left, waiting, unconfirmed, incomplete }: WorkProgress): string {
  const beside: [number, string][] = [
    [waiting, `${formatCount(waiting)} waiting for other items`],
    [incomplete, `${counted(incomplete, 'passport')} waiting for a complete product`],
    [unconfirmed, `${formatCount(unconfirmed)} without an answer yet`],
  ];
  const further = beside.map(([count, what]) => (count === 0 ? '' : `, ${what}`)).join('');
  return `${formatCount(settled)} sent, ${formatCount(left)} left${further}`;
}

/** A line with the reason why nothing is sent now, or null. */
function restLine({ paused, outage, apiWait }: WorkProgress): string | null {
  if (paused !== null) return shorten(`paused: ${printable(paused.message)}`, 60);
  if (outage !== null) return awayLine(outage.writesAlone);
  return apiWait === null ? null : waitLine(apiWait);
}

const LINE_EVERY_MS = 5000;
const awayLine = (writesAlone: boolean): string =>
  writesAlone ? 'the API fails at every write' : 'the API is out of reach';

function waitLine({ until }: ApiWait): string {
  return until === null
    ? 'the API refuses every request (429)'
    : `the API asks to wait until ${formatTime(until)} (429)`;
}

function createLines({ output }: ProgressOptions): Progress {
  let last: WorkProgress = NOTHING_YET;
  const timer = setInterval(() => {
    const { streams, apiWait } = last;
    const { others, last: shown } = shownStreams(streams);
    const each = shown.map((one) => `${nameOf(one)} ${counted(one.read, 'row')}`);
    const rows = [...(others === null ? [] : [others]), ...each].join(', ');
    const listed = last.lists
      .filter(({ done }) => !done)
      .map(({ list, read }) => `the platform's ${list}s, ${formatCount(read)} so far; `)
      .join('');
    const waiting = apiWait === null ? '' : `; ${waitLine(apiWait)}`;
    output.note(
      `${rows === '' ? '' : `read ${rows}; `}${listed === '' ? '' : `listing ${listed}`}${sentWords(last)}${waiting}`,
    );
  }, LINE_EVERY_MS);
  return {
    show(progress) {
      for (const line of changesSince(last, progress)) output.note(line);
      last = progress;
    },
    stop: () => clearInterval(timer),
  };
}

const NOTHING_YET: WorkProgress = {
  streams: [],
  lists: [],
  settled: 0,
  left: 0,
  waiting: 0,
  unconfirmed: 0,
  incomplete: 0,
  paused: null,
  outage: null,
  apiWait: null,
};

/** Lines about changes since the last progress: reasons why nothing is sent that have begun or ended. */
function changesSince(before: WorkProgress, { paused, outage, apiWait }: WorkProgress): string[] {
  const lines: string[] = [];
  if (paused?.message !== before.paused?.message) {
    lines.push(paused === null ? 'resumed' : `paused: ${printable(paused.message)}`);
  }
  if (outage?.writesAlone !== before.outage?.writesAlone) {
    lines.push(outage === null ? 'the API is back' : awayLine(outage.writesAlone));
  }
  if ((apiWait === null) !== (before.apiWait === null)) {
    lines.push(apiWait === null ? 'the API accepts requests again' : describeWait(apiWait, formatTime));
  }
  return lines;
}

/** Runs one operation in the process that holds the ledger, and shows its progress. */
export function runShown<Request, Result>(
  context: CommandContext,
  config: RuntimeConfig,
  { command, operation }: { command: string; operation: Operation<Request, Result> },
  request: Request,
): Promise<Result> {
  return context.withAdmin(config, command, (admin) => shown(context, admin, operation, request));
}

/** Like `runShown`, with an admin that is already open. */
export async function shown<Request, Result>(
  context: CommandContext,
  admin: Admin,
  operation: Operation<Request, Result>,
  request: Request,
): Promise<Result> {
  const { show, stop } = createProgress(context);
  try {
    return await admin.run(operation, request, show === null ? {} : { onProgress: show });
  } finally {
    stop();
  }
}

/** Shows the progress of a read of one stream, or of work that is counted in the same way. */
export interface ReadProgress {
  /** @param place bytes or rows, if the connector knows them */
  show(count: number, place: { done: number; total: number } | null): void;
  /** Ends the progress. Call it before something is printed. */
  stop(): void;
}

const NONE: ReadProgress = { show: () => {}, stop: () => {} };

/** Shows a bar in a terminal, otherwise a line every few seconds. Shows nothing with `--quiet` or `--json`. */
export function createReadProgress(name: string, output: Output, unit: 'rows' | 'items' = 'rows'): ReadProgress {
  if (output.quiet || output.json) return NONE;
  return output.watched ? createReadBar(name, output, unit) : createReadLines(name, output, unit);
}

function createReadBar(name: string, output: Output, unit: string): ReadProgress {
  const bars = createBarGroup();
  const bar = bars.create(1, 0, { label: barLabel(name), detail: '' });
  output.divert((text) => bars.log(`${text}\n`));
  return {
    show(count, place) {
      bar.setTotal(Math.max(1, place?.total ?? count));
      bar.update(place?.done ?? count, { detail: `${formatCount(count)} ${unit}` });
    },
    stop() {
      output.divert(null);
      bars.stop();
    },
  };
}

function createReadLines(name: string, output: Output, unit: string): ReadProgress {
  let shown = 0;
  const verb = unit === 'rows' ? 'read ' : '';
  const timer = setInterval(() => output.note(`${verb}${name} ${formatCount(shown)} ${unit}`), LINE_EVERY_MS);
  return {
    show: (count) => (shown = count),
    stop: () => clearInterval(timer),
  };
}

/** Progress bars for a terminal, on stderr. They disappear when they are stopped. Each has a `label` and a `detail`. */
function createBarGroup(): cliProgress.MultiBar {
  return new cliProgress.MultiBar(
    {
      format: '  {label} {bar} {percentage}%  {detail}',
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 28,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
      forceRedraw: true,
      fps: 10,
      stream: process.stderr,
    },
    cliProgress.Presets.shades_classic,
  );
}

/** A label that is padded or cut to the common width. */
function barLabel(text: string): string {
  return text.padEnd(18).slice(0, 18);
}
