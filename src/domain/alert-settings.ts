import type { AlertCondition } from './ports/alerts.ts';

/** A value that is read when it is needed and is in no object that could be printed (I7). */
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
      /** Sent as `Authorization: Bearer …`; null without one. */
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
      /** Absolute, or a name that is looked up in PATH. */
      program: string;
      args: readonly string[];
      timeoutMs: number;
    }
);

/** When a condition becomes an alert. Null or false: never. Times are in milliseconds. */
export interface AlertRules {
  runFailed: boolean;
  guardHeld: boolean;
  /** Fires if a source has more than this many records in quarantine. */
  quarantineAbove: number | null;
  nothingSyncedMs: number | null;
  keyRefused: boolean;
  apiDownMs: number | null;
  backupOldMs: number | null;
  configRefused: boolean;
}

/** A notice as a channel sends it. */
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
