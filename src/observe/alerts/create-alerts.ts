import { fault } from '../../domain/faults.ts';
import type { AlertNote, AlertRules, Alerts, ChannelTest, KeptAlert, Notice } from '../../domain/ports/alerts.ts';
import { ALERTS } from '../../domain/words/alerts.ts';
import { type Clock, createWake } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { createAlertBook, type DueNotice } from './alert-book.ts';
import { type Channel, reasonOf } from './channels.ts';
import { type AlertFacts, holdingOf, undecidedOf } from './conditions.ts';

interface AlertsOptions {
  /** The state that the previous daemon has kept. */
  note: AlertNote | null;
  /** Stores the state, so that it survives a restart. It may fail while the disk is full. */
  keep: (note: AlertNote) => Promise<void>;
  /** The rules. They are read at each check, because a reload may replace them. */
  rules: () => AlertRules;
  channels: () => readonly Channel[];
  /** @param firing the alerts that fire at present */
  facts: (watchedSince: Readonly<Record<string, number>>, firing: readonly KeptAlert[]) => Promise<AlertFacts>;
  /** The sources and, under an empty name, the backups that are watched now. */
  watched: () => readonly string[];
  host: string;
  /** Removes secrets from a text (I7). */
  scrub: (text: string) => string;
  clock: Clock;
  log: Logger;
}

export interface RunningAlerts extends Alerts {
  start(): void;
  /** Checks the conditions at once, for instance after a run has ended. */
  wake(): void;
  /** Stops the sending in progress. A notice that was not sent yet is sent after the next start. */
  stop(): Promise<void>;
  /** How many notices were sent and how many have failed, by channel. */
  sent(): ReadonlyMap<string, { sent: number; failed: number }>;
}

/** How often the conditions are checked. */
const LOOK_MS = 10_000;
/**
 * A channel sends at most this many notices in this time, and further notices wait. So a large failure does not cause
 * hundreds of mails.
 */
const BUDGET = { notices: 20, ms: 10 * 60_000 };

export function createAlerts(options: AlertsOptions): RunningAlerts {
  const { rules, channels, facts, watched, host, scrub, clock, log } = options;
  const watchedSince = { ...options.note?.watchedSince };
  const book = createAlertBook(options.note ?? { alerts: [] });
  const abort = new AbortController();
  const counts = new Map<string, { sent: number; failed: number }>();
  /** When the notices of each channel were sent, the oldest first. */
  const leftAt = new Map<string, number[]>();
  const alarm = createWake(clock);
  let running: Promise<void> = Promise.resolve();
  let lastKept = '';

  const ids = (): string[] => channels().map(({ id }) => id);

  function watch(now: number): void {
    const names = new Set(watched());
    for (const name of Object.keys(watchedSince)) if (!names.has(name)) delete watchedSince[name];
    // If the clock was set back, the time from which a source counts as overdue would lie in the future.
    for (const name of names) watchedSince[name] = Math.min(watchedSince[name] ?? now, now);
  }

  async function keep(): Promise<void> {
    const note = { watchedSince, alerts: book.kept() };
    const text = JSON.stringify(note);
    if (text === lastKept) return;
    await options.keep(JSON.parse(text) as AlertNote);
    lastKept = text;
  }

  async function look(): Promise<void> {
    const now = clock.now();
    watch(now);
    const found = await facts(watchedSince, book.firing());
    const { fired, resolved } = book.update(holdingOf(found, rules()), ids(), now, undecidedOf(found, rules()));
    if (channels().length === 0) return;
    for (const { id, message } of fired) log.warn({ alert: id }, `Alert: ${scrub(message)}`);
    for (const { id } of resolved) log.info({ alert: id }, `The alert ${id} is over.`);
  }

  function mayLeave(channel: string): boolean {
    const now = clock.ticks();
    const recent = (leftAt.get(channel) ?? []).filter((at) => now - at < BUDGET.ms);
    leftAt.set(channel, recent);
    if (recent.length >= BUDGET.notices) return false;
    recent.push(now);
    return true;
  }

  async function send(channel: Channel, due: DueNotice): Promise<void> {
    const count = counts.get(channel.id) ?? { sent: 0, failed: 0 };
    counts.set(channel.id, count);
    try {
      const notice = noticeOf(due, host);
      await channel.send({ ...notice, message: scrub(notice.message) }, abort.signal);
      count.sent += 1;
      book.ended(due, null, clock.now());
    } catch (error) {
      if (abort.signal.aborted) return;
      count.failed += 1;
      const reason = scrub(reasonOf(error));
      book.ended(due, reason, clock.now());
      log.warn(
        { alert: due.alert.id, channel: channel.id, error: reason },
        `The channel ${channel.id} could not be reached with an alert. dpp-sync sends the notice again, seven times in all.`,
      );
    }
  }

  /** Each channel sends its notices one after the other, so a slow channel does not delay the others. */
  async function sendDue(): Promise<void> {
    const due = book.due(ids(), clock.now());
    await Promise.all(
      channels().map(async (channel) => {
        for (const notice of due.filter((one) => one.channel === channel.id)) {
          if (abort.signal.aborted || !mayLeave(channel.id)) return;
          await send(channel, notice);
          await keep();
        }
      }),
    );
  }

  async function loop(): Promise<void> {
    while (!abort.signal.aborted) {
      alarm.look();
      try {
        await look();
        await keep();
        await sendDue();
        await keep();
      } catch (error) {
        // The ledger may not be writable at present. This error is only logged, because alerts must not stop the sync.
        log.warn(
          { error: scrub(reasonOf(error)) },
          'The conditions of the alerts could not be checked. dpp-sync checks them again.',
        );
      }
      const nextAt = book.nextAt(ids(), clock.now());
      const restMs = nextAt === null ? LOOK_MS : Math.min(LOOK_MS, Math.max(50, nextAt - clock.now()));
      await alarm.rest(restMs);
    }
  }

  async function changeMute(id: string, until: number | null): Promise<void> {
    if (!book.mute(id, until)) {
      throw fault('usage', `There is no alert ${id}.`, { suggestion: 'See the alerts: dpp-sync alerts list' });
    }
    await keep();
    alarm.wake();
  }

  return {
    start() {
      running = loop();
    },
    wake: () => alarm.wake(),
    async stop() {
      abort.abort();
      alarm.wake();
      await running;
    },
    sent: () => counts,
    channels: () => channels().map(({ id, type }) => ({ id, type })),
    list: () => book.view(ids(), clock.now()),
    mute: changeMute,
    unmute: (id) => changeMute(id, null),
    test: (signal) => testChannels(channels(), { host, scrub, now: clock.now() }, signal),
  };
}

/** Sends one message to each channel, or only checks each of them. */
export function testChannels(
  channels: readonly Channel[],
  { host, scrub, now }: { host: string; scrub: (text: string) => string; now: number },
  signal: AbortSignal,
  how: 'send' | 'check' = 'send',
): Promise<ChannelTest[]> {
  return Promise.all(
    channels.map(async (channel) => {
      try {
        if (how === 'check') await channel.check(signal);
        else await channel.send(testNotice(host, now), signal);
        return { channel: channel.id, ok: true, error: null };
      } catch (error) {
        return { channel: channel.id, ok: false, error: scrub(reasonOf(error)) };
      }
    }),
  );
}

function noticeOf({ alert, firing }: DueNotice, host: string): Notice {
  const { id, condition, source, stream, message, since } = alert;
  const [begins, over] = ALERTS[condition].subjects;
  const place = [source, stream].filter((part) => part !== null).join('/');
  const what = firing ? begins : over;
  return {
    alert: id,
    status: firing ? 'firing' : 'resolved',
    condition,
    source,
    stream,
    title: place === '' ? what : `${what}: ${place}`,
    message: firing ? message : `This alert is over. It was: ${message}`,
    since,
    host,
  };
}

function testNotice(host: string, now: number): Notice {
  return {
    alert: 'test',
    status: 'test',
    condition: 'test',
    source: null,
    stream: null,
    title: 'Test of the alerts',
    message: 'A person has asked for this test message. Nothing is wrong.',
    since: now,
    host,
  };
}
