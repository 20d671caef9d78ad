import type { JsonObject } from '../../../lib/json.ts';
import type { ActivityHour } from '../../activity.ts';
import type { HeldRun } from '../../approval.ts';
import type { ApiWait } from '../../delivery/outcome.ts';
import type { PassportRules } from '../../passport.ts';
import type { PASSPORTS } from '../../words/states.ts';
import type { AlertNote } from '../alerts.ts';

/** How much history is kept. */
export interface HistoryLimits {
  /** The age of runs and events in days. */
  keepDays?: number | undefined;
  /** The size of the ledger, above which the oldest events are removed. */
  maxBytes?: number | undefined;
}

/** What a process has counted since it stored its counts last. */
export interface CountedActivity {
  /** When the process began to count. */
  since: number;
  hours: readonly ActivityHour[];
  /** The passports as they are now. */
  passports: Partial<Record<keyof typeof PASSPORTS, number>>;
}

/** Maintains the ledger itself. Each method is one whole transaction. */
export interface CareLedger {
  /**
   * Marks as unconfirmed the deliveries that an earlier process was sending; they are read back after the delay. Also
   * stages again the changes of products that were staged under another `productUpdate`. Call it once after taking the
   * lock.
   */
  recover(settlingDelayMs: number): Promise<{ voided: number }>;
  /** Stores the wait that the API has asked for, so that other processes can show it; null when it is over. */
  noteApiWait(wait: ApiWait | null): Promise<void>;
  /** Stores a note of the daemon for other processes; null removes it. */
  noteDaemon<Name extends keyof DaemonNotes>(name: Name, note: DaemonNotes[Name] | null): Promise<void>;
  /** Adds what this process has counted to what is stored. The pictures of the dashboard show it. */
  storeActivity(counted: CountedActivity): Promise<void>;
  /**
   * Prunes the history of items, runs and events.
   *
   * @param limits limits in addition to the fixed ones. Each call removes a bounded part, so that other work can
   *   continue
   */
  prune(limits?: HistoryLimits): Promise<void>;
  /**
   * Resolves when the writes that were begun earlier have ended, and their callers have gone on. A read sees a write
   * before its caller knows that it is stored.
   */
  writesEnded(): Promise<void>;
  /**
   * Finds out whether the ledger can be written: its disk is not full, no write was refused in the last seconds, and a
   * small write is committed.
   *
   * @throws Fault `ledger.unwritable`, or the fault of the refused write
   */
  touch(): Promise<void>;
  close(): Promise<void>;
}

/** The result of the last reload of the config. */
export interface ReloadStatus {
  at: number;
  /** False if the new config was refused: the former settings stay in use. */
  ok: boolean;
  /** True if the new config is valid and would change more than is allowed, so that it waits for a person. */
  held?: boolean;
  /** Why the new config was refused. Each error is a full sentence with its place in the config. */
  errors: string[];
}

/** A backup that a daemon has made in the folder that the config names. */
export interface BackupFile {
  /** The absolute path. */
  file: string;
  madeAt: number;
  bytes: number;
}

/** The state of the scheduled backups of the ledger. */
export interface BackupStatus {
  /** When a backup was last tried, with or without success. */
  at: number;
  ok: boolean;
  /** Why the last try failed; null if it has not failed. */
  error: string | null;
  /** The newest backup that was verified; null before the first one. */
  last: BackupFile | null;
}

/** The notes that a daemon stores in the ledger for other processes and for the next daemon, by name. */
export interface DaemonNotes {
  alerts: AlertNote;
  reload: ReloadStatus;
  backup: BackupStatus;
  /** The sources whose scheduled run has not begun, each with the time at which it was due. */
  dueRuns: Record<string, number>;
  /** The hash of the export that has last started a run, for each source with `watch`. */
  watched: Record<string, string>;
  /** The runs that exceed the bounds of their sources, by source. A new run of the source replaces or ends the entry. */
  held: Record<string, HeldRun>;
  /** The policy for passports that the last process has used. */
  policy: Pick<PassportRules, 'isConfigured' | 'init' | 'publish' | 'withdrawMissingOf'>;
}

/** A value that a person has given for a key of a lookup table. */
export interface ValueByHand {
  /** The name of the table. */
  lookup: string;
  key: string;
  value: string;
}

/** Work that a person has started on the dashboard or by the admin API. */
export interface StoredTask {
  /** A random id in lower-case hexadecimal. */
  id: string;
  /** The name of the operation. */
  name: string;
  /** A description of the task for people: `Replay of 9 records.` */
  title: string;
  who: string;
  startedAt: number;
  /** Null while the task runs. */
  endedAt: number | null;
  /** The outcome as JSON; null while the task runs. */
  outcome: string | null;
  /** The version of dpp-sync that made the outcome. */
  version: string;
}

/** The password that a user of the dashboard has chosen. */
export interface OwnPassword {
  /** The name of the user. */
  name: string;
  /** The scrypt hash of the password. */
  hash: string;
  /** A hash of the hash in the config. The password counts while the config still has the latter. */
  replaces: string;
}

/**
 * Stores what people enter besides replays and manual resolutions: the audit log, tasks, notes, values of lookup tables,
 * and passwords. Each method is one whole transaction.
 */
export interface PeopleLedger {
  /** Writes an entry of the audit log before the action begins, and returns its id. */
  beginAction(action: {
    who: string;
    via: 'web' | 'api' | 'command';
    action: string;
    detail: JsonObject;
  }): Promise<number>;
  /** Writes the result of the action, in one sentence. */
  endAction(id: number, outcome: string): Promise<void>;
  /** Stores a task, in place of what was stored of it. Of older tasks only the newest are kept. */
  keepTask(task: StoredTask): Promise<void>;
  /** The kept tasks, the oldest first. A task whose process has ended before it has failed. */
  keptTasks(): Promise<StoredTask[]>;
  /** Replaces the note on a cause; an empty text and an empty owner remove it. */
  noteCause(cause: string, note: { text: string; owner: string; by: string }): Promise<void>;
  /**
   * Adds or changes a value of a lookup table by hand. The value replaces the entry of the table's file or stream, in
   * all tables with this name. Returns how many records have used the key and now wait for the mapping.
   *
   * @throws Fault `lookup.unknown` if no table has this name, or if a table with this name gives several columns
   */
  setLookupValue(value: { lookup: string; key: string; value: string; by: string }): Promise<{ records: number }>;
  /** All values that people have given. */
  valuesByHand(): Promise<ValueByHand[]>;
  removeLookupValue(lookup: string, key: string): Promise<{ records: number }>;
  /** Stores the password of a user, in place of an earlier one. */
  setPassword(password: OwnPassword): Promise<void>;
  /** Deletes these passwords. One that its user has replaced since stays. */
  dropPasswords(passwords: readonly OwnPassword[]): Promise<void>;
  /** The passwords of all users. */
  passwords(): Promise<OwnPassword[]>;
}
