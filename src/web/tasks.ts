import { randomBytes } from 'node:crypto';
import { detailOf } from '../admin/audit.ts';
import { operationContext } from '../admin/local-admin.ts';
import { type WorkProgress, watchWork } from '../admin/work-progress.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { fault } from '../domain/faults.ts';
import type { PeopleLedger, StoredTask } from '../domain/ports/ledger/care-ledger.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { parseJsonOrNull } from '../ledger/store/tx.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { Operation } from '../operations/operation.ts';
import { failureOf } from '../operations/outcome-fault.ts';
import type { DaemonView } from '../operations/runtime.ts';
import { takeAction } from './audited.ts';

// Work that a person has started from a page or by the admin API, and that may take longer than a request. There is one
// store of tasks for both: pages show a task, and the admin API returns it as an operation.

export interface Task extends Omit<StoredTask, 'outcome' | 'version'> {
  /** Null before the first progress. */
  progress: WorkProgress | null;
  /** The end of the task; null while it runs. `result` is the result of the operation. */
  outcome:
    | { ok: true; result: unknown }
    | { ok: false; code: string; message: string; suggestion: string | null }
    | null;
}

/** How many tasks run at once, and how many ended tasks are kept (I9). */
const RUNNING_MAX = 8;
const KEPT_MAX = 200;
/**
 * How many characters of JSON the results of all kept tasks may have together. If there are more, the oldest results
 * are dropped (I9).
 */
const RESULT_CHARS_MAX = 8 * 1024 * 1024;

/** A longer result is not in the ledger, so a restart forgets it (I9). */
const STORED_CHARS_MAX = 262_144;
/** How many characters of a result the audit log keeps. */
const OUTCOME_CHARS_MAX = 500;

interface Kept {
  task: Task;
  abort: AbortController;
  ended: Promise<void>;
  resultChars: number;
}

export interface TasksOptions {
  runtime: Runtime;
  daemon: DaemonView;
  people: PeopleLedger;
  clock: Clock;
  log: Logger;
  version: string;
  /** Asks the API again if it refuses the key, because a person may have corrected this before. */
  askRefused: () => Promise<void>;
  /** The tasks of former daemons, the oldest first. */
  stored: readonly StoredTask[];
  /** The result of a task in sentences; null if there are none. */
  describe: (task: Task) => string | null;
  /** Called when a task has begun, has made progress or has ended. */
  onChange?: () => void;
}

const STOPPED = fault('interrupted', 'The task was stopped.', {
  suggestion: 'Nothing is lost: the ledger has the finished work. Start the work again to continue.',
});
const CLOSED = fault('daemon.stopped', 'The daemon was stopped before the work was done.', {
  suggestion: 'Nothing is lost: the ledger has the finished work. Start the work again to continue.',
});

export type Tasks = ReturnType<typeof createTasks>;

/**
 * The tasks of a daemon and of those before it. The ledger has each task from before it begins, so a restart forgets none. The
 * audit log keeps an entry for each task.
 */
export function createTasks(options: TasksOptions) {
  const {
    runtime,
    daemon,
    people,
    clock,
    log,
    version,
    stored,
    askRefused,
    describe,
    onChange = () => undefined,
  } = options;
  // A map remembers the order in which its members came.
  const kept = new Map<string, Kept>(stored.map((task) => [task.id, restored(task, version)]));
  let closed = false;
  forget();

  const running = () => [...kept.values()].filter(({ task }) => task.endedAt === null);

  function failure(error: unknown, name: string, abort: AbortSignal) {
    if (error instanceof Fault) return failureOf(error);
    if (abort.aborted) return failureOf(abort.reason);
    if (ledgerFaultOf(error) === null) log.error({ command: name, err: error }, `The task ${name} failed.`);
    return failureOf(error);
  }

  /** Drops old tasks and results, so that only the newest ones within the bounds are kept. */
  function forget(): void {
    for (const [id, { task }] of kept) {
      if (kept.size <= KEPT_MAX) break;
      if (task.endedAt !== null) kept.delete(id);
    }
    let chars = 0;
    for (const one of [...kept.values()].reverse()) {
      chars += one.resultChars;
      if (chars <= RESULT_CHARS_MAX || one.task.outcome?.ok !== true) continue;
      one.task.outcome = { ok: true, result: null };
      one.resultChars = 0;
    }
  }

  async function end(one: Kept, actionId: number, outcome: NonNullable<Task['outcome']>): Promise<void> {
    const { task } = one;
    task.outcome = outcome;
    task.endedAt = clock.now();
    const ended = storedForm(task);
    one.resultChars = outcome.ok ? (JSON.stringify(outcome.result) ?? '').length : 0;
    forget();
    onChange();
    await endEntry(task, actionId, outcome.ok ? doneText(task) : `Failed: ${outcome.message}`);
    try {
      await people.keepTask(ended);
    } catch (error) {
      log.warn({ err: error, task: task.name }, 'The end of a task could not be stored.');
    }
  }

  async function endEntry(task: Task, actionId: number, outcome: string): Promise<void> {
    try {
      await people.endAction(actionId, outcome);
    } catch (error) {
      log.warn({ err: error, task: task.name }, 'The end of a task could not be written to the audit log.');
    }
  }

  /** A task as the ledger keeps it: without secrets, and without a result that is too long. */
  function storedForm({ id, name, title, who, startedAt, endedAt, outcome }: Task): StoredTask {
    const text = outcome === null ? null : JSON.stringify(outcome, (_, value: unknown) => scrubbed(value));
    const isLong = text !== null && text.length > STORED_CHARS_MAX;
    const short = isLong ? JSON.stringify({ ok: true, result: null }) : text;
    return { id, name, title: runtime.secrets.scrub(title), who, startedAt, endedAt, outcome: short, version };
  }

  function scrubbed(value: unknown): unknown {
    return typeof value === 'string' ? runtime.secrets.scrubValue(value) : value;
  }

  /** The result of a successful task, with its counts. */
  function doneText(task: Task): string {
    const text = runtime.secrets.scrub(describe(task) ?? '');
    const shown = text.length <= OUTCOME_CHARS_MAX ? text : `${text.slice(0, OUTCOME_CHARS_MAX)}…`;
    return shown === '' ? 'Done.' : `Done. ${shown}`;
  }

  return {
    /**
     * Starts an operation and writes the action to the audit log. The operation continues when the page is closed, and stops
     * with the daemon.
     */
    async start<Request, Result>(
      operation: Operation<Request, Result>,
      request: Request,
      { who, via, title }: { who: string; via: 'web' | 'api'; title: string },
    ): Promise<Task> {
      if (closed) throw CLOSED;
      if (running().length >= RUNNING_MAX) {
        throw fault('daemon.busy', `${RUNNING_MAX} tasks run already.`, {
          suggestion: 'Wait until one of the tasks has ended, or stop one.',
        });
      }
      const parsed = operation.request.safeParse(request);
      if (!parsed.success) throw fault('usage', `The request cannot be read: ${parsed.error.message}`);
      const scrub = (text: string) => runtime.secrets.scrub(text);
      const detail = { title, ...detailOf(operation.detail?.(parsed.data) ?? request, runtime.secrets) };
      const actionId = takeAction() ?? (await people.beginAction({ who, via, action: operation.name, detail }));
      const id = randomBytes(16).toString('hex');
      const startedAt = clock.now();
      const task: Task = {
        id,
        name: operation.name,
        title,
        who,
        startedAt,
        endedAt: null,
        progress: null,
        outcome: null,
      };
      const abort = new AbortController();
      const one: Kept = { task, abort, ended: Promise.resolve(), resultChars: 0 };
      kept.set(id, one);
      try {
        await people.keepTask(storedForm(task));
        abort.signal.throwIfAborted();
      } catch (error) {
        kept.delete(id);
        await endEntry(task, actionId, `Failed: ${failure(error, operation.name, abort.signal).message}`);
        throw error;
      }
      log.info({ command: operation.name, task: id, who }, `${operation.name} is started by ${who}.`);

      const work = async () => {
        const watching = watchWork({ runtime, clock }, (progress) => {
          task.progress = progress;
          onChange();
        });
        try {
          abort.signal.throwIfAborted();
          await askRefused();
          const context = operationContext({ runtime, clock, abort: abort.signal, who, goesOn: true, daemon });
          const result = await operation.run(parsed.data, context);
          return { ok: true as const, result };
        } catch (error) {
          const { code, message, suggestion } = failure(error, operation.name, abort.signal);
          return {
            ok: false as const,
            code,
            message: scrub(message),
            suggestion: suggestion === null ? null : scrub(suggestion),
          };
        } finally {
          await watching.stop();
        }
      };
      one.ended = work().then((outcome) => end(one, actionId, outcome));
      onChange();
      return task;
    },
    get: (id: string): Task | null => kept.get(id)?.task ?? null,
    /** The last tasks, the newest first, at most 200. */
    list: (): Task[] => [...kept.values()].map(({ task }) => task).reverse(),
    /** Interrupts a task that runs; returns false if there is no such task or it has ended. */
    stop(id: string): boolean {
      const one = kept.get(id);
      if (one === undefined || one.task.endedAt !== null) return false;
      one.abort.abort(STOPPED);
      return true;
    },
    async close() {
      closed = true;
      for (const { abort } of running()) abort.abort(CLOSED);
      await Promise.all([...kept.values()].map(({ ended }) => ended));
    },
  };
}

/** A task of a former daemon, which has ended. A result of another version may have another form, so it is left out. */
function restored({ outcome, version: madeBy, ...task }: StoredTask, version: string): Kept {
  const found = parseJsonOrNull<Task['outcome']>(outcome);
  const ended = found?.ok === true && madeBy !== version ? { ...found, result: null } : found;
  const shown = { ...task, progress: null, outcome: ended };
  return {
    task: shown,
    abort: new AbortController(),
    ended: Promise.resolve(),
    resultChars: ended?.ok === true ? (outcome ?? '').length : 0,
  };
}
