import { stat } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';

const LOOK_MS = 1000;

/**
 * Checks the files once a second. This finds changes that notifications of the system miss: a file that an editor
 * replaces, the symbolic links of a mounted ConfigMap, and a folder of another machine. Reads the metadata of the
 * files, not their content.
 */
export function createFileWatch(clock: Clock) {
  let known = new Map<string, string>();

  async function look(files: Iterable<string>): Promise<Map<string, string>> {
    return new Map(await Promise.all([...files].map(async (file) => [file, await factsOf(file)] as const)));
  }

  async function different(): Promise<string | null> {
    const present = await look(known.keys());
    const isKnown = [...present].every(([file, facts]) => known.get(file) === facts);
    return isKnown ? null : [...present.values()].join(' ');
  }

  return {
    /** Remembers the present state of the files. Call it before the files are read. */
    async note(files: readonly string[]): Promise<void> {
      known = await look(files);
    },
    /** Watches these files from now on. The remembered state of a file that is already watched does not change. */
    async also(files: readonly string[]): Promise<void> {
      const fresh = await look(files.filter((file) => !known.has(file)));
      known = new Map(files.map((file) => [file, known.get(file) ?? fresh.get(file) ?? '']));
    },
    /** True if a file has appeared, gone or changed since its state was remembered. */
    changed: async (): Promise<boolean> => (await different()) !== null,
    /** Calls `onChange` whenever files have changed and then did not change for one interval. Ends with the signal. */
    async follow(onChange: () => Promise<void>, signal: AbortSignal): Promise<void> {
      let before: string | null = null;
      while (!signal.aborted) {
        await clock.sleep(LOOK_MS, signal);
        if (signal.aborted) return;
        const present = await different();
        // A file that is still being written changes between two checks.
        if (present !== null && present === before) await onChange();
        before = present;
      }
    },
  };
}

/** Follows symbolic links. A file that was written again has another inode, size or time. */
async function factsOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch {
    // The reload reports why the file cannot be read.
    return 'absent';
  }
}
