// Keeps the code that V8 has compiled, so that the next start compiles only what has changed. This file is plain
// JavaScript, because it has to run before the first TypeScript file of a checkout is loaded.
import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const OPEN_TO_OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Enables Node's compile cache in a folder that no other user can write to. Node runs the code in the cache after it has
 * compared versions and CRC-32 checksums, which anybody can compute. So a user who can write to the cache could run code
 * as this user. Therefore Node's default folder, which is in the shared temporary folder, is not used. Without a safe
 * folder there is no cache, and the start only takes longer. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` have
 * the effect that Node documents.
 */
export function enablePrivateCompileCache() {
  // oxlint-disable-next-line node/no-process-env -- The code that reads the environment elsewhere is TypeScript.
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME = '' } = process.env;
  if (NODE_COMPILE_CACHE !== undefined || NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  const folder = privateFolder(XDG_CACHE_HOME);
  if (folder !== null) enableCompileCache(folder);
}

/** The folder `dpp-sync` in the cache folder of this user, or null if it cannot be made or another user may write to it. */
function privateFolder(cacheHome) {
  // A system without user ids does not show the owner of a folder.
  if (process.getuid === undefined) return null;
  try {
    const home = homedir();
    // A home folder is never created: the home folder of a system user may not exist, and an empty `HOME` would stand
    // for the working folder.
    if (!isAbsolute(cacheHome) && !(isAbsolute(home) && existsSync(home))) return null;
    const base = isAbsolute(cacheHome) ? cacheHome : join(home, '.cache');
    // This is checked before a folder is made, because with `sudo` the home folder may belong to another user.
    if (!isOutOfReach(nearestExisting(base))) return null;
    mkdirSync(join(base, 'dpp-sync'), { recursive: true, mode: 0o700 });
    const folder = realpathSync(join(base, 'dpp-sync'));
    const { uid, mode } = statSync(folder);
    const isPrivate = uid === process.getuid() && (mode & OPEN_TO_OTHERS) === 0;
    return isPrivate && isOutOfReach(dirname(folder)) ? folder : null;
  } catch {
    // The folder cannot be made, for example on a read-only disk or because a file has its name. The program also works
    // without a cache.
    return null;
  }
}

function nearestExisting(folder) {
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  return realpathSync(existing);
}

/**
 * True if only root and this user can replace this folder or a folder above it. In a sticky folder other users cannot
 * rename files that are not theirs.
 */
function isOutOfReach(path) {
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if (uid !== 0 && uid !== process.getuid()) return false;
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return false;
    if (dirname(folder) === folder) return true;
  }
}
