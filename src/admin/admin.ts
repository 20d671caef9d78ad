import type { Handler, HandlerContext } from './handler.ts';
import type { WorkProgress } from './work-progress.ts';

/** Shows a caller the work of a handler while it runs. */
export interface Watch {
  /** Called a few times a second with the progress of the work. */
  onProgress?: (progress: WorkProgress) => void;
  /**
   * Called with each piece of the document that the handler writes to `context.bytes`. The next piece comes when the
   * promise is fulfilled.
   */
  onBytes?: (chunk: Uint8Array) => Promise<void>;
}

/** Runs handlers in the process that holds the ledger: in this process or in the daemon. */
export interface Admin<Context = HandlerContext> {
  /** True if a daemon runs the handlers. It sends the deliveries that a handler makes due. */
  daemon: boolean;
  /** @throws Fault */
  run<Request, Result>(handler: Handler<Request, Result, Context>, request: Request, watch?: Watch): Promise<Result>;
}
