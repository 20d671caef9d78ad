import { fault } from '../domain/faults.ts';
import type { DaemonCare } from './care.ts';

/** The care of a daemon without reloads, backups and pauses. */
export function createCare(): DaemonCare {
  return {
    lastReload: () => null,
    async reload() {
      throw fault('usage', 'This daemon cannot reload its config. Restart it.');
    },
    onReload: () => () => undefined,
    backups: {
      configured: false,
      list: async () => [],
      last: () => null,
      lastTry: () => null,
      nextAt: () => null,
      async backUpNow() {
        throw fault('usage', 'The config has no backups.');
      },
    },
    pauseOf: () => null,
  };
}
