import type { Runtime } from '../daemon/runtime.ts';
import type { PlatformRequests } from '../delivery/platform-requests.ts';
import type { Clock } from '../lib/clock.ts';
import { auditCommand, systemUser } from './audit.ts';
import type { Admin, PlatformContext } from './handler.ts';
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
        await watching?.stop();
      }
    },
  };
}

/**
 * Runs handlers in this process that only send requests to the platform. This also works while another process holds
 * the ledger.
 */
export function createPlatformAdmin({
  platform,
  abort,
}: {
  platform: PlatformRequests;
  abort: AbortSignal;
}): Admin<PlatformContext> {
  return {
    daemon: false,
    run(handler, request, { onBytes } = {}) {
      const bytes = { write: async (chunk: Uint8Array) => onBytes?.(chunk) };
      return handler.handle(request, { runtime: { platform }, abort, bytes });
    },
  };
}
