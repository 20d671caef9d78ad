// Finds the conditions that are true now, with texts about what happened and what to do. Pure: the daemon collects the
// facts.

import { adviceOnFailedRun, guardAdvice, heldSteps, stepsText } from '../../domain/advice.ts';
import { heldText, type WaitingRun } from '../../domain/approval.ts';
import type { AlertCondition, AlertRules } from '../../domain/ports/alerts.ts';
import type { GuardedRead } from '../../domain/ports/guarded-intake.ts';
import type { EmptyStream, FailedRun, StuckState } from '../../domain/ports/ledger/ledger-standing.ts';
import { ALERTS } from '../../domain/words/alerts.ts';
import type { Words } from '../../domain/words/word.ts';
import { formatPeriod, formatTime } from '../../lib/text/amounts.ts';
import { shellWord } from '../../lib/text/safe-text.ts';

/** What has become of the deliveries of the last hour. */
export interface DeliveryCounts {
  delivered: number;
  /** Those that were rejected, blocked or given up, without those that had failed before for the same reason. */
  failed: number;
  /** False in the first hour of the process: deliveries of an earlier process are not counted. */
  isWhole: boolean;
}

/** The state of the daemon on which alerts depend. Times are in milliseconds since the epoch. */
export interface AlertFacts {
  now: number;
  sources: readonly {
    source: string;
    /**
     * Whether the source has a schedule. People start the runs of a source without a schedule, so it never counts as
     * overdue.
     */
    scheduled: boolean;
    quarantined: number;
    /** How many items are in a state that needs a person. A state without items may be left out. */
    stuck: Partial<Record<StuckState, number>>;
    /**
     * Whether items are due, being sent or looked up, so that items that are sent again may only seem to have left their
     * state. It is asked only for sources of which an alert about such a count fires.
     */
    isSending: boolean;
    /** Whether rows wait for their mapping. The counts do not have them, so they may only seem to have fallen. */
    isMapping: boolean;
    /** The end of the last complete run; null before the first one. */
    completeAt: number | null;
  }[];
  failedRuns: readonly FailedRun[];
  guarded: readonly GuardedRead[];
  held: readonly WaitingRun[];
  /** Streams whose last complete read gave no rows. */
  empty: readonly EmptyStream[];
  deliveries: DeliveryCounts;
  /** Why the API refuses the key, the plan or scopes; null if it refuses nothing. */
  refusal: string | null;
  /** Since when the API has not answered, or has failed at every write; null while it answers. */
  apiDownSince: number | null;
  /** Null without scheduled backups. */
  backup: { lastAt: number | null; error: string | null } | null;
  /** Why the config file was refused at the last reload; null if it was not. */
  configErrors: readonly string[] | null;
  /** Since when each source is watched. The backups have an empty name. */
  watchedSince: Readonly<Record<string, number>>;
}

/** An alert whose condition is true. */
export interface Holding {
  id: string;
  condition: AlertCondition;
  source: string | null;
  stream: string | null;
  message: string;
}

/** The key of the backups in `watchedSince`. */
export const BACKUPS = '';

export function holdingOf(facts: AlertFacts, rules: AlertRules): Holding[] {
  return [...sourceAlerts(facts, rules), ...processAlerts(facts, rules)];
}

/**
 * The alerts of which the facts do not say whether they are over. They keep their state, so that no notice says that
 * something is over and another one that it is there again.
 */
export function undecidedOf({ sources, empty, deliveries }: AlertFacts, rules: AlertRules): ReadonlySet<string> {
  const counted = COUNTED.filter((condition) => limitOf(condition, rules) !== null);
  const mapping = sources.filter(({ isMapping }) => isMapping);
  const stuck = counted.filter((condition) => condition !== 'quarantine');
  const sending = sources.filter(({ isSending }) => isSending);
  return new Set([
    ...sending.flatMap(({ source }) => stuck.map((condition) => idOf(condition, { source }))),
    ...mapping.flatMap(({ source }) => counted.map((condition) => idOf(condition, { source }))),
    ...(rules.exportEmpty ? empty.map((stream) => idOf('export_empty', stream)) : []),
    ...(areFailing(deliveries, rules.failedDeliveries) === null ? ['deliveries_failing'] : []),
  ]);
}

/** The sources of the alerts that count stuck items. */
export function sourcesOfStuck(alerts: readonly { condition: AlertCondition; source: string | null }[]): string[] {
  const ofStuck = alerts.filter(({ condition }) => STUCK.some((state) => state === condition));
  return [...new Set(ofStuck.flatMap(({ source }) => source ?? []))];
}

const STUCK: readonly StuckState[] = ['rejected', 'parked', 'blocked'];
/** The conditions that a count decides. */
const COUNTED = ['quarantine', ...STUCK] as const;

function limitOf(condition: (typeof COUNTED)[number], rules: AlertRules): number | null {
  return rules[ALERTS[condition].setting];
}

function idOf(
  condition: AlertCondition,
  { source, stream = null }: { source: string; stream?: string | null },
): string {
  return [condition, source, stream].filter((part) => part !== null).join('/');
}

/** Fewer deliveries in an hour say nothing about their share. */
const DELIVERIES_LEAST = 50;

/** Whether too many deliveries fail; null if that is not known. */
function areFailing({ delivered, failed, isWhole }: DeliveryCounts, limit: number | null): boolean | null {
  if (limit === null) return false;
  const all = delivered + failed;
  if (failed === 0 && delivered > 0 && isWhole) return false;
  if (all < DELIVERIES_LEAST) return null;
  if (failed / all > limit) return true;
  return failed / all <= limit / 2 ? false : null;
}

function sourceAlerts(facts: AlertFacts, rules: AlertRules): Holding[] {
  const { now, sources, failedRuns, guarded, held, watchedSince } = facts;
  const found: Holding[] = [];
  const add = (condition: AlertCondition, at: { source: string; stream?: string }, message: string): void => {
    const { source, stream = null } = at;
    found.push({ id: idOf(condition, at), condition, source, stream, message });
  };
  if (rules.runFailed) {
    for (const { source, error } of failedRuns) {
      const { title } = adviceOnFailedRun(source);
      add('run_failed', { source }, `${title.replace(/\.$/, ':')} ${error} ${cureOf('run_failed', source)}`);
    }
  }
  if (rules.guardHeld) {
    for (const read of guarded) {
      const { source, stream, message } = read;
      add(
        'guard_held',
        { source, stream },
        `The guard holds the last export of ${source}/${stream}. ${message} ${guardAdvice(read)}`,
      );
    }
  }
  for (const run of rules.runHeld ? held : []) {
    const { source, runId } = run;
    const what = `Run ${runId} of ${source} is held: it would make ${heldText(run)}. Nothing of it is stored.`;
    add('run_held', { source }, `${what} ${stepsText(heldSteps(run))}`);
  }
  for (const { source, stream, isNew } of rules.exportEmpty ? facts.empty : []) {
    if (!isNew) continue;
    const what = `The last export of ${source}/${stream} has no rows, and the one before had some.`;
    add('export_empty', { source, stream }, `${what} ${cureOf('export_empty', source)}`);
  }
  for (const { source, scheduled, quarantined, stuck, completeAt } of sources) {
    for (const state of STUCK) {
      const [count, limit] = [stuck[state] ?? 0, limitOf(state, rules)];
      if (limit === null || count <= limit) continue;
      const items = count === 1 ? `1 item of ${source} is` : `${count} items of ${source} are`;
      add(state, { source }, `${items} ${STATE_WORDS[state]}. ${cureOf(state, source)}`);
    }
    if (rules.quarantineAbove !== null && quarantined > rules.quarantineAbove) {
      const rows = quarantined === 1 ? `1 row of ${source} has` : `${quarantined} rows of ${source} have`;
      const sent = quarantined === 1 ? 'was' : 'were';
      add('quarantine', { source }, `${rows} an error and ${sent} not sent. ${cureOf('quarantine', source)}`);
    }
    if (rules.nothingSyncedMs === null || !scheduled) continue;
    const since = Math.max(completeAt ?? 0, watchedSince[source] ?? now);
    if (now - since <= rules.nothingSyncedMs) continue;
    const last =
      completeAt === null ? 'has never completed a run' : `has completed no run since ${formatTime(completeAt)}`;
    add('nothing_synced', { source }, `The source ${source} ${last}. ${cureOf('nothing_synced')}`);
  }
  return found;
}

const STATE_WORDS: Record<StuckState, string> = {
  rejected: 'rejected by the platform',
  parked: 'given up after several tries',
  blocked: 'blocked',
};

function processAlerts(facts: AlertFacts, rules: AlertRules): Holding[] {
  const { now, refusal, apiDownSince, backup, configErrors, watchedSince } = facts;
  const found: Holding[] = [];
  const add = (condition: AlertCondition, message: string): void => {
    found.push({ id: condition, condition, source: null, stream: null, message });
  };
  if (rules.keyRefused && refusal !== null) {
    add('key_refused', `The API refuses ${refusal} ${cureOf('key_refused')}`);
  }
  if (rules.apiDownMs !== null && apiDownSince !== null && now - apiDownSince > rules.apiDownMs) {
    add('api_down', `The API has accepted no request since ${formatTime(apiDownSince)}. ${cureOf('api_down')}`);
  }
  if (areFailing(facts.deliveries, rules.failedDeliveries) === true) {
    const { delivered, failed } = facts.deliveries;
    const share = Math.round((100 * failed) / (delivered + failed));
    add(
      'deliveries_failing',
      `${failed} of the ${delivered + failed} deliveries of the last hour have failed (${share} %). ${cureOf('deliveries_failing')}`,
    );
  }
  if (rules.backupOldMs !== null && backup !== null) {
    const since = Math.max(backup.lastAt ?? 0, watchedSince[BACKUPS] ?? now);
    if (now - since > rules.backupOldMs) {
      const last =
        backup.lastAt === null ? 'There is no backup' : `The last backup was made at ${formatTime(backup.lastAt)}`;
      const cause = backup.error === null ? '' : ` The last try failed: ${backup.error}`;
      add(
        'backup_old',
        `${last}, and a backup is expected every ${formatPeriod(rules.backupOldMs)}.${cause} ${cureOf('backup_old')}`,
      );
    }
  }
  if (rules.configRefused && configErrors !== null) {
    const errors = configErrors.slice(0, 5).join(' ');
    add(
      'config_refused',
      `The daemon does not use the changed config, and keeps using the former one. ${errors} ${cureOf('config_refused')}`,
    );
  }
  return found;
}

/** What to do about a condition, with its command at the end. */
function cureOf(condition: AlertCondition, source: string = ''): string {
  const { cure, command }: Words = ALERTS[condition];
  if (command === undefined) return cure;
  return `${cure.replace(/\.$/, ':')} \`${command.replace('SOURCE', () => shellWord(source))}\`.`;
}
