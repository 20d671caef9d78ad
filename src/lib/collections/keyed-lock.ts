/** Locks keys. Each key has one holder at a time, and further callers wait in the order of their calls. */
export function createKeyedLock() {
  /** For each key, a promise that resolves when all present holders and waiting callers have released the key. */
  const tails = new Map<string, Promise<void>>();
  return {
    /** Returns the function that releases the key, or null if the signal aborts first. */
    async acquire(key: string, abort: AbortSignal): Promise<(() => void) | null> {
      const before = tails.get(key);
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const tail = Promise.all([before, released]).then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      tails.set(key, tail);
      if (before !== undefined) await unlessAborted(before, abort);
      if (!abort.aborted) return release;
      release();
      return null;
    },
  };
}

/** Resolves with the promise, or as soon as the signal aborts. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort);
  await Promise.race([promise, aborted]);
  signal.removeEventListener('abort', onAbort);
}
