import type { Scope } from '../../domain/scope.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TargetGate } from './target-gate.ts';

/**
 * Lets one request of a scope find out whether the API takes it before others follow: a key that lacks a scope costs one
 * refusal, not one for each request that could be under way at once.
 */
export interface Canary {
  /**
   * Runs `work` once the scope was tried, or as the one that tries it. `work` calls `out` when its request goes out.
   * Whether the scope was refused or the work was stopped meanwhile is for `work` to look at.
   */
  run<T>(scope: Scope, work: (out: () => void) => Promise<T>, options: TrialOptions): Promise<T>;
}

export interface TrialOptions {
  /** Ends the wait for others that may try the scope. */
  abort: AbortSignal;
  /**
   * When the API last refused the scope to this delivery: it may be at fault by itself, so one that was not refused tries
   * the scope before it does, and of those that were the one whose turn is longest ago; null for none.
   */
  deniedAt: number | null;
}

/** A request that takes longer keeps nobody waiting: it may be at fault by itself. */
const ANSWER_WITHIN_MS = 1000;

/** How long one that was refused gives others the chance to try the scope, and how often it looks whether they have. */
const STEP_BACK_MS = 1000;
const STEP_BACK_MAX_MS = 10_000;
const LOOK_MS = 50;

export function createCanary({ gate, clock }: { gate: TargetGate; clock: Clock }): Canary {
  /** The one that tries each scope; resolves to true when it takes too long. */
  const leading = new Map<Scope, Promise<boolean>>();

  async function lead<T>(scope: Scope, work: (out: () => void) => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = new AbortController();
    leading.set(scope, promise);
    try {
      return await work(() => void clock.sleep(ANSWER_WITHIN_MS, timer.signal).then(() => resolve(true)));
    } finally {
      leading.delete(scope);
      resolve(false);
      timer.abort();
    }
  }

  const isUntried = (scope: Scope): boolean => !gate.isTried(scope) && gate.allows(scope);

  /** Those that were refused and step back, by scope: when each was refused. */
  const back = new Map<Scope, Set<{ deniedAt: number }>>();

  async function stepBack(scope: Scope, deniedAt: number, abort: AbortSignal): Promise<void> {
    const own = { deniedAt };
    const others = back.get(scope) ?? new Set();
    back.set(scope, others.add(own));
    const begunAt = clock.ticks();
    const isFirst = (): boolean => [...others].every((one) => one === own || one.deniedAt >= deniedAt);
    try {
      while (isUntried(scope) && !abort.aborted) {
        const waitedMs = clock.ticks() - begunAt;
        const isItsTurn = waitedMs >= STEP_BACK_MS && !leading.has(scope) && isFirst();
        if (isItsTurn || waitedMs >= STEP_BACK_MAX_MS) break;
        await clock.sleep(LOOK_MS, abort);
      }
    } finally {
      others.delete(own);
    }
  }

  async function inTurn<T>(
    scope: Scope,
    work: (out: () => void) => Promise<T>,
    { abort, deniedAt }: TrialOptions,
  ): Promise<T> {
    if (deniedAt !== null) await stepBack(scope, deniedAt, abort);
    let late = false;
    let leader = leading.get(scope);
    while (leader !== undefined && isUntried(scope) && !late) {
      late = await leader;
      leader = leading.get(scope);
    }
    return late || !isUntried(scope) ? work(() => undefined) : lead(scope, work);
  }

  return {
    run: (scope, work, options) => (isUntried(scope) ? inTurn(scope, work, options) : work(() => undefined)),
  };
}
