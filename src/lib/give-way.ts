import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/** With this value, a thread gets a quarter of a core that it shares with one busy thread. */
const NICENESS = 5;

/**
 * Lowers the priority of the thread that calls it, so that the thread that syncs is faster if there are few cores. On Linux each
 * thread has its own priority, and a link in `/proc` shows the thread's id. On other systems the thread keeps the
 * priority of the process.
 */
export function giveWay(): void {
  try {
    const id = Number(basename(readlinkSync('/proc/thread-self')));
    setPriority(id, Math.max(getPriority(id), NICENESS));
  } catch {
    // The system has no priorities of threads, or forbids to change them. The thread is then as urgent as deliveries.
  }
}
