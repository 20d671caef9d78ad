/** The limits of a transfer. */
export interface TransferLimits {
  idleMs: number;
  totalMs: number;
}

export interface Watch extends TransferLimits {
  signal: AbortSignal;
  /** Ends the transfer at once. The error of the transfer after that is ignored. */
  stop(): void;
  /** The error for a limit that was reached. */
  tooSlow(limit: keyof TransferLimits): Error;
}

/**
 * Waits for a transfer, and stops it when no data comes, when it takes too long, or when it is aborted. Libraries do
 * not notice if the other end of a connection has disappeared: there is neither data nor an error.
 *
 * @param work calls `alive` whenever data has arrived
 */
export async function watched<T>(work: (alive: () => void) => Promise<T>, watch: Watch): Promise<T> {
  const { signal, idleMs, totalMs } = watch;
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = (error: unknown) => {
    stopped.reject(error);
    watch.stop();
  };
  const onAbort = () => stop(signal.reason);
  const idle = setTimeout(() => stop(watch.tooSlow('idleMs')), idleMs);
  const total = setTimeout(() => stop(watch.tooSlow('totalMs')), totalMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(() => idle.refresh()), stopped.promise]);
  } finally {
    clearTimeout(idle);
    clearTimeout(total);
    signal.removeEventListener('abort', onAbort);
  }
}
