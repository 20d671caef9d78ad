import type { Runtime } from '../daemon/runtime.ts';
import type { Clock } from '../lib/clock.ts';
import type { Admin } from './admin.ts';
import { auditCommand, systemUser } from './audit/command-actions.ts';
import { watchWork } from './work-progress.ts';

/** Runs handlers in this process, which holds the ledger. */
export function createLocalAdmin(context: { runtime: Runtime; clock: Clock; abort: AbortSignal }): Admin {
  const who = systemUser();
  return {
    daemon: false,
    async run(handler, request, { onProgress, onBytes } = {}) {
      const watching = onProgress ? watchWork(context, onProgress) : null;
      const bytes = { write: async (chunk: Uint8Array) => onBytes?.(chunk) };
      try {
        return await auditCommand({ handler, request, who }, context.runtime, () =>
          handler.handle(request, { ...context, who, bytes, goesOn: false }),
        );
      } finally {
        watching?.stop();
      }
    },
  };
}
