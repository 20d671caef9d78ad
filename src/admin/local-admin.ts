import { countQueues } from '../daemon/open-reads.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { scheduleOf } from '../daemon/schedules/run-times.ts';
import { sync } from '../daemon/sync.ts';
import type { PlatformRequests } from '../delivery/platform-requests.ts';
import { fault } from '../domain/faults.ts';
import type { Clock } from '../lib/clock.ts';
import type { Operation } from '../operations/operation.ts';
import type { OperationContext, PlatformContext } from '../operations/runtime.ts';
import { auditCommand, systemUser } from './audit.ts';
import { type WorkProgress, watchWork } from './work-progress.ts';

/** Shows a caller the work of an operation while it runs. */
export interface Watch {
  /** Called a few times a second with the progress of the work. */
  onProgress?: (progress: WorkProgress) => void;
  /**
   * Called with each piece of the document that the operation writes to `context.bytes`. The next piece comes when the
   * promise is fulfilled.
   */
  onBytes?: (chunk: Uint8Array) => Promise<void>;
}

/** Runs operations in the process that holds the ledger: in this process or in the daemon. */
export interface Admin<Context = OperationContext> {
  /** True if a daemon runs the operations. It sends the deliveries that an operation makes due. */
  daemon: boolean;
  /** @throws Fault */
  run<Asked, Result>(operation: Operation<Asked, Result, Context>, asked: Asked, watch?: Watch): Promise<Result>;
}

/** Runs operations in this process, which holds the ledger. */
export function createLocalAdmin(context: { runtime: Runtime; clock: Clock; abort: AbortSignal }): Admin {
  const who = systemUser();
  return {
    daemon: false,
    async run(operation, request, { onProgress, onBytes } = {}) {
      const watching = onProgress ? watchWork(context, onProgress) : null;
      const bytes = { write: async (chunk: Uint8Array) => onBytes?.(chunk) };
      try {
        return await auditCommand({ operation, request, who }, context.runtime, () =>
          operation.run(request, operationContext({ ...context, who, bytes, goesOn: false })),
        );
      } finally {
        await watching?.stop();
      }
    },
  };
}

/**
 * Runs operations in this process that only send requests to the platform. This also works while another process holds
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
    run(operation, request, { onBytes } = {}) {
      const bytes = { write: async (chunk: Uint8Array) => onBytes?.(chunk) };
      return operation.run(request, { runtime: { platform }, abort, bytes });
    },
  };
}

type Given = Omit<OperationContext, 'runtime' | 'sync' | 'daemon' | 'bytes' | 'queues' | 'schedule'> &
  Partial<Pick<OperationContext, 'daemon' | 'bytes'>> & { runtime: Runtime };

const NO_BYTES = { write: () => Promise.reject(fault('usage', 'The answer to this request is no document.')) };

/** What operations get of this process. */
export function operationContext({ runtime, daemon = null, bytes = NO_BYTES, ...given }: Given): OperationContext {
  const { clock } = given;
  const schedule = scheduleOf(runtime.config, clock);
  return {
    ...given,
    runtime,
    daemon,
    bytes,
    sync: (request) => sync(runtime, request, clock),
    queues: () => countQueues(runtime.queues),
    schedule: daemon === null ? schedule : { ...schedule, nextRun: (source) => daemon.nextRun(source) },
  };
}
