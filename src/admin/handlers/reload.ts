import { z } from 'zod';
import type { Reloaded } from '../../daemon/reload/reload-status.ts';
import { fault } from '../../domain/faults.ts';
import type { Handler } from '../handler.ts';

/**
 * Makes the daemon read its config and all files that it names again.
 *
 * @throws Fault `usage` in a process that is not a daemon, because it has just read its config
 */
export const reloadConfig: Handler<Record<string, never>, Reloaded> = {
  name: 'reload',
  request: z.strictObject({}),
  async handle(_request, { runtime }) {
    if (runtime.care !== null) return await runtime.care.reload('person');
    throw fault('usage', 'No daemon works on this ledger, so there is nothing to reload.', {
      suggestion: 'Every command reads the config when it begins. `dpp-sync start` starts a daemon.',
    });
  },
};
