import type { AlertCondition } from './ports/alerts.ts';

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
  /** Fires if a source has more than this many records in quarantine. */
  quarantineAbove: number | null;
  nothingSyncedMs: number | null;
  keyRefused: boolean;
  apiDownMs: number | null;
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
