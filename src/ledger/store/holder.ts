// Names the process that has a ledger's lock. The lock does not show its owner, so the owner writes a note into the
// ledger. The note may be that of an ended process if the present owner has not written its own note yet.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCodeOf } from '../../lib/errors.ts';

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
