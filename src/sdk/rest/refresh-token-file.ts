import { open, rename, rm } from 'node:fs/promises';
import { Fault, fileReasonOf } from '../../lib/errors.ts';
import { readBoundedFile } from '../../lib/files.ts';
import { sourceFault } from '../connector.ts';

const BYTES_MAX = 65_536;

/**
 * Uses the refresh token in a file, and puts the next one in its place. A server may accept each refresh token only once, so the file
 * is prepared before the request: a full disk or a folder that cannot be written is noticed while the token in the file is still good.
 *
 * @param use gives the next refresh token as `next`; null if the token stays the same
 */
export async function useRefreshTokenFile<T>(
  path: string,
  use: (refreshToken: string) => Promise<{ given: T; next: string | null }>,
): Promise<T> {
  const content = await readBoundedFile(path, BYTES_MAX);
  const refreshToken = content.ok ? content.value.trim() : '';
  if (refreshToken === '') {
    throw sourceFault(`The file of the refresh token, ${path}, ${content.ok ? 'is empty' : content.error.reason}.`, {
      suggestion: 'Write a refresh token of the API into the file that `auth.refreshTokenFile` names.',
    });
  }
  const partial = `${path}.next`;
  try {
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
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw sourceFault(`The file of the refresh token, ${path}, cannot be replaced: ${fileReasonOf(error)}.`, {
      suggestion:
        'Put the file into a folder in which dpp-sync may write. If a new token was lost, get one from the owner of the API.',
    });
  }
}
