import type { PlatformRequests } from '../delivery/platform-requests.ts';
import type { Admin } from './admin.ts';
import type { PlatformContext } from './handler.ts';

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
