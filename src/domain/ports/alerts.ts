// Alerts report changes of status to people: one notice when a condition becomes true, and one when it ends.

/**
 * The conditions that are watched. A condition about sources gives an alert for each source, or for each of its
 * streams.
 */
export const ALERT_CONDITIONS = [
  'run_failed',
  'guard_held',
  'run_held',
  'quarantine',
  'rejected',
  'parked',
  'blocked',
  'export_empty',
  'nothing_synced',
  'key_refused',
  'api_down',
  'deliveries_failing',
  'backup_old',
  'config_refused',
] as const;
export type AlertCondition = (typeof ALERT_CONDITIONS)[number];

/** The state of the notice about the present status on one channel. `none`: there was nothing to report. */
export type NoticeState = 'none' | 'waiting' | 'sent' | 'given_up';

interface AlertNotice {
  /** The id of the channel. */
  channel: string;
  state: NoticeState;
  /** When the notice was sent, or last tried; null before the first try. */
  at: number | null;
  /** Why the last try failed; null if it has not failed. */
  error: string | null;
}

export interface AlertView {
  /** The id of the alert, which is stable: `api_down`, `run_failed/erp`, `guard_held/erp/boms`. */
  id: string;
  condition: AlertCondition;
  source: string | null;
  stream: string | null;
  firing: boolean;
  /** When the present status began. */
  since: number;
  /** What happened and what to do, in full sentences. */
  message: string;
  /** No notice is sent before this time; null if the alert is not muted. */
  mutedUntil: number | null;
  notices: AlertNotice[];
}

/** The parts of a channel that may be shown: not its address, and not its secrets. */
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
   * @throws Fault `usage` if no such alert is known
   */
  mute(id: string, until: number): Promise<void>;
  /** @throws Fault `usage` if no such alert is known */
  unmute(id: string): Promise<void>;
  /** Sends one message to each channel. Never rejects. */
  test(signal: AbortSignal): Promise<ChannelTest[]>;
}

/** The part of a daemon's alerts that is kept over a restart. */
export interface AlertNote {
  /**
   * Since when a source is watched; an empty name stands for the backups. A daemon that has just begun must not report
   * that nothing has happened for long.
   */
  watchedSince: Record<string, number>;
  alerts: KeptAlert[];
}

export interface KeptAlert extends Omit<AlertView, 'notices'> {
  /** The notices by channel. */
  notices: Record<string, KeptNotice>;
}

export interface KeptNotice {
  /** True if the channel got a notice that the alert began, and none that it ended. */
  reported: boolean;
  /** How many times the notice about the present status was tried. */
  tries: number;
  /** The earliest time of the next try; null after the last try. */
  nextAt: number | null;
  at: number | null;
  error: string | null;
}

/** A secret that is read when it is needed, so that no object contains it that could be printed (I7). */
export interface ReadableSecret {
  read(): Promise<string>;
}

/** The settings of a channel that notifies people. */
export type ChannelSettings = { id: string } & (
  | {
      type: 'webhook';
      /** The whole address counts as a secret, since most services put a token into it. */
      url: ReadableSecret;
      format: 'json' | 'slack';
      /** Sent as `Authorization: Bearer …`; null if there is no token. */
      token: ReadableSecret | null;
    }
  | {
      type: 'email';
      host: string;
      port: number;
      security: 'tls' | 'starttls' | 'none';
      login: { user: string; password: ReadableSecret } | null;
      from: string;
      to: readonly string[];
    }
  | {
      type: 'exec';
      /** An absolute path, or a name that is looked up in PATH. */
      program: string;
      args: readonly string[];
      timeoutMs: number;
    }
);

/** The rules by which a condition becomes an alert. Null or false turns the alert off. Times are in milliseconds. */
export interface AlertRules {
  runFailed: boolean;
  guardHeld: boolean;
  runHeld: boolean;
  /** Fires if a source has more than this many records in quarantine. */
  quarantineAbove: number | null;
  /** Fires if a source has more than this many items in the state. */
  rejectedAbove: number | null;
  parkedAbove: number | null;
  blockedAbove: number | null;
  exportEmpty: boolean;
  nothingSyncedMs: number | null;
  keyRefused: boolean;
  apiDownMs: number | null;
  /** Fires if more than this share of the deliveries of an hour has failed: a number from 0 to 1. */
  failedDeliveries: number | null;
  backupOldMs: number | null;
  configRefused: boolean;
}

/** A notice that a channel sends. */
export interface Notice {
  /** The id of the alert, such as `run_failed/erp`. */
  alert: string;
  status: 'firing' | 'resolved' | 'test';
  condition: AlertCondition | 'test';
  source: string | null;
  stream: string | null;
  /** One line without a full stop, for subjects. */
  title: string;
  /** Full sentences. */
  message: string;
  /** When the status began, in milliseconds since the epoch. */
  since: number;
  /** The machine and the ledger that report it. */
  host: string;
}
