import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWhere } from '../runner/describe-where.ts';

/** A `describe` that is skipped if this machine does not allow mounts. Each test file tests that once. */
export const describeSmallDisk = describeWhere({
  isThere: canMount(),
  what: 'leave to mount a small tmpfs: run the tests as root on Linux',
});

/** A disk of a few megabytes. */
export interface SmallDisk {
  /** Uses this many bytes of the free space, or all of it. */
  fill(bytes?: number): void;
  /** Uses the free space except for this many bytes. */
  fillTo(freeBytes: number): void;
  /** Frees that space again. */
  clear(): void;
  makeReadOnly(): void;
  remove(): void;
}

/** Mounts a small disk on a folder. It makes the folder if there is none. */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  if (!mount(folder, megabytes)) throw new Error(`Nothing can be mounted on ${folder}.`);
  const ballast = join(folder, 'ballast');
  const fill = (bytes?: number): void => {
    const handle = openSync(ballast, 'a');
    try {
      if (bytes !== undefined) writeSync(handle, Buffer.alloc(bytes, 1));
      else for (const size of [65_536, 4096, 1]) writeUntilFull(handle, Buffer.alloc(size, 1));
    } finally {
      closeSync(handle);
    }
  };
  return {
    fill,
    fillTo(freeBytes) {
      const { bavail, bsize } = statfsSync(folder);
      fill(bavail * bsize - freeBytes);
    },
    clear: () => rmSync(ballast, { force: true }),
    makeReadOnly: () => void spawnSync('mount', ['-o', 'remount,ro', folder]),
    remove() {
      // A file that was closed just now may keep the disk busy for a moment. `--lazy` unmounts it after that.
      spawnSync('umount', ['--lazy', folder]);
    },
  };
}

function writeUntilFull(handle: number, block: Buffer): void {
  for (;;) {
    try {
      if (writeSync(handle, block) < block.length) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

function mount(folder: string, megabytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]).status === 0;
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'dpp-mount-'));
  const mounted = mount(folder, 1);
  if (mounted) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return mounted;
}
