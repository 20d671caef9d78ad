/** A connection that is opened when it is needed. */
export interface KeptConnection<T> {
  /** Runs something on the connection. One that was not used for long, or on which something failed, is opened again. */
  use<R>(work: (connection: T) => Promise<R>): Promise<R>;
  /** Cuts the connection, or the attempt to open it. */
  cut(): void;
  close(): Promise<void>;
}

/** Servers close a connection on which nothing happens, and reading a file that was downloaded may take long. */
const IDLE_MS = 10_000;

export function createKeptConnection<T>(options: {
  /** @param cutWith is given what cuts the connection, as soon as there is something to cut */
  open(cutWith: (cut: () => void) => void): Promise<T>;
  close(connection: T): Promise<void>;
}): KeptConnection<T> {
  let kept: { connection: T; usedAt: number } | undefined;
  let cut: (() => void) | undefined;

  async function closeKept(): Promise<void> {
    const { connection } = kept ?? {};
    kept = undefined;
    if (connection !== undefined) await options.close(connection);
  }

  return {
    async use(work) {
      if (kept !== undefined && performance.now() - kept.usedAt > IDLE_MS) await closeKept();
      kept ??= { connection: await options.open((by) => (cut = by)), usedAt: 0 };
      const { connection } = kept;
      try {
        const result = await work(connection);
        if (kept !== undefined) kept.usedAt = performance.now();
        return result;
      } catch (error) {
        // Whether the connection is still good after a failure is not known.
        kept = undefined;
        cut?.();
        throw error;
      }
    },
    cut() {
      kept = undefined;
      cut?.();
    },
    close: closeKept,
  };
}
