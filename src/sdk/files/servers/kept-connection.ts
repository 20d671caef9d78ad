/**
 * A connection that was idle for longer is opened again. Servers close idle connections, and reading a downloaded file
 * may take long.
 */
const IDLE_MS = 10_000;

/** One connection, with the function that closes it at once. */
interface Link<T> {
  opened: Promise<T>;
  cut(): void;
  usedAt: number;
}

/** A connection that is opened when it is needed. */
export function createKeptConnection<T>(options: {
  /** @param cutWith called with the function that closes the connection at once, as soon as there is a connection */
  open(cutWith: (cut: () => void) => void): Promise<T>;
  close(connection: T): Promise<void>;
}) {
  let kept: Link<T> | undefined;

  function open(): Link<T> {
    let cut = () => undefined as void;
    const opened = options.open((by) => {
      cut = by;
    });
    return { opened, cut: () => cut(), usedAt: performance.now() };
  }

  function drop(link: Link<T>): void {
    if (kept === link) kept = undefined;
    link.cut();
  }

  async function closeKept(): Promise<void> {
    const link = kept;
    kept = undefined;
    if (link !== undefined) await options.close(await link.opened);
  }

  return {
    /** Does work on the connection. A connection that was idle for long, or on which work has failed, is opened again. */
    async use<R>(work: (connection: T) => Promise<R>): Promise<R> {
      if (kept !== undefined && performance.now() - kept.usedAt > IDLE_MS) await closeKept();
      kept ??= open();
      const link = kept;
      try {
        const result = await work(await link.opened);
        link.usedAt = performance.now();
        return result;
      } catch (error) {
        // It is unknown whether the connection can still be used after a failure.
        drop(link);
        throw error;
      }
    },
    /** Closes the connection at once, or ends the attempt to open it. */
    cut(): void {
      if (kept !== undefined) drop(kept);
    },
    close: closeKept,
  };
}
