import { z } from 'zod';
import type { Handler } from '../../../admin/handler.ts';
import type { BackupFile } from '../../../daemon/care.ts';
import { fault } from '../../../domain/faults.ts';

/** Makes a backup of the ledger, verifies it, and removes the old ones. */
export const backUpNow: Handler<Record<string, never>, BackupFile> = {
  name: 'back-up-now',
  request: z.strictObject({}),
  async handle(_request, { runtime }) {
    if (runtime.care === null) throw fault('usage', 'Only a daemon makes backups by its config.');
    return await runtime.care.backups.backUpNow();
  },
};
