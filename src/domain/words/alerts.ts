// The words for the conditions of alerts. The message of an alert has its facts, and ends with the cure and the command.

import type { AlertCondition } from '../ports/alerts.ts';
import { FAILED_RUN } from './states.ts';
import type { Words } from './word.ts';

interface AlertRow extends Words {
  /** The key under `alerts.when` in the config. */
  setting: string;
  /** What an alert is about, as a part of its id; null for the daemon itself. */
  about: 'SOURCE' | 'SOURCE/STREAM' | null;
  /** The subjects of the notices that it begins and that it is over: one line without a full stop. */
  subjects: readonly [firing: string, over: string];
}

/** Every condition that is watched. */
export const ALERTS = {
  run_failed: {
    setting: 'runFailed',
    about: 'SOURCE',
    subjects: ['Run failed', 'Runs succeed again'],
    title: 'The last run of a source failed.',
    cure: FAILED_RUN.cure,
    command: FAILED_RUN.command,
    guide: 'operations.md#last-night-failed',
  },
  guard_held: {
    setting: 'guardHeld',
    about: 'SOURCE/STREAM',
    subjects: ['Export held by the guard', 'Export is no longer held'],
    title: 'The guard holds the last export of a stream.',
    cure: 'Look at the export, and decide about the read. The message has the steps.',
    command: 'dpp-sync preview SOURCE',
    guide: 'operations.md#a-guard-holds-a-run',
  },
  run_held: {
    setting: 'runHeld',
    about: 'SOURCE',
    subjects: ['Run held: it would do more than is allowed', 'No run is held any more'],
    title: 'A run would do more than `approve` allows, and waits for a person.',
    cure: 'Look at what it would do. Approve the run, or refuse it.',
    command: 'dpp-sync status',
    guide: 'operations.md#a-run-is-held',
  },
  quarantine: {
    setting: 'quarantineAbove',
    about: 'SOURCE',
    subjects: ['Rows have an error', 'Rows with an error are within their limit again'],
    title: 'A source has more rows with an error than this number.',
    cure: 'See the rows with what is wrong in them.',
    command: 'dpp-sync quarantine --source SOURCE',
  },
  rejected: {
    setting: 'rejectedAbove',
    about: 'SOURCE',
    subjects: ['Items were rejected', 'Rejected items are within their limit again'],
    title: 'A source has more rejected items than this number.',
    cure: 'See the items with their reasons.',
    command: 'dpp-sync items --state rejected --source SOURCE',
  },
  parked: {
    setting: 'parkedAbove',
    about: 'SOURCE',
    subjects: ['Items were given up', 'Items that were given up are within their limit again'],
    title: 'A source has more items that were given up after several tries (parked) than this number.',
    cure: 'See the items with their reasons.',
    command: 'dpp-sync items --state parked --source SOURCE',
  },
  blocked: {
    setting: 'blockedAbove',
    about: 'SOURCE',
    subjects: ['Items are blocked', 'Blocked items are within their limit again'],
    title: 'A source has more blocked items than this number.',
    cure: 'See the items with their reasons.',
    command: 'dpp-sync items --state blocked --source SOURCE',
  },
  export_empty: {
    setting: 'exportEmpty',
    about: 'SOURCE/STREAM',
    subjects: ['Export without rows', 'Export has rows again'],
    title: 'A complete read of a stream gave no rows, the read before gave some, and the guard did not hold the read.',
    cure: 'Look at the export.',
    command: 'dpp-sync preview SOURCE',
  },
  nothing_synced: {
    setting: 'nothingSynced',
    about: 'SOURCE',
    subjects: ['Nothing synced for too long', 'Runs complete again'],
    title: 'A source with a schedule has completed no run for this time.',
    cure: 'Look at its runs.',
    command: 'dpp-sync status',
  },
  key_refused: {
    setting: 'keyRefused',
    about: null,
    subjects: ['The API refuses the key, the plan or a scope', 'The API refuses nothing any more'],
    title: 'The API refuses the key, the plan or a scope.',
    cure: 'What needs it stays due. See what the key may do.',
    command: 'dpp-sync check',
    guide: 'operations.md#the-key-was-revoked',
  },
  api_down: {
    setting: 'apiDown',
    about: null,
    subjects: ['The API is down', 'The API answers again'],
    title: 'The API has accepted no request for this time.',
    cure: 'Nothing is lost, and dpp-sync asks the API again at intervals.',
    guide: 'operations.md#the-platform-is-away',
  },
  deliveries_failing: {
    setting: 'failedDeliveries',
    about: null,
    subjects: ['Many deliveries fail', 'Deliveries succeed again'],
    title:
      'Of 50 deliveries or more within an hour, a larger share than this was rejected, blocked or given up. One that fails again for the same reason does not count.',
    cure: 'See the reasons.',
    command: 'dpp-sync status',
  },
  backup_old: {
    setting: 'backupOld',
    about: null,
    subjects: ['The last backup is too old', 'There is a recent backup again'],
    title: 'The last scheduled backup is older than this time.',
    cure: 'Make a backup.',
    command: 'dpp-sync ledger backup FILE',
  },
  config_refused: {
    setting: 'configRefused',
    about: null,
    subjects: ['The config was refused', 'The config is in use'],
    title: 'A changed config has errors or waits for a decision, and is not used.',
    cure: 'See all errors.',
    command: 'dpp-sync check',
  },
} as const satisfies Record<AlertCondition, AlertRow>;
