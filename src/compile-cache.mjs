// Keeps the code that V8 has compiled, so that the next start compiles only what has changed. Plain JavaScript, since it has
// to be there before the first TypeScript file of a checkout is loaded.
import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const OPEN_TO_OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Enables Node's compile cache in a folder that no other user can write to. Node runs what it finds in the cache after
 * comparing versions and CRC-32 checksums, which anybody can compute: a user who can write there runs code as this user. So
 * the folder is never Node's own choice, which is in the shared temporary folder. Without a safe folder there is no cache,
 * which costs time and nothing else. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` do as Node documents them.
 */
export function enablePrivateCompileCache() {
  // oxlint-disable-next-line node/no-process-env -- What reads the environment elsewhere is TypeScript.
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME = '' } = process.env;
  if (NODE_COMPILE_CACHE !== undefined || NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  const folder = privateFolder(XDG_CACHE_HOME);
  if (folder !== null) enableCompileCache(folder);
}

/** The folder `dpp-sync` in the cache folder of this user, or null where it cannot be made or another user may write to it. */
function privateFolder(cacheHome) {
  // Without user ids the owner of a folder is unknown.
  if (process.getuid === undefined) return null;
  try {
    const home = homedir();
    // A home folder is never made: system users are given one that does not exist, and an empty `HOME` would be this folder.
    if (!isAbsolute(cacheHome) && !(isAbsolute(home) && existsSync(home))) return null;
    const base = isAbsolute(cacheHome) ? cacheHome : join(home, '.cache');
    // Before anything is made: with `sudo` the home folder may be that of another user.
    if (!isOutOfReach(nearestExisting(base))) return null;
    mkdirSync(join(base, 'dpp-sync'), { recursive: true, mode: 0o700 });
    const folder = realpathSync(join(base, 'dpp-sync'));
    const { uid, mode } = statSync(folder);
    const isPrivate = uid === process.getuid() && (mode & OPEN_TO_OTHERS) === 0;
    return isPrivate && isOutOfReach(dirname(folder)) ? folder : null;
  } catch {
    // A read-only disk, a user without a home, a file in the way: the program does as well without a cache.
    return null;
  }
}

function nearestExisting(folder) {
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  return realpathSync(existing);
}

/**
 * True where only root and this user can put something else in the place of this folder or of one above it. In a sticky folder
 * others cannot rename what is not theirs.
 */
function isOutOfReach(path) {
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if (uid !== 0 && uid !== process.getuid()) return false;
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return false;
    if (dirname(folder) === folder) return true;
  }
}
