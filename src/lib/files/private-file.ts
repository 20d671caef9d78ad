import { closeSync, openSync } from 'node:fs';
import { systemCodeOf } from '../errors.ts';

/**
 * Creates an empty file that only its owner can read and write. An existing file is not changed. Use it for files that
 * a library would create with the rights of the umask.
 *
 * @throws the error of the system if it cannot be created (`EACCES`, `ENOENT`)
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  }
}
