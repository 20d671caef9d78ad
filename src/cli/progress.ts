import cliProgress from 'cli-progress';
import { describeWait } from '../daemon/wait-watch.ts';
import type { ApiWait } from '../domain/api-wait.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import type { Output } from './output.ts';
import { formatCount, formatTime, printable, shorten } from './style.ts';

/** Shows how a sync comes along. Give `observe` to the event bus, and `stop` it before the result is printed. */
export interface Progress {
  observe: (event: ProgressEvent) => void;
  stop: () => void;
}

export interface ProgressOptions {
  output: Output;
  views: LedgerViews;
  clock: Clock;
}

/**
 * Bars where somebody watches a terminal, a line every few seconds elsewhere, nothing with `--quiet` or `--json`. It goes
 * to stderr.
 */
export function createProgress(options: ProgressOptions): Progress {
  const { output } = options;
  if (output.quiet || output.json) return { observe: () => {}, stop: () => {} };
  return output.watched ? createBars(options) : createLines(options);
}

const SETTLED: ReadonlySet<DeliveryState> = new Set(['delivered', 'blocked', 'rejected', 'parked']);

/** What has happened since the beginning, and what is left. */
function createTally({ views, clock }: ProgressOptions) {
  const startedAt = clock.ticks();
  let settled = 0;
  let left = 0;
  let lookAt = 0;
  return {
    observe(event: ProgressEvent): void {
      if (event.type === 'settled' && SETTLED.has(event.state)) {
        settled += 1;
        left = Math.max(0, left - 1);
      }
    },
    /** Counting goes over the whole ledger, so it may take no more than a hundredth of the time. */
    look(): { settled: number; left: number; perSecond: number } {
      const now = clock.ticks();
      if (now >= lookAt) {
        const begin = performance.now();
        left = Object.values(views.itemCounts()).reduce(
          (sum, states) => sum + (states.due ?? 0) + (states.sending ?? 0) + (states.waiting ?? 0),
          0,
        );
        lookAt = now + Math.max(250, (performance.now() - begin) * 100);
      }
      return { settled, left, perSecond: (settled * 1000) / Math.max(1000, now - startedAt) };
    },
  };
}

const REFRESH_MS = 150;

function createBars(options: ProgressOptions): Progress {
  const { output } = options;
  const tally = createTally(options);
  const bars = new cliProgress.MultiBar(
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
  output.divert((text) => bars.log(`${text}\n`));
  const streams = new Map<string, cliProgress.SingleBar>();
  let deliver: cliProgress.SingleBar | null = null;
  let paused = '';

  const label = (text: string) => text.padEnd(18).slice(0, 18);
  const showDeliveries = (): void => {
    const { settled, left, perSecond } = tally.look();
    if (settled + left === 0) return;
    const rate = perSecond < 1 ? '' : `, ${formatCount(Math.round(perSecond))}/s`;
    const detail = paused || `${formatCount(settled)} sent, ${formatCount(left)} left${rate}`;
    deliver ??= bars.create(1, 0, { label: label('deliver'), detail });
    deliver.setTotal(settled + left);
    deliver.update(settled, { detail });
  };
  const lists = new Map<string, cliProgress.SingleBar>();
  const showListing = ({ list, read, done }: ProgressEvent & { type: 'listing' }): void => {
    const detail = `${formatCount(read)} ${done ? 'found' : 'so far'} at the platform`;
    const bar = lists.get(list) ?? bars.create(1, 0, { label: label(`list ${list}s`), detail });
    lists.set(list, bar);
    bar.update(done ? 1 : 0, { detail });
  };
  const timer = setInterval(showDeliveries, REFRESH_MS);

  return {
    observe(event) {
      tally.observe(event);
      if (event.type === 'paused') paused = shorten(`paused: ${printable(event.reason.message)}`, 60);
      if (event.type === 'resumed') paused = '';
      if (event.type === 'outage') paused = event.away ? awayLine(event.writesAlone) : '';
      if (event.type === 'listing') showListing(event);
      if (event.type === 'api_wait') paused = event.wait === null ? '' : waitLine(event.wait);
      if (event.type !== 'page') return;
      const name = `${event.source}/${event.stream}`;
      const detail = `${formatCount(event.read)} rows`;
      const total = event.total ?? event.read;
      const bar = streams.get(name) ?? bars.create(Math.max(1, total), 0, { label: label(name), detail });
      streams.set(name, bar);
      bar.setTotal(Math.max(1, total));
      bar.update(event.done ?? event.read, { detail });
    },
    stop() {
      clearInterval(timer);
      output.divert(null);
      bars.stop();
    },
  };
}

const LINE_EVERY_MS = 5000;
const awayLine = (writesAlone: boolean): string => (writesAlone ? 'the API fails at every write' : 'the API is away');

function waitLine({ until }: ApiWait): string {
  return until === null
    ? 'the API refuses every request (429)'
    : `the API asks to wait until ${formatTime(until)} (429)`;
}

function createLines(options: ProgressOptions): Progress {
  const { output } = options;
  const tally = createTally(options);
  const read = new Map<string, number>();
  const lists = new Map<string, number>();
  let waiting = '';
  const timer = setInterval(() => {
    const rows = [...read].map(([name, count]) => `${name} ${formatCount(count)} rows`).join(', ');
    const { settled, left } = tally.look();
    const listed = [...lists]
      .map(([name, count]) => `the platform's ${name}s, ${formatCount(count)} so far; `)
      .join('');
    output.note(
      `${rows === '' ? '' : `read ${rows}; `}${listed === '' ? '' : `listing ${listed}`}${formatCount(settled)} sent, ${formatCount(left)} left${waiting}`,
    );
  }, LINE_EVERY_MS);
  return {
    observe(event) {
      tally.observe(event);
      if (event.type === 'page') read.set(`${event.source}/${event.stream}`, event.read);
      if (event.type === 'listing' && !event.done) lists.set(event.list, event.read);
      if (event.type === 'listing' && event.done) lists.delete(event.list);
      if (event.type === 'paused') output.note(`paused: ${printable(event.reason.message)}`);
      if (event.type === 'resumed') output.note('resumed');
      if (event.type === 'outage') output.note(event.away ? awayLine(event.writesAlone) : 'the API is back');
      if (event.type === 'api_wait') {
        waiting = event.wait === null ? '' : `; ${waitLine(event.wait)}`;
        output.note(event.wait === null ? 'the API takes requests again' : describeWait(event.wait, formatTime));
      }
    },
    stop: () => clearInterval(timer),
  };
}
