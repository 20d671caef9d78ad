import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { it } from 'vitest';

/** The user and group `nobody` of most systems. Any user other than that of the test works. */
export const OTHER_USER = 65_534;

/** Runs Node as another user. The test itself must run as root. */
export function nodeAsAnotherUser(args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, args, { uid: OTHER_USER, gid: OTHER_USER, encoding: 'utf8', env: {} });
}

/** Another user may have no access to this checkout. */
const canRun = process.getuid?.() === 0 && nodeAsAnotherUser([import.meta.filename]).error === undefined;

/** A test with a process of another user. It is skipped if such a process cannot run. */
export function itWithAnotherUser(name: string, test: () => Promise<void> | void): void {
  it.skipIf(!canRun)(`${name} (needs root, and a checkout that others may read)`, test);
}
