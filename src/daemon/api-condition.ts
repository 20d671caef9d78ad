import type { Breaker } from '../delivery/admission/breaker.ts';
import type { Pacer } from '../delivery/admission/pacer.ts';
import type { Signal } from '../delivery/admission/signal.ts';
import type { TargetGate } from '../delivery/admission/target-gate.ts';
import type { RateController } from '../delivery/rate/rate-controller.ts';
import type { ApiWait } from '../domain/api-wait.ts';
import type { Clock } from '../lib/clock.ts';

/** The API has asked to wait and has taken nothing since. */
export interface Throttled {
  /** By `Clock.ticks`. */
  since: number;
  /** Milliseconds until it is asked again; next to none while that question is under way. */
  askAgainInMs: number;
  message: string;
  /** Null for a wait of up to a minute. */
  wait: ApiWait | null;
}

/** Writes that have failed since one was taken last. */
export interface FailingWrites {
  failed: number;
  /** When that was, in milliseconds since the Unix epoch; null where this process has seen none. */
  takenAt: number | null;
}

/** Whether the API takes requests, by its last answers. */
export interface ApiCondition {
  /**
   * Since when no request has been answered, or only writes have failed that ought not to, by `Clock.ticks`; null while all
   * is well.
   */
  unreachableSince(): number | null;
  /** Asks the API now whether it answers. False while the breaker is open. */
  answers(abort: AbortSignal): Promise<boolean>;
  /** Where the API may be read and fails at every write: at how many different ones, and since when; else null. */
  failsAtWrites(): FailingWrites | null;
  /** Null where its last answer was another one than to wait. */
  throttled(): Throttled | null;
}

export function createApiCondition(options: {
  gate: Pick<TargetGate, 'unreachableSince' | 'throttled' | 'lastThrottle'>;
  breaker: Pick<Breaker, 'openSince' | 'failsAtWrites' | 'writes'>;
  controller: Pick<RateController, 'closedForMs' | 'wait'>;
  pacer: Pick<Pacer, 'heard'>;
  ping: (abort: AbortSignal) => Promise<Signal>;
  clock: Clock;
}): ApiCondition {
  const { gate, breaker, controller, pacer, ping, clock } = options;
  const atEpoch = (ticks: number): number => Math.round(clock.now() + (ticks - clock.ticks()));
  return {
    unreachableSince: () => gate.unreachableSince() ?? breaker.openSince(),
    failsAtWrites() {
      if (!breaker.failsAtWrites() || gate.unreachableSince() !== null) return null;
      const { failed, takenAt } = breaker.writes();
      return { failed, takenAt: takenAt === null ? null : atEpoch(takenAt) };
    },
    async answers(abort) {
      if (breaker.openSince() !== null) return false;
      const signal = await ping(abort);
      pacer.heard(signal);
      return signal.kind === 'answered' || signal.kind === 'throttled';
    },
    throttled() {
      const now = clock.ticks();
      const long = controller.wait(now);
      // A question that is answered ends no long wait, since writes may be refused all the same.
      const since = long?.since ?? gate.throttled();
      if (since === null) return null;
      const message = gate.lastThrottle() ?? '';
      const askAgainInMs = controller.closedForMs(now);
      if (long === null) return { since, askAgainInMs, message, wait: null };
      const wait: ApiWait = {
        since: atEpoch(long.since),
        until: long.until === null ? null : atEpoch(long.until),
        askAgainAt: atEpoch(long.askAgainAt),
        message,
      };
      return { since, askAgainInMs, message, wait };
    },
  };
}
