import type { Scope } from '../domain/scope.ts';
import type { Clock } from '../lib/clock.ts';
import type { TargetGate } from './target-gate.ts';

/**
 * Lets one request of a scope find out whether the API takes it before others follow: a key that lacks a scope costs one
 * refusal, not one for each request that could be under way at once.
 */
export interface Canary {
  /**
   * Runs `work` once the scope was tried, or as the one that tries it. `work` calls `out` when its request goes out.
   * Whether the scope was refused meanwhile is for `work` to look at.
   */
  run<T>(scope: Scope, work: (out: () => void) => Promise<T>): Promise<T>;
}

/** A request that takes longer keeps nobody waiting: it may be at fault by itself. */
const ANSWER_WITHIN_MS = 1000;

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

  return {
    async run(scope, work) {
      let late = false;
      let leader = leading.get(scope);
      while (leader !== undefined && isUntried(scope) && !late) {
        late = await leader;
        leader = leading.get(scope);
      }
      return late || !isUntried(scope) ? work(() => undefined) : lead(scope, work);
    },
  };
}
