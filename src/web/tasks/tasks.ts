// Work that a person has started from a page or by the admin API, and that may take longer than a request. There is one
// store of tasks for both: pages show a task, and the admin API returns it as an operation.

import type { Handler } from '../../admin/handler.ts';
import type { WorkProgress } from '../../admin/work-progress.ts';

export interface Task {
  /** A random id in lower-case hexadecimal. */
  id: string;
  /** The name of the handler. */
  name: string;
  /** A description of the task for people: `Replay of 9 records.` */
  title: string;
  who: string;
  startedAt: number;
  endedAt: number | null;
  /** Null before the first progress. */
  progress: WorkProgress | null;
  /** The end of the task; null while it runs. `result` is the result of the handler. */
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
  /** The last tasks, the newest first, at most 200. */
  list(): Task[];
  /** Interrupts a task that runs; returns false if there is no such task or it has ended. */
  stop(id: string): boolean;
  close(): Promise<void>;
}
