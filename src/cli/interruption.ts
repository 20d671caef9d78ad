/** Being told to stop, by Ctrl-C or by a service manager. */
export interface Interruption {
  signal: AbortSignal;
  /** Gives the signals their usual meaning back. */
  dispose(): void;
}

/** npm passes a Ctrl-C on that the terminal has delivered already: the second of such a pair is the same key press. */
const SAME_PRESS_MS = 500;

/**
 * Turns the first SIGINT or SIGTERM into an abort, so that what is under way can be finished. A second one ends the
 * process at once: nothing is lost by that, since what is sent is in the ledger before the first byte goes out.
 */
export function interruptible(onFirst: () => void, onSecond: () => void): Interruption {
  const controller = new AbortController();
  let firstAt = 0;
  const handle = (): void => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      onFirst();
      controller.abort();
    } else if (performance.now() - firstAt > SAME_PRESS_MS) {
      onSecond();
    }
  };
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return {
    signal: controller.signal,
    dispose() {
      process.off('SIGINT', handle);
      process.off('SIGTERM', handle);
    },
  };
}

/** Resolves when the signal aborts. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
