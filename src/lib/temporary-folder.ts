import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemCodeOf } from './errors.ts';

/** A purpose in the names of folders, so that a process only removes what was left behind for the same purpose. */
export type FolderPurpose = 'files' | 'out' | 'plan';

/**
 * The name of a folder contains the host, the process and its start, so that the files of a crashed process are
 * recognised.
 */
const FOLDER = /^(?<purpose>dpp-sync-[a-z]+)-(?<host>.+)-(?<pid>\d+)-(?<startedAt>\d+)-[A-Za-z0-9]{6}$/;

/**
 * Makes a folder that only this user can read, and removes those that processes of this machine have left behind.
 *
 * @param parent the folder in which it is made; it has to exist
 */
export async function makeTemporaryFolder(parent: string, purpose: FolderPurpose): Promise<string> {
  await removeLeftFolders(parent, `dpp-sync-${purpose}`);
  return await mkdtemp(join(parent, `dpp-sync-${purpose}-${hostname()}-${process.pid}-${startedAt()}-`));
}

/** When this process began, as a number that does not change while it runs. */
function startedAt(): number {
  return Math.round(performance.timeOrigin);
}

/** Removes the folders of processes of this machine and user that have ended without removing them. */
async function removeLeftFolders(parent: string, wanted: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const { purpose, host, pid, startedAt: started } = FOLDER.exec(name)?.groups ?? {};
    if (purpose !== wanted || host !== hostname() || isAlive(Number(pid), Number(started))) continue;
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
