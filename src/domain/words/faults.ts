// The words for every error that ends a command, with its exit code.

import type { Words } from './word.ts';

interface FaultRow extends Words {
  /** 1 failed while running, 2 bad usage or config, 3 the environment is out of reach or refuses, 4 records need a person. */
  exit: 1 | 2 | 3 | 4;
}

const RESTORE = 'operations.md#restore-a-backup';
const READ_AGAIN = { command: 'dpp-sync sync SOURCE', guide: 'operations.md#last-night-failed' };

/** Every code that a `Fault` can carry. */
export const FAULTS = {
  usage: {
    exit: 2,
    title: 'The command cannot be done.',
    meaning: 'The command line or the request is wrong, or it does not fit the state of the ledger.',
    cure: 'Do what the message says. The command shows examples.',
    command: 'dpp-sync COMMAND --help',
  },
  'config.missing': {
    exit: 2,
    title: 'There is no config file.',
    cure: 'Name it with `-c FILE`, or begin with a new one.',
    command: 'dpp-sync init',
  },
  'config.invalid': {
    exit: 2,
    title: 'A setting of the config is wrong.',
    meaning: 'A port that another process uses is reported with this code too.',
    cure: 'Correct the setting, then check the config. A running daemon reads the file again by itself.',
    command: 'dpp-sync check',
  },
  'mapping.invalid': {
    exit: 2,
    title: 'An expression, a table of units or a module of a mapping is wrong.',
    cure: 'Correct it, then look at the items that rows make.',
    command: 'dpp-sync preview SOURCE',
  },
  'cases.missing': {
    exit: 2,
    title: 'There is no file with cases of the mappings.',
    cure: 'Write a case by hand, or from a stored row. Without FILE, the cases of `dpp-sync.yaml` are in `dpp-sync.cases.yaml` beside it.',
    command: 'dpp-sync test --record KEY',
    guide: 'tests.md',
  },
  'cases.invalid': {
    exit: 2,
    title: 'A file with cases of the mappings is wrong, or has no case.',
    cure: 'Correct the line that the message names.',
    guide: 'tests.md',
  },
  'cases.stopped': {
    exit: 3,
    title: 'A daemon has stopped the cases of the mappings: they took too long, or needed too much memory.',
    cure: 'Run the command on the machine of the daemon: it has no limit. A module of a mapping may not end.',
    command: 'dpp-sync test',
    guide: 'tests.md',
  },
  'ledger.target': {
    exit: 2,
    title: 'The ledger, or the running daemon, belongs to another platform than `target.baseUrl`.',
    cure: 'Give each platform a ledger file of its own. Name the config of the daemon with `-c FILE`.',
  },
  'ledger.held': {
    exit: 3,
    title: 'Another process uses the ledger.',
    cure: 'Wait for that process, or stop it. The command names it. Never remove `ledger.db.lock`: a second process could then write beside the first one.',
    command: 'fuser -v ledger.db.lock',
  },
  'ledger.lock_lost': {
    exit: 3,
    title: 'The lock file of the ledger was removed or replaced, so the process has stopped writing.',
    cure: 'Stop all processes that use the ledger, and start one again.',
  },
  'ledger.lost': {
    exit: 3,
    title: 'A file of the ledger was removed, replaced or given a second name, so the process has ended.',
    cure: 'Put the file back, or restore a backup. If only the `-wal` file was removed, start again.',
    guide: RESTORE,
  },
  'ledger.reader_lost': {
    exit: 3,
    title: 'The thread that reads the ledger for the dashboard has ended or did not answer. The sync continues.',
    cure: 'Load the page again: the next request starts another thread. If this repeats, check the disk and the memory.',
  },
  'ledger.linked': {
    exit: 3,
    title: 'The file of the ledger has a second name, a hard link, so two locks would be possible.',
    cure: 'Remove the other name. The command lists the names. Make copies with `dpp-sync ledger backup`.',
    command: 'find FOLDER -samefile ledger.db',
  },
  'ledger.network': {
    exit: 2,
    title: 'The ledger is on a network file system.',
    meaning:
      'NFS, SMB, AFS, 9p, Ceph, Lustre, Coda and NCP are such systems. Locks and shared memory do not hold there, and the ledger could be damaged.',
    cure: 'Set `ledger` to a place on a local disk of the machine. To keep the ledger, move all its files (`ledger.db*`) there while no process uses them.',
  },
  'ledger.sqlite': {
    exit: 3,
    title: 'The installed better-sqlite3 has a SQLite older than 3.51.3, which can damage a ledger.',
    cure: 'Install dpp-sync again with the versions of its package-lock.json. The command shows the installed version.',
    command: 'npm ls better-sqlite3',
  },
  'ledger.unreadable': {
    exit: 3,
    title: 'The ledger is damaged, is not a ledger, or does not exist.',
    cure: 'Restore a backup. The command shows what is wrong.',
    command: 'dpp-sync ledger verify',
    guide: RESTORE,
  },
  'ledger.newer': {
    exit: 3,
    title: 'A newer version of dpp-sync has written the ledger.',
    cure: 'Install that version or a later one. To go back, restore the backup from before the upgrade.',
    guide: 'operations.md#upgrade',
  },
  'ledger.older': {
    exit: 3,
    title: 'An older version of dpp-sync has written the ledger, and this command only reads.',
    cure: 'Start the daemon or a sync: the upgrade makes a backup first. If the message names a commit, upgrade the ledger with that commit.',
    command: 'dpp-sync sync',
    guide: 'operations.md#upgrade',
  },
  'ledger.restored': {
    exit: 3,
    title: 'The ledger may lack writes.',
    meaning:
      'The ledger is an older copy, a backup or another ledger, or it is gone. So dpp-sync may not know all writes that it has sent.',
    cure: 'Put the latest ledger back if it exists. If it does not, restore a backup.',
    guide: RESTORE,
  },
  'ledger.unwritable': {
    exit: 3,
    title: 'The disk is full, read-only or failing, or the ledger belongs to another user.',
    cure: 'Make room. dpp-sync then continues by itself. If the message names an owner, run the command as that user.',
    guide: 'operations.md#the-disk-is-full',
  },
  'daemon.lost': {
    exit: 3,
    title: 'The daemon ended, or stopped answering, while it worked for this command.',
    cure: 'Nothing is lost. Start the daemon if you need it, and run the command again.',
  },
  'daemon.stopped': {
    exit: 3,
    title: 'The daemon was stopped before it was done with this command.',
    cure: 'Run the command again. It continues where it stopped.',
  },
  'daemon.busy': {
    exit: 3,
    title: 'The daemon runs as many commands or tasks as it may.',
    cure: 'Run the command again when one of them is done.',
  },
  'daemon.version': {
    exit: 3,
    title: 'The command and the daemon are of different versions.',
    cure: 'Restart the daemon after an update.',
  },
  'queue.unreachable': {
    exit: 3,
    title: 'Redis cannot be reached, refuses the password, is out of memory, or loses jobs again and again.',
    cure: 'Bring Redis back. The ledger has the work; nothing needs to be restored.',
    guide: 'operations.md#redis-is-gone',
  },
  'queue.paused': {
    exit: 3,
    title: 'A person has paused a queue that this command needs.',
    cure: 'Resume it on the page `/queues` of the dashboard. Due deliveries stay due.',
  },
  'queue.unsupported': {
    exit: 2,
    title: 'The embedded queue does not have this feature of a Redis queue.',
    cure: 'Set `queue` to the URL of a Redis.',
  },
  'source.unreadable': {
    exit: 3,
    title: 'A source cannot be read.',
    meaning:
      'A file, server or database of a source cannot be read, has no export yet, changed while it was read, or lacks a column.',
    cure: 'Do what the message says, then read the source again. If a title stands above the header of a file, set `skipLines` (CSV) or `header` (XLSX).',
    ...READ_AGAIN,
  },
  'source.gone': {
    exit: 4,
    title: 'The changes of a source take away more records than the guard allows.',
    meaning:
      'The stream gives only changes, so no complete read can show whether these records are gone. None of them counts as missing, and the changes after them are not read.',
    cure: 'Find out whether the source has really lost these records. If it has, set `guard.maxMissing` or `guard.maxMissingCount` higher for one run.',
    ...READ_AGAIN,
  },
  'source.refused': {
    exit: 4,
    title: 'Every row of a complete read has an error.',
    meaning: 'The read has failed: no record counts as missing, and files are neither archived nor deleted.',
    cure: '`dpp-sync quarantine` shows the rows with their reasons. Correct the export or the config, then read the source again.',
    ...READ_AGAIN,
  },
  'plan.stale': {
    exit: 2,
    title: 'A plan does not fit any more, so nothing was applied.',
    meaning: 'What the plan depends on has changed since it was made: the message names it.',
    cure: 'Make the plan again, look at it, and apply it.',
    command: 'dpp-sync plan --out FILE',
  },
  'machine.limit': {
    exit: 3,
    title: 'This machine has no file descriptor, port or memory left for a connection.',
    cure: 'Raise the limit that the message names. If you change a limit of the process, restart the process.',
  },
  'api.unreachable': {
    exit: 3,
    title: 'The platform does not answer, asks to wait, or fails at every write, for longer than `--wait`.',
    cure: 'Wait: everything stays due and is sent when the platform is back. If the platform has never answered, check `target.baseUrl`.',
    guide: 'operations.md#the-platform-is-away',
  },
  'api.key': {
    exit: 3,
    title: 'The platform refuses the key, or a scope of the key.',
    cure: 'Replace the key or grant the scope.',
    command: 'dpp-sync check',
    guide: 'operations.md#the-key-was-revoked',
  },
  'api.plan': {
    exit: 3,
    title: 'The plan of the organisation does not allow the use of the API.',
    cure: 'API access needs the Enterprise plan: activate this plan. Nothing else is needed.',
  },
  'api.token': {
    exit: 3,
    title: '`dpp-sync keys revoke` needs the token of a session.',
    cure: 'Log in to the platform as an owner or administrator, and use a fresh token.',
  },
  'api.refused': {
    exit: 1,
    title: 'The platform refuses what a person has asked for, such as a PDF or a report.',
    cure: 'Correct the cause that the message names.',
  },
  'api.answer': {
    exit: 1,
    title: 'The platform answered in a form that the profile does not describe.',
    cure: 'Compare the platform with the profile.',
    command: 'dpp-sync check --openapi FILE',
  },
  'api.doubt': {
    exit: 1,
    title: 'The request of a person was sent, and nothing has confirmed that it arrived.',
    cure: 'Look at the platform, or ask again with the same `--idempotency-key`.',
    command: 'dpp-sync report list',
  },
  'item.unknown': {
    exit: 2,
    title: 'The ledger has no item and no record of that name.',
    cure: 'Check the spelling: the command lists the items. The message proposes similar names.',
    command: 'dpp-sync items',
  },
  'lookup.unknown': {
    exit: 2,
    title: 'No mapping uses such a lookup table, or the entries of the table have several columns.',
    cure: 'Name a table that the message lists, or correct the row in the source of the table.',
  },
  'alerts.channel': {
    exit: 3,
    title: 'A test notice did not reach the channel.',
    cure: 'Correct the address or the password under `alerts`, then try again.',
    command: 'dpp-sync alerts test',
  },
  'sandbox.control': {
    exit: 3,
    title: 'No sandbox answers at the address of its control server.',
    cure: 'Start it, and name its address with `--control`.',
    command: 'dpp-sync sandbox --control-port 4291',
  },
  'sandbox.refused': {
    exit: 2,
    title: 'The sandbox refuses a setting, a fault or a request of its control server.',
    cure: 'Correct the setting, the fault or the request that the message names.',
    guide: 'sandbox.md',
  },
  'item.changed': {
    exit: 1,
    title: 'A delivery changed while a person settled it. The other deliveries are settled.',
    cure: '`dpp-sync show` says which state the delivery has now. If the delivery still needs a person, settle it again.',
  },
  interrupted: {
    exit: 1,
    title: 'A person or a signal has stopped the work.',
    cure: 'Run the command again. It continues where it stopped.',
  },
  'output.unwritable': {
    exit: 1,
    title: 'The disk or device to which stdout leads takes no more.',
    meaning: 'The work of the command may be done. Only its output is not complete.',
    cure: 'Make room, or write the output to another place.',
  },
  internal: {
    exit: 1,
    title: 'A defect of dpp-sync stopped the work.',
    cure: 'Run the command again with `--log-level debug`, and report the message with the log.',
  },
} as const satisfies Record<string, FaultRow>;

/** The cases of an error that need other cures than its code. The error of such a case has this cure. */
export const FAULT_CASES = {
  'api.unreachable': {
    away: {
      title: 'The API has accepted no request for longer than `--wait`.',
      cure: 'Check the address and the network, and run the sync again; everything is still due.',
    },
    writes: {
      title: 'The API can be read, and fails for each write.',
      cure: 'Either the platform can store nothing now, or these rows are wrong. `dpp-sync items --state in_doubt` and `dpp-sync show` show the answers of the platform. Then run the sync again; everything is still due.',
    },
    throttled: {
      title: 'The API has asked to wait (429).',
      cure: 'Run the sync again when the wait is over, or wait longer with `--wait`; everything is still due. If the wait is a mistake, ask the operator of the platform to check the limit of the key or the organisation.',
    },
    items: {
      title: 'The API answers, and cannot accept some items (503).',
      cure: '`dpp-sync show` shows this item and why the platform cannot accept it. Correct the cause, and run the sync again; everything else was synced.',
    },
    list: {
      title: 'A list of the platform cannot be read, and new items wait for it.',
      cure: 'Correct the cause that the message names, and run the sync again; everything is still due.',
    },
    unconfirmed: {
      title: 'A list of the platform cannot be read, and writes that it could confirm wait for it.',
      cure: 'Correct the cause that the message names, and run the sync again. Or look at the platform and record what is there with `dpp-sync settle`.',
    },
  },
  'api.key': {
    sync: {
      title: 'A sync has stopped because the platform refuses the key.',
      cure: 'Put a valid key in its place and run the sync again; everything is still due.',
    },
    request: {
      title: 'A request was refused because of the key.',
      cure: 'Check that the key is complete, belongs to this platform, and is neither expired nor revoked.',
    },
    scope: { title: 'A request needs a scope that the key does not have.', cure: 'Give the key more scopes.' },
  },
  'queue.unreachable': {
    loses_jobs: {
      title: 'Redis can be reached, and loses its jobs before a worker takes them.',
      cure: 'Give Redis enough memory, set its `maxmemory-policy` to noeviction, and let no other program use its keys. Nothing is lost: the ledger has all the work.',
    },
  },
} as const satisfies Partial<Record<keyof typeof FAULTS, Record<string, Words>>>;
