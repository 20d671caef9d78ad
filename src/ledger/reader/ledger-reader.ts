// Asks the reading thread. A slow answer then takes no time of the thread that syncs.
//
// A question is in one of three states: it waits, the thread has it, or it is settled. The thread has at most
// `WITH_THREAD_MAX` questions. When the thread ends, these questions fail, and they are few. The next question starts
// another thread.

import { Worker } from 'node:worker_threads';
import type { WireForms } from '../../domain/delivery/wire-form.ts';
import { fault } from '../../domain/faults.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Questions, Reads } from '../../domain/ports/ledger/reads.ts';
import type { Clock } from '../../lib/clock.ts';
import { withoutAbsent } from '../../lib/collections.ts';
import { Fault, messageOf } from '../../lib/errors.ts';
import { readsBy } from '../reads.ts';

/** The questions of one page, which the thread answers together. */
const WITH_THREAD_MAX = 16;
/** More questions than people can ask: a longer queue means that a program asks without end. */
const WAITING_MAX = 5000;
const ANSWER_WITHIN_MS = 60_000;
/**
 * If the thread does not end within this time after it was asked to, it is terminated. On a busy machine a thread needs
 * several seconds to load SQLite, and must not be terminated meanwhile.
 */
const END_WITHIN_MS = 15_000;
/** An answer has at most some hundred rows. A thread that needs more memory ends, and the process continues. */
const HEAP_MB_MAX = 512;

export interface LedgerReader {
  reads: Reads;
  /** Fails the questions that are not answered yet, and waits until the thread has closed the ledger. */
  close(): Promise<void>;
}

export interface LedgerReaderOptions extends Omit<ReaderData, 'warms'> {
  passportRules: () => PassportRules;
  /** Says how old an answer is that the thread has kept. */
  clock: Pick<Clock, 'ticks'>;
  /** False if nobody asks the thread for lists. */
  warms?: boolean;
  /** For tests. */
  answerWithinMs?: number;
  /** For tests: another thread than `reader-thread`. */
  thread?: URL;
}

interface Asking extends Omit<Question, 'passportRules' | 'ticks'> {
  settle(answer: Answer): void;
  fail(reason: Error): void;
}

/** Starts the thread at the first question. */
export function createLedgerReader(options: LedgerReaderOptions): LedgerReader {
  const {
    answerWithinMs = ANSWER_WITHIN_MS,
    thread = threadFile(),
    passportRules,
    clock,
    warms = true,
    ...rest
  } = options;
  const data: ReaderData = { ...rest, warms };
  /** In the order in which they were asked. */
  const waiting = new Map<number, Asking>();
  const withThread = new Map<number, Asking>();
  let worker: Worker | null = null;
  let lastId = 0;
  /** Why the thread has to end. */
  let ending: Fault | null = null;
  let closed = false;
  let isSending = false;

  function start(): Worker {
    const started = new Worker(thread, {
      workerData: data,
      // The thread needs no secret that the environment may have.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    let error: unknown = null;
    started.on('message', (answer: Answer) => withThread.get(answer.id)?.settle(answer));
    started.on('error', (thrown) => {
      error = thrown;
    });
    started.on('exit', () => {
      worker = null;
      const reason = ending ?? endedFault(error);
      ending = null;
      for (const asking of withThread.values()) asking.fail(reason);
      send();
    });
    return started;
  }

  /** Sends the questions that are asked now together, and not one by one. */
  function sendSoon(): void {
    if (isSending) return;
    isSending = true;
    queueMicrotask(() => {
      isSending = false;
      send();
    });
  }

  function send(): void {
    const asked: Question[] = [];
    while (ending === null && withThread.size < WITH_THREAD_MAX) {
      const [next] = waiting.values();
      if (next === undefined) break;
      const { id, question, args } = next;
      waiting.delete(id);
      withThread.set(id, next);
      asked.push({ id, question, args, passportRules: passportRules(), ticks: clock.ticks() });
    }
    if (asked.length > 0) {
      worker ??= start();
      worker.postMessage(asked);
    }
    // A thread without a question must not prevent the end of the process.
    if (withThread.size > 0) worker?.ref();
    else worker?.unref();
  }

  function ask(question: keyof Questions, args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(closedFault());
    if (waiting.size >= WAITING_MAX) return Promise.reject(busyFault());
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => giveUp(id), answerWithinMs);
      const leave = () => {
        clearTimeout(timer);
        withThread.delete(id);
        waiting.delete(id);
      };
      waiting.set(id, {
        id,
        question,
        args,
        settle(answer) {
          leave();
          if (answer.ok) resolve(answer.value);
          else reject(fromSent(answer.error));
          sendSoon();
        },
        fail(reason) {
          leave();
          reject(reason);
        },
      });
      sendSoon();
    });
  }

  /**
   * Gives up a question without an answer. A question that the thread has not received yet only fails itself. Otherwise
   * the thread is ended, and the next questions get another thread.
   */
  function giveUp(id: number): void {
    const late = lateFault(answerWithinMs);
    if (withThread.has(id)) end(late);
    else waiting.get(id)?.fail(late);
  }

  function end(reason: Fault): void {
    for (const asking of withThread.values()) asking.fail(reason);
    ending = reason;
    void worker?.terminate();
  }

  return {
    reads: readsBy(ask),
    async close() {
      closed = true;
      const reason = closedFault();
      for (const asking of waiting.values()) asking.fail(reason);
      for (const asking of withThread.values()) asking.fail(reason);
      if (worker !== null) await endOf(worker);
    },
  };
}

/**
 * Asks a thread to end, and waits until it has ended. Terminating a thread while it loads SQLite ends the whole
 * process, so only a thread that does not answer is terminated.
 */
async function endOf(worker: Worker): Promise<void> {
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.ref();
  worker.postMessage({ end: true } satisfies EndRequest);
  const timer = setTimeout(() => void worker.terminate(), END_WITHIN_MS);
  await ended;
  clearTimeout(timer);
}

/** The thread's file: a source in a checkout, and a file of the build in an installed package. */
function threadFile(): URL {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`reader-thread.${suffix}`, import.meta.url);
}

function endedFault(error: unknown): Fault {
  const cause = error === null ? '' : ` (${messageOf(error)})`;
  return fault('ledger.reader_lost', `The thread that reads the ledger has ended before it answered${cause}.`, {
    path: 'ledger',
    suggestion: 'Try again: the next request starts another thread. Nothing was written or lost.',
  });
}

function lateFault(withinMs: number): Fault {
  return fault('ledger.reader_lost', `The ledger was not read within ${withinMs / 1000} s.`, {
    path: 'ledger',
    suggestion: 'Try again, with a narrower filter. If this error comes again, check the disk.',
  });
}

function busyFault(): Fault {
  return fault('daemon.busy', `${WAITING_MAX} requests wait for the ledger already.`, {
    suggestion: 'Wait a moment, and try again.',
  });
}

function closedFault(): Fault {
  return fault('daemon.stopped', 'The process is stopping, and no longer reads the ledger.');
}

// The messages between the main thread and the reading thread.

/** The data with which the reading thread is started. */
export interface ReaderData {
  file: string;
  /** The id of the ledger that the main thread has open. */
  ledgerId: string;
  /** The forms in which the profile sends items. A reload does not change them. */
  forms: WireForms;
  /**
   * Whether the thread reads what lists need in memory. Otherwise the thread reads it at the first question for a list.
   */
  warms: boolean;
}

export interface Question {
  id: number;
  question: keyof Questions;
  args: unknown[];
  /** The rules at the time of the question, because a reload of the config may change them. */
  passportRules: PassportRules;
  /** When it was sent, by the clock that is never set back. */
  ticks: number;
}

/** Asks the thread to close the ledger and to end, after the questions before it. */
export interface EndRequest {
  end: true;
}

/**
 * An error in a form that can be sent to another thread. A fault keeps its code, and any other error keeps its stack.
 */
type SentError =
  | { type: 'fault'; code: string; exitCode: number; message: string; path?: string; suggestion?: string }
  | { type: 'defect'; message: string; stack: string };

export type Answer = { id: number } & ({ ok: true; value: unknown } | { ok: false; error: SentError });

export function toSent(error: unknown): SentError {
  if (!(error instanceof Fault)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { type: 'defect', message: messageOf(error), stack };
  }
  const { code, exitCode, message, path, suggestion } = error;
  return { type: 'fault', ...withoutAbsent({ code, exitCode, message, path, suggestion }) };
}

function fromSent(error: SentError): Error {
  if (error.type === 'fault') {
    const { code, exitCode, message, ...details } = error;
    return new Fault(code, exitCode, message, details);
  }
  const defect = new Error(error.message);
  defect.stack = error.stack;
  return defect;
}
