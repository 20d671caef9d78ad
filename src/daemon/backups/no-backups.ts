import { fault } from '../../domain/faults.ts';
import type { Backups } from '../care.ts';

/** The backups of a daemon that makes none. */
export const NO_BACKUPS: Backups = {
  configured: false,
  list: async () => [],
  last: () => null,
  lastTry: () => null,
  nextAt: () => null,
  async backUpNow() {
    throw fault('usage', 'The config has no section `backups`.');
  },
};
