// The alerts that are known, and what was reported of each to each channel.
//
// For each alert and channel, what a channel should know is compared with what was reported to it last, as an item is with its baseline:
//
//   the alert …              should know   reported  what follows
//   fires, is not muted      yes           no        a notice that it fires
//   fires, is muted          as reported   –         nothing, until the time is over
//   is over                  no            yes       a notice that it is over
//   is over                  no            no        nothing: nobody knew
//
// So an alert that comes and goes before a channel could be reached makes no noise, and a restart repeats nothing. A notice that was
// sent and could not be noted, because the process was killed, is sent again.

import type { AlertNote, AlertView, KeptAlert, KeptNotice, NoticeState } from '../../domain/ports/alerts.ts';
import type { Holding } from './conditions.ts';

/** Waits between the tries of one notice, in milliseconds. After the last try the notice is dropped. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];
export const TRIES_MAX: number = RETRY_MS.length + 1;
/** A notice that is due later than this has its time from before the clock was set back. */
const LATEST_MS = Math.max(...RETRY_MS);
/** Ended alerts are shown for this time, and at most this many of them. */
const SHOWN_MS = 7 * 86_400_000;
const OVER_MAX = 100;

/** A notice that is to be sent now. */
export interface DueNotice {
  alert: AlertView;
  channel: string;
  firing: boolean;
}

export function createAlertBook(note: Pick<AlertNote, 'alerts'>) {
  const alerts = new Map<string, KeptAlert>(note.alerts.map((alert) => [alert.id, structuredClone(alert)]));

  function forgetOld(channels: readonly string[], now: number): void {
    const over = [...alerts.values()].filter(({ firing }) => !firing).sort((a, b) => b.since - a.since);
    over.forEach((alert, index) => {
      // A channel that the config no longer has gets no notice that the alert is over.
      const isNeeded = channels.some((channel) => {
        const { reported, nextAt } = noticeOf(alert, channel);
        return reported && nextAt !== null;
      });
      const isMuted = alert.mutedUntil !== null && alert.mutedUntil > now;
      if (isNeeded || isMuted) return;
      if (index >= OVER_MAX || now - alert.since > SHOWN_MS) alerts.delete(alert.id);
    });
  }

  function changeStatus(alert: KeptAlert, firing: boolean, now: number): void {
    alert.firing = firing;
    alert.since = now;
    for (const notice of Object.values(alert.notices)) Object.assign(notice, { tries: 0, nextAt: now, error: null });
  }

  function noticeOf(alert: KeptAlert, channel: string): KeptNotice {
    return alert.notices[channel] ?? { reported: false, tries: 0, nextAt: alert.since, at: null, error: null };
  }

  /** True if the present status has to be reported to the channel at `nextAt`. */
  function differs(alert: KeptAlert, channel: string, now: number): boolean {
    const { reported } = noticeOf(alert, channel);
    if (alert.firing) return !reported && (alert.mutedUntil === null || alert.mutedUntil <= now);
    return reported;
  }

  function stateOf(alert: KeptAlert, channel: string, now: number): NoticeState {
    const { reported, nextAt, at } = noticeOf(alert, channel);
    if (differs(alert, channel, now)) return nextAt === null ? 'given_up' : 'waiting';
    return reported === alert.firing && at !== null && at >= alert.since ? 'sent' : 'none';
  }

  function viewOf(alert: KeptAlert, channels: readonly string[], now: number): AlertView {
    const { notices: _, mutedUntil, ...rest } = alert;
    return {
      ...rest,
      mutedUntil: mutedUntil !== null && mutedUntil > now ? mutedUntil : null,
      notices: channels.map((channel) => {
        const { at, error } = noticeOf(alert, channel);
        return { channel, state: stateOf(alert, channel, now), at, error };
      }),
    };
  }

  function pairs(channels: readonly string[], now: number): { alert: KeptAlert; channel: string }[] {
    const byAge = [...alerts.values()].sort((a, b) => a.since - b.since);
    return byAge.flatMap((alert) =>
      channels.filter((channel) => differs(alert, channel, now)).map((channel) => ({ alert, channel })),
    );
  }

  return {
    /**
     * Stores which conditions are true now. Returns the alerts whose status has changed.
     *
     * @param undecided alerts that are not over, even if their condition is not known to be true
     */
    update(
      holding: readonly Holding[],
      channels: readonly string[],
      now: number,
      undecided: ReadonlySet<string> = new Set(),
    ): { fired: KeptAlert[]; resolved: KeptAlert[] } {
      const fired: KeptAlert[] = [];
      const resolved: KeptAlert[] = [];
      const held = new Map(holding.map((one) => [one.id, one]));
      for (const one of held.values()) {
        const known = alerts.get(one.id);
        const alert = known ?? { ...one, firing: false, since: now, mutedUntil: null, notices: {} };
        alerts.set(one.id, alert);
        if (!alert.firing) {
          changeStatus(alert, true, now);
          fired.push(alert);
        }
        alert.message = one.message;
      }
      for (const alert of alerts.values()) {
        if (!alert.firing || held.has(alert.id) || undecided.has(alert.id)) continue;
        changeStatus(alert, false, now);
        resolved.push(alert);
      }
      forgetOld(channels, now);
      return { fired, resolved };
    },
    /** The notices that are due, the oldest change of status first. */
    due(channels: readonly string[], now: number): DueNotice[] {
      return pairs(channels, now)
        .filter(({ alert, channel }) => {
          const { nextAt } = noticeOf(alert, channel);
          return nextAt !== null && (nextAt <= now || nextAt > now + LATEST_MS);
        })
        .map(({ alert, channel }) => ({ alert: viewOf(alert, channels, now), channel, firing: alert.firing }));
    },
    /** When the next notice becomes due; null if no notice waits. */
    nextAt(channels: readonly string[], now: number): number | null {
      const times = pairs(channels, now).map(({ alert, channel }) => noticeOf(alert, channel).nextAt);
      const mutes = [...alerts.values()].map(({ firing, mutedUntil }) => (firing ? mutedUntil : null));
      const later = [...times, ...mutes].filter((at) => at !== null).filter((at) => at > now);
      return later.length === 0 ? null : Math.min(...later);
    },
    /** Stores whether a notice was sent. */
    ended({ alert: { id, since }, channel, firing }: DueNotice, error: string | null, now: number) {
      const alert = alerts.get(id);
      if (alert === undefined) return;
      const notice = noticeOf(alert, channel);
      alert.notices[channel] = notice;
      notice.at = now;
      notice.error = error;
      if (error === null) notice.reported = firing;
      // If the status has changed while the notice was sent, the tries for the new status begin from the start.
      if (alert.since !== since) return;
      notice.tries += 1;
      const waitMs = RETRY_MS[notice.tries - 1];
      notice.nextAt = error === null || waitMs === undefined ? null : now + waitMs;
    },
    /** False if no such alert is known. */
    mute(id: string, until: number | null): boolean {
      const alert = alerts.get(id);
      if (alert === undefined) return false;
      alert.mutedUntil = until;
      return true;
    },
    view(channels: readonly string[], now: number): AlertView[] {
      return [...alerts.values()]
        .sort((a, b) => Number(b.firing) - Number(a.firing) || b.since - a.since || (a.id < b.id ? -1 : 1))
        .map((alert) => viewOf(alert, channels, now));
    },
    firing: (): KeptAlert[] => [...alerts.values()].filter(({ firing }) => firing),
    kept: (): KeptAlert[] => [...alerts.values()].map((alert) => structuredClone(alert)),
  };
}
