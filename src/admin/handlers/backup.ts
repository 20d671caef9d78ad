import { z } from 'zod';
import type { BackupFile } from '../../daemon/care.ts';
import { fault } from '../../domain/faults.ts';
import type { Handler } from '../handler.ts';

/**
 * Makes the daemon write a backup of its ledger into the folder of the config's `backups`.
 *
 * @throws Fault `usage` without a daemon or without `backups` in its config, `ledger.unwritable` if the backup cannot be made
 */
export const backUp: Handler<Record<string, never>, BackupFile> = {
  name: 'backup',
  request: z.strictObject({}),
  async handle(_request, { runtime }) {
    if (runtime.care !== null) return await runtime.care.backups.backUpNow();
    throw fault('usage', 'No daemon works on this ledger.', {
      suggestion: 'Without a daemon, `dpp-sync ledger backup FILE` makes a backup.',
    });
  },
};
