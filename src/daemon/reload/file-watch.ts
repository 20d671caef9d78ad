import { stat } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';

/** Finds out whether one of some files has changed since the files were last read. */
export interface FileWatch {
  /** Remembers the present state of the files. Call it before the files are read. */
  note(files: readonly string[]): Promise<void>;
  /** Watches these files from now on. The remembered state of a file that is already watched does not change. */
  also(files: readonly string[]): Promise<void>;
  /** True if a file has appeared, gone or changed since its state was remembered. */
  changed(): Promise<boolean>;
  /** Calls `onChange` whenever files have changed and then did not change for one interval. Ends with the signal. */
  follow(onChange: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

const LOOK_MS = 1000;

/**
 * Checks the files once a second. This finds changes that notifications of the system miss: a file that an editor
 * replaces, the symbolic links of a mounted ConfigMap, and a folder of another machine. Reads the metadata of the
 * files, not their content.
 */
export function createFileWatch(clock: Clock): FileWatch {
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
    async note(files) {
      known = await look(files);
    },
    async also(files) {
      const fresh = await look(files.filter((file) => !known.has(file)));
      known = new Map(files.map((file) => [file, known.get(file) ?? fresh.get(file) ?? '']));
    },
    changed: async () => (await different()) !== null,
    async follow(onChange, signal) {
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
