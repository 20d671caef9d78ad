import { accessSync, constants, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Several tests at once make catalogs and install packages. */
const NEEDED_BYTES = 8 * 2 ** 30;

/**
 * The folder for the files of tests. It is in memory where the machine has room for them there: tests make thousands of
 * ledgers, and flushing these to a disk takes time. A test of flushes records what is flushed, so it needs no disk.
 */
export function temporaryFolder(): string {
  return hasRoom() ? MEMORY : tmpdir();
}

function hasRoom(): boolean {
  const probe = join(MEMORY, `dpp-sync-probe-${process.pid}`);
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < NEEDED_BYTES) return false;
    // Some systems let no program run from there.
    writeFileSync(probe, '', { mode: 0o700 });
    accessSync(probe, constants.X_OK);
    return true;
  } catch {
    // There is no such folder, or it cannot be used.
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}
