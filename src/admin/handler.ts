import type { z } from 'zod';
import type { Runtime } from '../daemon/runtime.ts';
import type { ByteSink } from '../domain/ports/platform.ts';
import type { Clock } from '../lib/clock.ts';
import type { WorkProgress } from './work-progress.ts';

/** The parts of the process that handlers use. */
export interface HandlerContext {
  runtime: Runtime;
  clock: Clock;
  /** Aborted when the process that runs the handler is stopped. */
  abort: AbortSignal;
  /** True in a daemon: it continues the remaining work after the handler has ended, and does other work at the same time. */
  goesOn: boolean;
  /** Who has asked: a user of the dashboard, `token`, or a user of the system. */
  who: string;
  /** Receives a document that is not JSON, before the handler's result. */
  bytes: ByteSink;
}

/** The context of a handler that sends requests to the platform only, and needs no ledger. */
export interface PlatformContext extends Pick<HandlerContext, 'abort' | 'bytes'> {
  runtime: Pick<Runtime, 'platform'>;
}

/**
 * One kind of request of a person to the process that holds the ledger. If a daemon holds the ledger, the daemon runs
 * the handler of a command. Otherwise the command runs it. A handler prints nothing.
 */
export interface Handler<Request, Result, Context = HandlerContext> {
  /** Names the handler on the wire: lower-case words joined by hyphens. */
  name: string;
  /** True for a handler that only reads: the audit log has no entry of it. */
  isRead?: true;
  /** True for a look at this process: it is not logged as the work of a person, and the API is asked nothing. */
  isLook?: true;
  /** Checks a request that comes from another process. */
  request: z.ZodType<Request>;
  /** The values of a request that the audit log keeps; all of them without this function. */
  detail?(request: Request): object;
  /**
   * @returns a plain JSON value, so that it is the same from this process and from the daemon
   * @throws Fault
   */
  handle(request: Request, context: Context): Promise<Result>;
}

export type PlatformHandler<Request, Result> = Handler<Request, Result, PlatformContext>;

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
