// The lock of a ledger: how a process takes it, who has it, and how its owner notices that it is lost.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { type Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { openFile, type Sqlite } from '../store/database.ts';
import { isTrouble, ledgerFaultOf } from '../store/ledger-fault.ts';
import {
  accessFault,
  assertFolderWritable,
  assertLocalDisk,
  ledgerPath,
  makeDurableFolder,
  makePrivateFile,
  watchFile,
} from './file.ts';
import { assertLedgerFile } from './is-ledger.ts';

export interface LedgerLock {
  /** Why this process may not write any more; null while it may. Costs one `stat`. */
  lost(): Fault | null;
  release(): void;
}

/**
 * Takes the lock that makes this process the ledger's only writer: an exclusive transaction on `<ledger>.lock` that is
 * never committed. The kernel releases it when the process ends in any way, so a lock is never stale. Only the owner
 * can open the file, because every user who can read it could lock it.
 *
 * @param readHolder called only when another process has the lock, to name that process
 * @throws Fault `ledger.held`, `ledger.network` or `ledger.unwritable`, and the faults of `assertLedgerFile`
 */
export function acquireLock(ledgerFile: string, readHolder: () => LedgerHolder | null): LedgerLock {
  const place = preparePlace(ledgerFile);
  const db = openLock({ ledgerFile, place });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (!isTrouble(error, 'BUSY')) throw troubleWithLock(error, { ledgerFile, place });
    throw lockedFault(ledgerFile, { place, holder: readHolder() });
  }
  const change = watchFile(place, { alone: false });
  let lost: Fault | null = null;
  return {
    lost() {
      const what = change();
      if (what !== null) lost ??= lockLostFault(place, what);
      return lost;
    },
    release: () => void db.close(),
  };
}

interface LockPlace {
  ledgerFile: string;
  /** The path of the lock file. */
  place: string;
}

function openLock({ ledgerFile, place }: LockPlace): Sqlite {
  try {
    return openFile(place, { timeout: 0 });
  } catch (error) {
    throw troubleWithLock(error, { ledgerFile, place });
  }
}

/** The file of the lock is an empty database, so its damage says nothing of the ledger. */
function troubleWithLock(error: unknown, { ledgerFile, place }: LockPlace): unknown {
  if (!isTrouble(error, 'NOTADB') && !isTrouble(error, 'CORRUPT')) return ledgerFaultOf(error, ledgerFile) ?? error;
  return fault('ledger.unwritable', `The lock file ${place} is damaged: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion:
      'It holds no data, and the ledger needs no repair because of it. Stop every process that uses the ledger, remove the lock file, and run the command again, which makes a new one.',
    cause: error,
  });
}

function preparePlace(ledgerFile: string): string {
  try {
    makeDurableFolder(dirname(ledgerFile));
    const ledger = ledgerPath(ledgerFile);
    assertLocalDisk(ledger);
    assertFolderWritable(dirname(ledger));
    // No file is made beside the database of another program.
    assertLedgerFile(ledgerFile);
    const place = `${ledger}.lock`;
    makePrivateFile(place);
    return place;
  } catch (error) {
    throw accessFault(ledgerFile, error);
  }
}

/** The fault of a process that may not write any more, because another one may have the lock. */
export function lockLostFault(place: string, what: string): Fault {
  return fault('ledger.lock_lost', `${place} ${what} while this process held it.`, {
    path: 'ledger',
    suggestion:
      'Another process may write to the ledger now, so this process no longer writes. Stop every process that uses the ledger, then start one again. Never remove the lock file: the lock ends with its process.',
  });
}

function lockedFault(ledgerFile: string, { place, holder }: { place: string; holder: LedgerHolder | null }): Error {
  const { who, find } = describeHolder(holder, place);
  const cure =
    holder?.command === 'start'
      ? 'If the daemon starts or stops at this moment, run the command again in a moment. Otherwise stop the daemon, run the command, and start the daemon again.'
      : 'Wait until that process has ended, or stop it.';
  return fault('ledger.held', `The ledger ${ledgerFile} is in use by ${who}.`, {
    path: 'ledger',
    suggestion: `${cure} Only one process may write to a ledger. ${find}`.trimEnd(),
  });
}

// Names the process that has a ledger's lock. The lock does not show its owner, so the owner writes a note into the
// ledger. The note may be that of an ended process if the present owner has not written its own note yet.

/**
 * The note of a process that has or had the ledger's lock. A value that the system does not give is null. Older notes
 * lack some values.
 */
export interface LedgerHolder {
  pid: number;
  command: string;
  since: string;
  host?: string;
  /** The id of the machine's boot. No process outlives it. */
  boot?: string | null;
  /** The namespace of the process id. Each container has its own. */
  pidNamespace?: string | null;
  /**
   * When the process began, in a unit of the system. It distinguishes the process from a later one with the same id.
   */
  began?: string | null;
}

/** The note that this process writes. */
export function thisHolder({ command, now }: { command: string; now: number }): LedgerHolder {
  return { pid: process.pid, command, since: new Date(now).toISOString(), ...hereNow(), began: beganAt('self') };
}

/** Describes the owner of the lock as the end of a sentence, and says how to find it if it is not known. */
export function describeHolder(holder: LedgerHolder | null, lockFile: string): { who: string; find: string } {
  const find = `\`fuser -v ${lockFile}\` or \`lsof ${lockFile}\` names the process that holds it, if the process runs on this machine.`;
  if (holder === null) return { who: 'another process, which could not be determined', find };
  const { pid, command, since, host } = holder;
  switch (standingOf(holder)) {
    case 'alive':
      return { who: `"dpp-sync ${command}" (process ${pid}, since ${since})`, find: '' };
    case 'elsewhere':
      return {
        who: `another process; the last process that left a note is "dpp-sync ${command}" (process ${pid} on host ${host}, since ${since}). That process belongs to another machine or container, so this command cannot check whether it still runs`,
        find: `Look on that machine or in that container. ${find}`,
      };
    case 'ended':
      return {
        who: 'another process, which could not be determined, because the last process that left a note has ended',
        find,
      };
  }
}

function standingOf({ pid, host, boot, pidNamespace, began }: LedgerHolder): 'alive' | 'ended' | 'elsewhere' {
  const here = hereNow();
  const isSameBoot = here.boot !== null && boot === here.boot;
  if (differ(pidNamespace, here.pidNamespace) || (!isSameBoot && differ(host, here.host))) return 'elsewhere';
  if (differ(boot, here.boot) || !isAlive(pid)) return 'ended';
  return differ(began, beganAt(pid)) ? 'ended' : 'alive';
}

/** True if both sides have a value and the values differ. */
function differ(noted: string | null | undefined, now: string | null): boolean {
  return typeof noted === 'string' && now !== null && noted !== now;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process is alive, but belongs to another user.
    return systemCodeOf(error) === 'EPERM';
  }
}

function hereNow(): { host: string; boot: string | null; pidNamespace: string | null } {
  return {
    host: hostname(),
    boot: orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: orNull(() => readlinkSync('/proc/self/ns/pid')),
  };
}

/** Field 22 of `stat` in proc(5). Field 2 is the program's name, which may contain spaces and parentheses. */
function beganAt(pid: number | 'self'): string | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3] ?? null;
}

/** Returns null if reading throws, because some systems have no `/proc`, and some hide parts of it. */
function orNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/**
 * Watches the ledger, its log and its lock while the ledger is open for writing. If one of them is removed or replaced,
 * later commits are lost when this process ends. A link that points elsewhere or a second name counts as a change,
 * because another process would not find the lock there.
 *
 * @param file the path by which other processes find the ledger
 * @returns why this process may not write any more; null while it may. The answer never changes back. Each call costs
 *   one `stat` of three paths.
 */
export function watchLedger(
  file: string,
  { lock, highWater }: { lock: LedgerLock; highWater: { putBack(): void } },
): () => Fault | null {
  const log = `${ledgerPath(file)}-wal`;
  const fileChange = watchFile(file, { alone: true });
  const logChange = watchFile(log, { alone: false });
  let lost: Fault | null = null;

  function look(): Fault | null {
    const ofFile = fileChange();
    if (ofFile !== null) return lostFault(file, ofFile);
    const ofLog = logChange();
    return ofLog === null ? lock.lost() : lostFault(log, ofLog);
  }

  return () => {
    if (lost !== null) return lost;
    lost = look();
    if (lost === null) return null;
    try {
      // A supervisor may start the next process at once. The high-water mark shows the next process that a ledger was
      // here.
      highWater.putBack();
    } catch (error) {
      lost = withoutMark(lost, error);
    }
    return lost;
  };
}

function lostFault(path: string, what: string): Fault {
  return fault('ledger.lost', `${path} ${what} while this process worked on it.`, {
    path: 'ledger',
    suggestion:
      'Later writes of this process would be lost, so this process stops sending and writing. Stop every process that uses the ledger. If you still have the removed file, put it back. Otherwise run `dpp-sync ledger restore BACKUP`. If the file has a second name, remove that name. Then start again.',
  });
}

function withoutMark({ message, suggestion }: Fault, error: unknown): Fault {
  const more = `The mark beside the ledger could not be put back (${messageOf(error)}), so the next process would treat the ledger as a new one.`;
  return fault('ledger.lost', `${message} ${more}`, {
    path: 'ledger',
    ...(suggestion === undefined ? {} : { suggestion }),
    cause: error,
  });
}
