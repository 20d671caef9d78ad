import { accessSync, closeSync, constants, existsSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { err, ok, type Result, systemCodeOf } from './errors.ts';

/** Why a file's text cannot be read. */
interface FileFlaw {
  /** `unfit`: the path can be opened but is not a file of the expected kind or size. */
  kind: 'missing' | 'unreadable' | 'unfit';
  /** The end of a sentence that begins with the file, without a full stop: `is larger than 100 bytes`. */
  reason: string;
}

/**
 * Flags that open a file for reading and never wait: opening a FIFO would otherwise hang until somebody writes to it.
 * They do not change reads of a regular file.
 */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

const CHUNK_BYTES = 65_536;

/**
 * Reads a regular UTF-8 file of at most `bytesMax` bytes. The file is opened once, and its type and content are read
 * from the open file, because the path may name another file a moment later. The stated size is not trusted.
 */
export async function readBoundedFile(path: string, bytesMax: number): Promise<Result<string, FileFlaw>> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, READ_WITHOUT_WAITING);
    const stats = await handle.stat();
    if (stats.isDirectory()) return unfit('is a folder');
    if (!stats.isFile()) return unfit('is not a regular file');
    const bytes = await readBytes(handle, bytesMax);
    if (bytes === null) return unfit(`is larger than ${bytesMax} bytes`);
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return unfit('is not UTF-8 text');
    // A socket cannot be opened, and a device may be without its driver.
    if (code === 'ENXIO' || code === 'ENODEV') return unfit('is not a regular file');
    if (code === 'ENOENT' || code === 'ENOTDIR') return err({ kind: 'missing', reason: 'does not exist' });
    if (code === undefined) throw error;
    return err({ kind: 'unreadable', reason: `cannot be read (${code})` });
  } finally {
    await handle?.close();
  }
}

/** Null if there are more than `bytesMax` bytes. Reads at most one chunk beyond this number. */
async function readBytes(handle: FileHandle, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, length);
    if (bytesRead === 0) return Buffer.concat(chunks, length);
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
    if (length > bytesMax) return null;
  }
}

function unfit(reason: string): Result<never, FileFlaw> {
  return err({ kind: 'unfit', reason });
}

// Node's own recursive mkdir never ends if the system refuses a folder with ENOENT although the folder above it exists.
// The file systems of automounters do this, and /proc.

const MODE = 0o777;

/**
 * Makes a folder and the missing folders above it, each with this mode.
 *
 * @throws the system's error for the folder that cannot be made
 */
export async function makeFolder(path: string, mode = MODE): Promise<void> {
  const folder = resolve(path);
  const parent = dirname(folder);
  if (parent !== folder && !(await exists(parent))) await makeFolder(parent, mode);
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (!(await isFolder(folder))) throw error;
  }
}

/**
 * Like `makeFolder`, without a promise.
 *
 * @returns the uppermost folder that was made; undefined if all of them existed
 */
export function makeFolderSync(path: string, mode = MODE): string | undefined {
  const folder = resolve(path);
  const parent = dirname(folder);
  const first = parent === folder || existsSync(parent) ? undefined : makeFolderSync(parent, mode);
  try {
    mkdirSync(folder, { mode });
    return first ?? folder;
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    return first;
  }
}

/** The path, or the nearest one above it that exists, even if it is a link to nothing. */
export function nearestPlace(path: string): string {
  return isThere(path) || path === dirname(path) ? path : nearestPlace(dirname(path));
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    // The reason shows at a folder above it.
    return false;
  }
}

/**
 * Throws the system's error for a folder in which this process may not make files. It changes nothing: for a folder that does
 * not exist, it looks at the nearest one above it.
 */
export function assertMayFill(folder: string): void {
  // The dot makes the system refuse a file in the place of the folder.
  accessSync(`${nearestPlace(resolve(folder))}/.`, constants.W_OK | constants.X_OK);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * Creates an empty file that only its owner can open, because every user who can read a file can lock it. An existing file is not
 * opened: the system would release the locks of this process on it as soon as it is closed again.
 *
 * @throws the error of the system if it cannot be created (`EACCES`, `ENOENT`)
 */
export function createPrivateFile(path: string): void {
  try {
    // Not created and tightened in two steps: another reader could open it between them.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  }
}

/** Syncs a folder to the disk, so that added and removed names survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A purpose in the names of folders, so that a process only removes what was left behind for the same purpose. */
type FolderPurpose = 'files' | 'out' | 'plan';

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
