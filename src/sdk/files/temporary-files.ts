import { lstat, mkdtemp, open, readdir, rm, unlink } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { sourceFault } from '../connector.ts';

/**
 * The name of a folder contains the host, the process and its start, so that the files of a crashed process are
 * recognised.
 */
const FOLDER = /^dpp-sync-files-(?<host>.+)-(?<pid>\d+)-(?<startedAt>\d+)-[A-Za-z0-9]{6}$/;

export interface TemporaryFile {
  path: string;
  remove: () => Promise<void>;
}

/**
 * Temporary files of one source. They are in a folder that only this user can read.
 *
 * @param folder the folder in which they are made; by default the system's folder for temporary files
 */
export function createTemporaryFiles(folder: string | undefined) {
  const parent = folder ?? tmpdir();
  let made: Promise<string> | undefined;
  let count = 0;

  async function make(): Promise<string> {
    try {
      await removeLeftFolders(parent);
      return await mkdtemp(join(parent, `dpp-sync-files-${hostname()}-${process.pid}-${startedAt()}-`));
    } catch (error) {
      throw sourceFault(`No temporary file can be made in ${parent}: ${fileReasonOf(error)}.`, {
        suggestion: 'Check the folder and its rights, or set `downloads.folder` in the options of the source.',
        cause: error,
      });
    }
  }

  return {
    async create(): Promise<TemporaryFile> {
      made ??= make();
      count += 1;
      const path = join(await made, `${count}`);
      await (await open(path, 'wx', 0o600)).close();
      return { path, remove: () => unlink(path) };
    },
    /** Removes all temporary files. */
    async close(): Promise<void> {
      if (made === undefined) return;
      const path = await made.catch(() => null);
      if (path !== null) await rm(path, { recursive: true, force: true });
    },
  };
}

export type TemporaryFiles = ReturnType<typeof createTemporaryFiles>;

/** When this process began, as a number that does not change while it runs. */
function startedAt(): number {
  return Math.round(performance.timeOrigin);
}

/** Removes the folders of processes of this machine and user that have ended without removing them. */
async function removeLeftFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const { host, pid, startedAt: started } = FOLDER.exec(name)?.groups ?? {};
    if (host !== hostname() || isAlive(Number(pid), Number(started))) continue;
    const path = join(parent, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isDirectory() !== true || stats.uid !== process.getuid?.()) continue;
    // Another process may remove the same folder at the same time.
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number, started: number): boolean {
  // A container uses the same process id at each start, so the start time is compared too.
  if (pid === process.pid) return started === startedAt();
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCodeOf(error) !== 'ESRCH';
  }
}
