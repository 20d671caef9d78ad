// Node's own recursive mkdir never ends if the system refuses a folder with ENOENT although the folder above it exists.
// The file systems of automounters do this, and /proc.

import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
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
  if (await isFolder(folder)) return;
  if (parent !== folder) await makeFolder(parent, mode);
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
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
  if (isFolderSync(folder)) return undefined;
  const first = parent === folder ? undefined : makeFolderSync(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isFolderSync(folder)) throw error;
  }
  return first ?? folder;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false; // The system says why when the folder is made.
  }
}

function isFolderSync(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
