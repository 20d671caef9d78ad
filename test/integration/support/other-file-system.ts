import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** A folder on another file system than that of temporary files, in which files can be moved only by a copy; null if there is none. */
export const OTHER_FILE_SYSTEM: string | null =
  ['/dev/shm', '/var/tmp'].find((folder) => existsSync(folder) && statSync(folder).dev !== statSync(tmpdir()).dev) ??
  null;
