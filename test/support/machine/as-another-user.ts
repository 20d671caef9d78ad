import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { it } from 'vitest';

/** The user and group `nobody` of most systems. Any user other than that of the test works. */
export const OTHER_USER = 65_534;

/** Runs Node as another user, which takes a test that runs as root. */
export function nodeAsAnotherUser(args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, args, { uid: OTHER_USER, gid: OTHER_USER, encoding: 'utf8', env: {} });
}

/** Another user may be kept from this checkout as well. */
const canRun = process.getuid?.() === 0 && nodeAsAnotherUser([import.meta.filename]).error === undefined;

/** A test that needs a process of another user. */
export function itWithAnotherUser(name: string, test: () => Promise<void> | void): void {
  it.skipIf(!canRun)(`${name} (needs root, and a checkout that others may read)`, test);
}
