import type { FaultCode } from '../../../src/domain/faults.ts';

/** What a code means, and what a reader can do about it. Both are Markdown of one table cell. */
export interface CodeText {
  means: string;
  cure: string;
}

/** One text for each code of a thrown error. The compiler requires one for a new code. */
export const FAULT_TEXTS: Record<FaultCode, CodeText> = {
  usage: {
    means: 'The command line or the request is wrong, or it does not fit the state of the ledger.',
    cure: 'Do what the message says. `dpp-sync COMMAND --help` has examples.',
  },
  'config.missing': {
    means: 'The config file does not exist or cannot be read.',
    cure: 'Name it with `-c FILE`, or begin with `dpp-sync init`.',
  },
  'config.invalid': {
    means:
      'A setting of the config is wrong. The message names its path and its line. A port that another process uses is reported with this code too.',
    cure: 'Correct the setting, then `dpp-sync check`. A running daemon reads the file again by itself.',
  },
  'mapping.invalid': {
    means: 'An expression, a table of units or a module of a mapping is wrong.',
    cure: 'Correct it, then run `dpp-sync preview`: it shows the items that rows make.',
  },
  'ledger.target': {
    means: 'The ledger, or the running daemon, does not belong to the platform that `target.baseUrl` names.',
    cure: 'Give each platform a ledger file of its own. Name the config of the daemon with `-c FILE`.',
  },
  'ledger.held': {
    means: 'Another process uses the ledger. The message names the process if possible.',
    cure: 'Wait for that process, or stop it. `fuser -v ledger.db.lock` names it. Never remove `ledger.db.lock`: a second process could then write beside the first one.',
  },
  'ledger.lock_lost': {
    means: 'The lock file was removed or replaced while this process used the ledger. The process has stopped writing.',
    cure: 'Stop all processes that use the ledger, and start one again.',
  },
  'ledger.lost': {
    means:
      'The ledger or its `-wal` file was removed, replaced or given a second name while a process used it. The process has ended.',
    cure: '[Put the file back, or restore a backup](operations.md#restore-a-backup). If only the `-wal` file was removed, start again.',
  },
  'ledger.reader_lost': {
    means: 'The thread that answers the dashboard has ended or did not answer in time. The sync continues.',
    cure: 'Load the page again: the next request starts another thread. If this repeats, check the disk and the memory.',
  },
  'ledger.linked': {
    means: 'The file of the ledger has a second name (a hard link), so two locks would be possible.',
    cure: '`find FOLDER -samefile ledger.db` lists the names. Remove the other name. Make copies with `dpp-sync ledger backup`.',
  },
  'ledger.network': {
    means:
      'The ledger is on a network file system: NFS, SMB, AFS, 9p, Ceph, Lustre, Coda or NCP. Locks and shared memory do not hold there, and the ledger could be damaged.',
    cure: 'Set `ledger` to a place on a local disk of the machine. To keep the ledger, move all its files (`ledger.db*`) there while no process uses them.',
  },
  'ledger.sqlite': {
    means: 'The installed better-sqlite3 has a SQLite older than 3.51.3, which can damage a ledger in rare cases.',
    cure: 'Install dpp-sync again with the versions of its package-lock.json. `npm ls better-sqlite3` shows the installed version.',
  },
  'ledger.unreadable': {
    means: 'The file is damaged, is not a ledger, or does not exist.',
    cure: '`dpp-sync ledger verify` shows what is wrong. [Restore a backup](operations.md#restore-a-backup).',
  },
  'ledger.newer': {
    means: 'A newer version of dpp-sync has written the ledger.',
    cure: 'Install that version or a later one. [To go back](operations.md#upgrade), restore the backup from before the upgrade.',
  },
  'ledger.older': {
    means:
      'An older version of dpp-sync has written the ledger, and this command only reads. Or that version is too old to be upgraded by this one: then the message names a commit.',
    cure: 'Start the daemon, or run `dpp-sync sync`: [the upgrade](operations.md#upgrade) makes a backup first. If the message names a commit, upgrade the ledger with that commit.',
  },
  'ledger.restored': {
    means:
      'The ledger is an older copy, a backup or another ledger, or it is gone. So dpp-sync may not know all writes that it has sent.',
    cure: 'Put the latest ledger back if it exists. If it does not, [restore a backup](operations.md#restore-a-backup).',
  },
  'ledger.unwritable': {
    means: 'The disk is full, read-only or failing, or the files belong to another user.',
    cure: '[Make room](operations.md#the-disk-is-full). dpp-sync then continues by itself. If the message names an owner, run the command as that user.',
  },
  'daemon.lost': {
    means: 'The daemon ended, or stopped answering, while it worked for this command.',
    cure: 'Nothing is lost. Start the daemon if you need it, and run the command again.',
  },
  'daemon.stopped': {
    means: 'The daemon was stopped before it was done with this command.',
    cure: 'Run the command again. It continues where it stopped.',
  },
  'daemon.busy': {
    means: 'The daemon runs as many commands or tasks as it may.',
    cure: 'Run the command again when one of them is done.',
  },
  'daemon.version': {
    means: 'The command and the daemon are of different versions.',
    cure: 'Restart the daemon after an update.',
  },
  'queue.unreachable': {
    means: 'Redis cannot be reached, refuses the password, is out of memory, or loses jobs again and again.',
    cure: '[Bring Redis back](operations.md#redis-is-gone). The ledger has the work; nothing needs to be restored.',
  },
  'queue.paused': {
    means: 'A person has paused a queue that this command needs.',
    cure: 'Resume it on the page `/queues` of the dashboard.',
  },
  'queue.unsupported': {
    means: 'The embedded queue does not have this feature of a Redis queue.',
    cure: 'Set `queue` to the URL of a Redis.',
  },
  'source.refused': {
    means:
      'Every row of a complete read is in quarantine, so the read has failed. No record counts as missing, and files are neither archived nor deleted.',
    cure: '`dpp-sync quarantine` shows the rows with their reasons. Correct the export or the config, then [read the source again](operations.md#last-night-failed).',
  },
  'source.unreadable': {
    means:
      'A file, server or database of a source cannot be read, has no export yet, changed while it was read, or lacks a column.',
    cure: 'Do what the message says, then [read the source again](operations.md#last-night-failed). If a title stands above the header of a file, set `skipLines` (CSV) or `header` (XLSX).',
  },
  'machine.limit': {
    means: 'This machine has no file descriptor, port or memory left for a connection.',
    cure: 'Raise the limit that the message names. If you change a limit of the process, restart the process.',
  },
  'api.unreachable': {
    means: 'The platform does not answer, asks to wait, or fails at every write, for longer than `--wait`.',
    cure: 'Wait: everything stays due and is sent [when the platform is back](operations.md#the-platform-is-away). If the platform has never answered, check `target.baseUrl`.',
  },
  'api.key': {
    means: 'The platform refuses the key, or a scope of the key.',
    cure: '[Replace the key or grant the scope](operations.md#the-key-was-revoked).',
  },
  'api.plan': {
    means: 'The platform refuses the plan of the organisation.',
    cure: 'Activate the plan. Nothing else is needed.',
  },
  'api.token': {
    means: 'The platform refuses the session token of `dpp-sync keys revoke`.',
    cure: 'Log in to the platform as an owner or administrator, and use a fresh token.',
  },
  'api.refused': {
    means: 'The platform refuses the request of a person, such as a request for a PDF or a report.',
    cure: 'Correct the cause that the message names.',
  },
  'api.answer': {
    means: 'The platform answered in a form that the profile does not describe.',
    cure: 'Compare the platform with the profile: `dpp-sync check --openapi FILE`.',
  },
  'api.doubt': {
    means: 'The request of a person is unconfirmed: it was sent, and nothing has confirmed that it arrived.',
    cure: 'Look at the platform (`dpp-sync report list`), or ask again with the same `--idempotency-key`.',
  },
  'item.unknown': {
    means: 'The ledger has no item and no record of that name.',
    cure: 'Check the spelling: `dpp-sync items` lists the items. The message proposes similar names.',
  },
  'lookup.unknown': {
    means: 'No mapping uses a lookup table of that name, or the entries of the table have several columns.',
    cure: 'Name a table that the message lists, or correct the row in the source of the table.',
  },
  'alerts.channel': {
    means: 'A test notice did not reach the channel.',
    cure: 'Correct the address or the password under `alerts`, then `dpp-sync alerts test`.',
  },
  'sandbox.control': {
    means: 'No sandbox answers at the address of its control server.',
    cure: 'Start it with `dpp-sync sandbox --control-port 4291`, and name its address with `--control`.',
  },
  'sandbox.refused': {
    means: 'The sandbox refuses a setting, a fault or a request of its control server.',
    cure: 'Correct the setting, the fault or the request that the message names. [The sandbox](sandbox.md) has the settings.',
  },
  'item.changed': {
    means: 'A delivery changed while a person settled it. The other deliveries are settled.',
    cure: '`dpp-sync show` says which state the delivery has now. If the delivery still needs a person, settle it again.',
  },
  interrupted: {
    means: 'A person or a signal has stopped the work.',
    cure: 'Run the command again. It continues where it stopped.',
  },
  internal: {
    means: 'A defect of dpp-sync.',
    cure: 'Run the command again with `--log-level debug`, and report the message with the log.',
  },
};

/** The errors of the sandbox's process. It shares no registry of errors with dpp-sync. */
export const SANDBOX_FAULT_TEXTS: Record<string, CodeText & { exitCode: number }> = {
  'sandbox.key': {
    exitCode: 2,
    means: 'The sandbox cannot use the key that `--key` gives.',
    cure: 'Choose another key, or leave `--key` out.',
  },
  'sandbox.listen': {
    exitCode: 3,
    means: 'The sandbox cannot listen on its port.',
    cure: 'Choose another port with `--port`; 0 takes a free one.',
  },
  'sandbox.storage': {
    exitCode: 3,
    means: 'The sandbox cannot use the file of `--data`.',
    cure: 'Stop the other sandbox that uses it, or name another file.',
  },
};
