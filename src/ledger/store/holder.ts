// Who holds a ledger. The lock itself names nobody, so its holder writes itself down in the ledger. That note may be of a
// process that has ended: another one holds the lock then, and has not written itself down yet or never does.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCodeOf } from '../../lib/errors.ts';

/** A process that has or had the ledger's lock. Values that the system does not give are null; older notes lack them. */
export interface LedgerHolder {
  pid: number;
  command: string;
  since: string;
  host?: string;
  /** The id of the machine's boot: no process outlives it. */
  boot?: string | null;
  /** The namespace that the pid is of. Containers have namespaces of their own. */
  pidNamespace?: string | null;
  /** When the process began, in the system's own count. It separates the process from a later one with the same pid. */
  began?: string | null;
}

/** The note of this process. */
export function thisHolder({ command, now }: { command: string; now: number }): LedgerHolder {
  return { pid: process.pid, command, since: new Date(now).toISOString(), ...hereNow(), began: beganAt('self') };
}

/** Says who holds a ledger, as the end of a sentence, and how to find out where that is not known. */
export function describeHolder(holder: LedgerHolder | null, lockFile: string): { who: string; find: string } {
  const find = `\`fuser -v ${lockFile}\` or \`lsof ${lockFile}\` names the process that holds it, where it runs on this machine.`;
  if (holder === null) return { who: 'another process; which one could not be determined', find };
  const { pid, command, since, host } = holder;
  switch (standingOf(holder)) {
    case 'alive':
      return { who: `"dpp-sync ${command}" (process ${pid}, since ${since})`, find: '' };
    case 'elsewhere':
      return {
        who: `another process, by its own note "dpp-sync ${command}" (process ${pid} on host ${host}, since ${since}); that is another machine or container, so it could not be checked whether it still runs`,
        find: `Look there. ${find}`,
      };
    case 'ended':
      return {
        who: 'another process; which one could not be determined, as the last one that wrote itself down has ended',
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

/** Two processes differ only by a value that both sides have. */
function differ(noted: string | null | undefined, now: string | null): boolean {
  return typeof noted === 'string' && now !== null && noted !== now;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user may not be signalled, and is alive.
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

/** The 22nd field of proc(5)'s `stat`; the second one, the program's name, may hold spaces and parentheses. */
function beganAt(pid: number | 'self'): string | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3] ?? null;
}

/** Not every system has a `/proc`, nor shows all of it to everybody. */
function orNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
