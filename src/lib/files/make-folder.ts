// Node's own recursive mkdir never ends if the system refuses a folder with ENOENT although the folder above it exists.
// The file systems of automounters do this, and /proc.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

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
