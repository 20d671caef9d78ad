import { open, rename, rm } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { systemClock } from '../../lib/clock.ts';
import { Fault, fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { createPrivateFile, readBoundedFile } from '../../lib/files.ts';
import { sourceFault } from '../connector.ts';

const BYTES_MAX = 65_536;
/** A login has ended long before, because each of its attempts has an end. */
const LOCK_WAIT_MS = 600_000;
const LOCK_POLL_MS = 50;

/**
 * Uses the refresh token in a file, and puts the next one in its place. A server may accept each refresh token only once, so one user
 * at a time has the file, and each reads it after the one before has replaced it. The next file is prepared before the request: a full
 * disk or a folder that cannot be written is noticed while the token in the file is still good.
 *
 * @param use gives the next refresh token as `next`; null if the token stays the same
 */
export async function useRefreshTokenFile<T>(
  path: string,
  use: (refreshToken: string) => Promise<{ given: T; next: string | null }>,
  signal: AbortSignal,
): Promise<T> {
  // Without the file, no lock is made beside it.
  await readToken(path);
  try {
    const release = await lock(path, signal);
    try {
      return await replace(path, use);
    } finally {
      release();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Fault) throw error;
    throw sourceFault(`The file of the refresh token, ${path}, cannot be replaced: ${reasonOf(error)}.`, {
      suggestion:
        'Put the file into a folder in which dpp-sync may write. If a new token was lost, get one from the owner of the API.',
    });
  }
}

async function readToken(path: string): Promise<string> {
  const content = await readBoundedFile(path, BYTES_MAX);
  const refreshToken = content.ok ? content.value.trim() : '';
  if (refreshToken !== '') return refreshToken;
  throw sourceFault(`The file of the refresh token, ${path}, ${content.ok ? 'is empty' : content.error.reason}.`, {
    suggestion: 'Write a refresh token of the API into the file that `auth.refreshTokenFile` names.',
  });
}

async function replace<T>(
  path: string,
  use: (refreshToken: string) => Promise<{ given: T; next: string | null }>,
): Promise<T> {
  const refreshToken = await readToken(path);
  const partial = `${path}.next`;
  const file = await open(partial, 'w', 0o600);
  try {
    const { given, next } = await use(refreshToken);
    if (next !== null && next !== refreshToken) {
      await file.writeFile(`${next}\n`);
      await file.sync();
      await rename(partial, path);
    }
    return given;
  } finally {
    await file.close();
    await rm(partial, { force: true });
  }
}

/**
 * Waits until no other user has the file, in this process or in another one. The lock is an exclusive transaction on `<file>.lock`. The
 * kernel releases it when the process ends in any way, so a lock is never stale.
 */
async function lock(path: string, signal: AbortSignal): Promise<() => void> {
  const place = `${path}.lock`;
  createPrivateFile(place);
  const db = new Database(place, { timeout: 0 });
  const until = systemClock.ticks() + LOCK_WAIT_MS;
  try {
    while (!isLocked(db)) {
      if (systemClock.ticks() > until) {
        throw sourceFault(`The file of the refresh token, ${path}, is in use by another process.`, {
          suggestion: `Stop that process, which \`fuser -v ${place}\` names, or give each source a login of its own.`,
        });
      }
      await systemClock.sleep(LOCK_POLL_MS, signal);
      signal.throwIfAborted();
    }
  } catch (error) {
    db.close();
    throw error;
  }
  return () => void db.close();
}

function isLocked(db: Database.Database): boolean {
  try {
    db.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (systemCodeOf(error)?.startsWith('SQLITE_BUSY') === true) return false;
    throw error;
  }
}

/** SQLite gives its errors codes that no reader knows. */
function reasonOf(error: unknown): string {
  return error instanceof Database.SqliteError ? `its lock cannot be taken (${error.code})` : fileReasonOf(error);
}
