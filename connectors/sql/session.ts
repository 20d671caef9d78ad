import { sourceFault } from '../../src/sdk/index.ts';
import {
  type Column,
  type Connection,
  type Dialect,
  databaseFault,
  type FoundRows,
  nameOf,
  type Statement,
} from './dialect.ts';
import type { Options } from './schema.ts';

/**
 * The server ends a statement that takes too long. If it does not, the connection is given up after this additional
 * time.
 */
const GRACE_MS = 5_000;

interface SessionSetup {
  dialect: Dialect;
  options: Options;
  resolvePath: (path: string) => string;
}

/**
 * The one connection of a source: opened by the first statement, and closed with the source. Statements end with a
 * `sourceFault`, or with the reason of the signal when it stops them.
 */
export function createSession({ dialect, options, resolvePath }: SessionSetup) {
  let connection: Connection | null = null;
  let cancelling: Promise<void> = Promise.resolve();

  /** Answers of a connection that was given up are ignored. */
  function giveUp(): void {
    const left = connection;
    connection = null;
    if (left === null) return;
    cancelling = left
      .cancel()
      .catch(() => {})
      .finally(() => left.destroy());
  }

  async function run<Result>(work: (opened: Connection) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    const open = async (): Promise<Connection> => {
      const opened = await dialect.connect(options, resolvePath);
      // The source may have been stopped while it was connecting.
      if (signal.aborted) opened.destroy();
      else connection = opened;
      return opened;
    };
    const attempt = async (): Promise<Result> => {
      const opened = connection ?? (await open());
      signal.throwIfAborted();
      return await work(opened);
    };
    const limitMs = options.statementMs + (connection === null ? options.connectMs : 0) + GRACE_MS;
    try {
      return await withinTime(attempt(), limitMs, signal);
    } catch (error) {
      if (signal.aborted || error === OVERDUE) giveUp();
      signal.throwIfAborted();
      if (error !== OVERDUE) throw databaseFault(error, dialect, options);
      throw sourceFault(`${nameOf(dialect, options)} has not answered a statement within ${limitMs} ms.`, {
        suggestion: 'Check whether the server can be reached, or raise `statementMs`.',
      });
    }
  }

  return {
    columns: (text: string, signal: AbortSignal): Promise<Column[]> => run((opened) => opened.columns(text), signal),
    rows: (statement: Statement, columns: readonly Column[], signal: AbortSignal): Promise<FoundRows> =>
      run((opened) => opened.rows(statement, columns), signal),
    async close(): Promise<void> {
      await cancelling;
      const left = connection;
      connection = null;
      // If the server is gone, the connection is destroyed instead.
      await left?.end().catch(() => left.destroy());
    },
  };
}

export type Session = ReturnType<typeof createSession>;

const OVERDUE = new Error('The statement took too long.');

/** Waits for a promise, the signal or the end of the time, whichever comes first. */
async function withinTime<Result>(promise: Promise<Result>, limitMs: number, signal: AbortSignal): Promise<Result> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  const timer = setTimeout(() => reject(OVERDUE), limitMs);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    // A later rejection of the promise is ignored.
    promise.catch(() => {});
    stopped.catch(() => {});
  }
}
