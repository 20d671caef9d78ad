import { join } from 'node:path';
import { expect } from 'vitest';
import { createCutWorld } from './cut-world.ts';
import { readDiskRecording } from './disk-recording.ts';
import { runTraced } from './strace.ts';

/** The calls of a sync, of each kind, until its new ledger is open and it begins to work. */
export interface CallsOfOpening {
  fsync: number;
  pwrite64: number;
  fdatasync: 0;
}

/** Counts the calls of a sync that open its ledger. The first commit after that is the first one that uses `fdatasync`. */
export async function callsOfOpening(): Promise<CallsOfOpening> {
  const world = await createCutWorld({ honoured: false, queue: 'embedded' });
  try {
    const recording = join(world.folder, 'recording');
    const inject = [{ call: 'fdatasync', when: 1, effect: 'SIGKILL' }] as const;
    const { signal } = await runTraced(world.syncCommand, { paths: world.paths, recording, inject });
    expect(signal).toBe('SIGKILL');
    const events = readDiskRecording(recording);
    const count = (type: 'sync' | 'write') => events.filter((event) => event.type === type).length;
    return { fsync: count('sync'), pwrite64: count('write'), fdatasync: 0 };
  } finally {
    await world.remove();
  }
}

/**
 * Tries the n-th call of a process. While the process ends before it makes this call, tries a call that comes half as
 * late. Commits at the same time share their calls, so the number of calls depends on the speed of the machine.
 *
 * @param reaches runs the process and returns whether it got as far as this call
 */
export async function reachCall(nth: number, reaches: (nth: number) => Promise<boolean>): Promise<void> {
  for (let at = nth; at >= 1; at = Math.floor(at / 2)) if (await reaches(at)) return;
  throw new Error(`The process made none of the first ${nth} calls.`);
}
