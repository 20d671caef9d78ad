import { hostname } from 'node:os';
import { processEnvironment } from '../config/environment.ts';
import { accessWord } from '../domain/delivery/operation.ts';
import type { ChannelTest, KeptAlert } from '../domain/ports/alerts.ts';
import type { DaemonNotes } from '../domain/ports/ledger/care-ledger.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { type Channel, createChannels } from '../observe/alerts/channels.ts';
import { type AlertFacts, BACKUPS, type DeliveryCounts, sourcesOfStuck } from '../observe/alerts/conditions.ts';
import { createAlerts, type RunningAlerts, testChannels } from '../observe/alerts/create-alerts.ts';
import { hasFailed } from '../observe/event-bus.ts';
import type { DaemonCare, Runtime } from './runtime.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The environment variables that a program of a channel gets. Other variables often contain secrets. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER'];

interface DaemonAlertsOptions {
  runtime: Runtime;
  care: DaemonCare;
  /** What the last daemon has left. */
  note: DaemonNotes['alerts'] | null;
  clock: Clock;
  log: Logger;
}

/** The alerts of a daemon, which use the new settings after a reload of the config. */
export function createDaemonAlerts(options: DaemonAlertsOptions): RunningAlerts {
  const { runtime, care, note, clock, log } = options;
  const { ledger, secrets, bus } = runtime;
  let settings = runtime.config.alerts.channels;
  let channels = channelsOf(runtime.config);
  /** The config is read at each call, because a reload replaces the settings in it. */
  const channelsNow = (): Channel[] => {
    if (runtime.config.alerts.channels !== settings) {
      settings = runtime.config.alerts.channels;
      channels = channelsOf(runtime.config);
    }
    return channels;
  };
  const deliveries = createDeliveryCounts(clock);
  const alerts = createAlerts({
    note,
    keep: (kept) => ledger.noteDaemon('alerts', kept),
    rules: () => runtime.config.alerts.rules,
    channels: channelsNow,
    facts: (watchedSince, firing) => factsOf({ ...options, deliveries }, watchedSince, firing),
    watched: () => [
      ...runtime.config.sources.filter(({ schedule }) => schedule !== null).map(({ id }) => id),
      ...(care.backups.configured ? [BACKUPS] : []),
    ],
    host: hostname(),
    scrub: (text) => secrets.scrub(text),
    clock,
    log,
  });
  care.onReload(() => alerts.wake());
  bus.subscribe((event) => {
    deliveries.observe(event);
    const { type } = event;
    if (type === 'run_ended' || type === 'guard_held' || type === 'paused' || type === 'resumed') alerts.wake();
  });
  return alerts;
}

async function factsOf(
  {
    runtime,
    care,
    clock,
    deliveries,
  }: DaemonAlertsOptions & {
    deliveries: ReturnType<typeof createDeliveryCounts>;
  },
  watchedSince: AlertFacts['watchedSince'],
  firing: readonly KeptAlert[],
): Promise<AlertFacts> {
  const { reads, api, config } = runtime;
  const { backups } = care;
  const ids = config.sources.map(({ id }) => id);
  const runs = await reads.sourceRuns(ids);
  // The sources whose rows wait are read before and after the counts, because a mapping may begin or end meanwhile.
  const unmapped = await reads.unmappedSources();
  const { counts, sending } = await reads.stuckItems(sourcesOfStuck(firing));
  const stuck = Map.groupBy(counts, ({ source }) => source);
  const empty = await reads.emptyStreams();
  const counted = await Promise.all(
    config.sources.map(async ({ id: source, schedule }, at) => ({
      source,
      scheduled: schedule !== null,
      quarantined: await reads.quarantinedCount([source]),
      stuck: Object.fromEntries((stuck.get(source) ?? []).map(({ state, count }) => [state, count])),
      isSending: sending.includes(source),
      isMapping: unmapped.includes(source),
      completeAt: runs[at]?.completeAt ?? null,
    })),
  );
  const later = await reads.unmappedSources();
  const now = clock.now();
  const downSince = api.unreachableSince();
  const reload = care.lastReload();
  return {
    now,
    sources: counted.map((one) => ({ ...one, isMapping: one.isMapping || later.includes(one.source) })),
    failedRuns: runs.flatMap(({ failed }) => failed ?? []),
    guarded: await reads.guardedReads(ids),
    held: await reads.heldRuns(ids),
    empty: empty.filter(({ source }) => ids.includes(source)),
    deliveries: deliveries.ofLastHour(),
    refusal: refusalOf(api),
    apiDownSince: downSince === null ? null : now - (clock.ticks() - downSince),
    backup: backups.configured
      ? { lastAt: backups.last()?.madeAt ?? null, error: backups.lastTry()?.error ?? null }
      : null,
    configErrors: reload === null || reload.ok ? null : reload.errors,
    watchedSince,
  };
}

function refusalOf(api: Runtime['api']): string | null {
  const state = api.authorization();
  if (!state.open) return `the ${state.by}: ${state.reason.message}`;
  const refused = Array.from(api.shownRefusals(), ([access, { message }]) => `${accessWord(access)}: ${message}`);
  return refused.length === 0 ? null : refused.join(' It also refuses ');
}

function channelsOf(config: RuntimeConfig): Channel[] {
  const environment = processEnvironment();
  const passed = PASSED_ON.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return createChannels(config.alerts.channels, { environment: Object.fromEntries(passed) });
}

/** Sends one message to each channel of a config, or checks without sending whether one could be sent. Needs no ledger. */
export function tryChannels(
  config: RuntimeConfig,
  how: 'send' | 'check',
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<(ChannelTest & { type: Channel['type'] })[]> {
  const channels = channelsOf(config);
  const host = { host: hostname(), scrub: (text: string) => config.scrub(text), now: clock.now() };
  return testChannels(channels, host, signal, how).then((tests) =>
    tests.map((test, index) => ({ ...test, type: channels[index]?.type ?? 'webhook' })),
  );
}

const CELL_MS = 5 * 60_000;
const HOUR_MS = 60 * 60_000;

/** Counts the deliveries of the last hour, in spans of five minutes. */
export function createDeliveryCounts(clock: Pick<Clock, 'ticks'>) {
  const startedAt = clock.ticks();
  const spans = new Map<number, { delivered: number; failed: number }>();
  const present = (): number => Math.floor(clock.ticks() / CELL_MS);

  function dropOutdated(): void {
    for (const span of spans.keys()) if (span <= present() - HOUR_MS / CELL_MS) spans.delete(span);
  }

  return {
    /** Subscribe it to an event bus. */
    observe(event: ProgressEvent) {
      if (event.type !== 'settled') return;
      const isFailed = hasFailed(event);
      if (!isFailed && event.state !== 'delivered') return;
      dropOutdated();
      const counts = spans.get(present()) ?? { delivered: 0, failed: 0 };
      counts[isFailed ? 'failed' : 'delivered'] += 1;
      spans.set(present(), counts);
    },
    ofLastHour(): DeliveryCounts {
      dropOutdated();
      const sum = { delivered: 0, failed: 0, isWhole: clock.ticks() - startedAt >= HOUR_MS };
      for (const { delivered, failed } of spans.values()) {
        sum.delivered += delivered;
        sum.failed += failed;
      }
      return sum;
    },
  };
}
