// Alerts report changes of status to people: one notice when a condition begins to hold, and one when it is over.

/** What is watched. A condition about sources is an alert for each source, or for each of its streams. */
export const ALERT_CONDITIONS = [
  'run_failed',
  'guard_held',
  'quarantine',
  'nothing_synced',
  'key_refused',
  'api_down',
  'backup_old',
  'config_refused',
] as const;
export type AlertCondition = (typeof ALERT_CONDITIONS)[number];

/** What became of the notice about the present status, on one channel. `none`: there was nothing to report. */
export type NoticeState = 'none' | 'waiting' | 'sent' | 'given_up';

export interface AlertNotice {
  /** The id of the channel. */
  channel: string;
  state: NoticeState;
  /** When it was sent, or tried last; null before the first try. */
  at: number | null;
  /** Why the last try failed; null where it has not. */
  error: string | null;
}

export interface AlertView {
  /** Stable: `api_down`, `run_failed/erp`, `guard_held/erp/boms`. */
  id: string;
  condition: AlertCondition;
  source: string | null;
  stream: string | null;
  firing: boolean;
  /** When the present status began. */
  since: number;
  /** What happened and what to do, in full sentences. */
  message: string;
  /** No notice is sent before this; null where the alert is not muted. */
  mutedUntil: number | null;
  notices: AlertNotice[];
}

/** A channel as it may be shown: without its address and its secrets. */
export interface ChannelView {
  id: string;
  type: 'webhook' | 'email' | 'exec';
}

export interface ChannelTest {
  channel: string;
  ok: boolean;
  error: string | null;
}

/** The alerts of a daemon. */
export interface Alerts {
  channels(): ChannelView[];
  /** The firing alerts first, then the alerts that ended last. At most a few hundred. */
  list(): AlertView[];
  /**
   * Sends no notices of an alert until that time. The alert need not fire now. If it still fires at that time and was
   * not reported before, it is reported then.
   *
   * @throws Fault `usage` where no such alert is known
   */
  mute(id: string, until: number): Promise<void>;
  /** @throws Fault `usage` where no such alert is known */
  unmute(id: string): Promise<void>;
  /** Sends one message to each channel. Never rejects. */
  test(signal: AbortSignal): Promise<ChannelTest[]>;
}

/** What a daemon keeps of its alerts over a restart. */
export interface AlertNote {
  /** Since when a source, or the backups (with an empty name), are watched: a daemon that has just begun must not report a silence. */
  watchedSince: Record<string, number>;
  alerts: KeptAlert[];
}

export interface KeptAlert extends Omit<AlertView, 'notices'> {
  /** By channel. */
  notices: Record<string, KeptNotice>;
}

export interface KeptNotice {
  /** The status that the channel got last: true where it got a notice of the alert and none of its end. */
  reported: boolean;
  /** Tries for the present status. */
  tries: number;
  /** The earliest time of the next try; null after the last try. */
  nextAt: number | null;
  at: number | null;
  error: string | null;
}
