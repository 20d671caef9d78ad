// Work that a person has started from a page or by the admin API, and that may take longer than a request. There is one store of
// tasks: pages show a task, and the admin API gives it as an operation.

import type { Handler } from '../../admin/handler.ts';
import type { WorkProgress } from '../../admin/work-progress.ts';

export interface Task {
  /** Random, in lower-case hexadecimal. */
  id: string;
  /** The name of the handler. */
  name: string;
  /** What it does, as people read it: `Replay of 9 records.` */
  title: string;
  who: string;
  startedAt: number;
  endedAt: number | null;
  /** Null before the first progress. */
  progress: WorkProgress | null;
  /** Null while it runs; `result` is the handler's. */
  outcome:
    | { ok: true; result: unknown }
    | { ok: false; code: string; message: string; suggestion: string | null }
    | null;
}

export interface Tasks {
  /**
   * Starts a handler and writes the action to the audit log. The handler continues when the page is closed, and stops
   * with the daemon.
   */
  start<Request, Result>(
    handler: Handler<Request, Result>,
    request: Request,
    by: { who: string; via: 'web' | 'api'; title: string },
  ): Promise<Task>;
  get(id: string): Task | null;
  /** The newest first, at most the last 200. */
  list(): Task[];
  /** Interrupts a task that runs; false where there is no such task or it has ended. */
  stop(id: string): boolean;
  close(): Promise<void>;
}
