import { closeSync, constants, openSync } from 'node:fs';

/** A request to stop: Ctrl-C, a service manager, or a terminal that closes. */
export interface Interruption {
  signal: AbortSignal;
  /** Restores the usual effect of the signals. */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * npm passes on a Ctrl-C that the terminal has already delivered. A second signal within this time is the same key
 * press.
 */
const SAME_PRESS_MS = 500;

export interface InterruptionOptions {
  onFirst: () => void;
  /** The effect of SIGHUP in a process without a terminal. If undefined, SIGHUP stops the process like SIGTERM. */
  onHangup?: (() => void) | undefined;
  /** Ends the process. */
  onSecond: () => void;
  /** How long the work in progress may take to end. */
  drainMs: number;
  /** Called if the work has not ended by then. Ends the process. */
  onLate: () => void;
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort, so that work in flight can be finished. The process ends at once
 * after a second SIGINT or SIGTERM, or when `drainMs` are over. Nothing is lost then, because a delivery is in the ledger before
 * its first byte is sent. A second SIGHUP changes nothing: a terminal that closes sends one, and its shell may send
 * another one later.
 */
export function interruptible({ onFirst, onHangup, onSecond, drainMs, onLate }: InterruptionOptions): Interruption {
  const controller = new AbortController();
  let firstAt = 0;
  let late: NodeJS.Timeout | undefined;
  const handle = (name: NodeJS.Signals): void => {
    if (name === 'SIGHUP' && onHangup !== undefined) {
      onHangup();
      return;
    }
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      late = setTimeout(onLate, drainMs).unref();
      onFirst();
      controller.abort();
    } else if (name !== 'SIGHUP' && performance.now() - firstAt > SAME_PRESS_MS) {
      onSecond();
    }
  };
  for (const name of SIGNALS) process.on(name, handle);
  return {
    signal: controller.signal,
    dispose() {
      clearTimeout(late);
      for (const name of SIGNALS) process.off(name, handle);
    },
  };
}

/**
 * True if the process has a controlling terminal. Only then SIGHUP means that a terminal was closed. Call this at the
 * start, because a closed terminal cannot be opened any more.
 */
export function hasTerminal(): boolean {
  // Windows sends SIGHUP for a console that is closed, and for no other reason.
  if (process.platform === 'win32') return true;
  try {
    closeSync(openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}
