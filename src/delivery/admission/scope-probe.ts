import { SCOPES, type Scope, scopeOfWrite } from '../../domain/delivery/scope.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Received, ReceivedQueue } from '../received-queue.ts';
import type { Authorization } from './authorization.ts';

/**
 * Sends one request of a scope alone before others follow, to learn whether the API grants the scope. A key without the
 * scope then costs one refusal, and not one for each request in flight.
 */
export interface ScopeProbe {
  /** Chooses the next probe of each scope that no answer has shown to be granted. Reads the ledger for this. */
  prepare(queue: ReceivedQueue, now: number): Promise<void>;
  /**
   * Milliseconds until the scope of this delivery lets it be sent; 0 means at once. Infinite while the delivery has to
   * wait for the end of the present probe.
   */
  waitMs(one: Received, now: number): number;
  /** Call it when a request of this scope was claimed. Returns a function that ends the probe. */
  begin(scope: Scope, now: number): () => void;
}

/** After this time a probe does not hold up other requests any more, because it may be at fault itself. */
const ANSWER_WITHIN_MS = 1000;
/** For this long a refused delivery waits for another delivery that could be the probe. */
const STEP_BACK_MS = 1000;

export function createScopeProbe(options: {
  authorization: Pick<Authorization, 'isTried' | 'allows'>;
  ledger: Pick<DeliveryLedger, 'denialsOf'>;
}): ScopeProbe {
  const { authorization, ledger } = options;
  /** The present probe of each scope, and when it began. */
  const probing = new Map<Scope, { begunAt: number }>();
  /** The next probe of each scope, and from when on it may be sent. */
  let chosen = new Map<Scope, { id: number; from: number }>();
  /** For each scope: since when the API has refused the scope to all waiting deliveries. */
  const steppingBack = new Map<Scope, number>();

  const isUntried = (scope: Scope): boolean => !authorization.isTried(scope) && authorization.allows(scope);

  /** When the scope was last refused to this delivery; null if never, or if the ledger cannot be read. */
  async function deniedAt(id: number): Promise<number | null> {
    try {
      return (await ledger.denialsOf(id)).at;
    } catch {
      return null;
    }
  }

  /**
   * Chooses the next probe. A delivery that was never refused the scope is best, because a refused one may be at fault
   * itself. If all were refused, the one that was refused longest ago is chosen.
   */
  async function choose(scope: Scope, waiting: readonly Received[], now: number): Promise<void> {
    for (const one of waiting) {
      if (one.deniedAt === undefined) one.deniedAt = await deniedAt(one.id);
      if (one.deniedAt !== null) continue;
      steppingBack.delete(scope);
      chosen.set(scope, { id: one.id, from: now });
      return;
    }
    const since = steppingBack.get(scope) ?? now;
    steppingBack.set(scope, since);
    const first = waiting.toSorted((a, b) => (a.deniedAt ?? 0) - (b.deniedAt ?? 0))[0];
    if (first !== undefined) chosen.set(scope, { id: first.id, from: since + STEP_BACK_MS });
  }

  return {
    async prepare(queue, now) {
      if (chosen.size > 0) chosen = new Map();
      if (!SCOPES.some((scope) => isUntried(scope) && queue.has(scope))) {
        steppingBack.clear();
        return;
      }
      const byScope = new Map<Scope, Received[]>();
      const waitingFor = (scope: Scope): Received[] => {
        const waiting = byScope.get(scope) ?? [];
        byScope.set(scope, waiting);
        return waiting;
      };
      for (const one of queue.inOrder()) {
        const scope = scopeOfWrite(one.operation);
        if (!isUntried(scope)) steppingBack.delete(scope);
        else if (!probing.has(scope)) waitingFor(scope).push(one);
      }
      for (const [scope, waiting] of byScope) await choose(scope, waiting, now);
    },
    waitMs(one, now) {
      const scope = scopeOfWrite(one.operation);
      if (!isUntried(scope)) return 0;
      const probe = probing.get(scope);
      if (probe !== undefined) return Math.max(0, probe.begunAt + ANSWER_WITHIN_MS - now);
      const next = chosen.get(scope);
      return next?.id === one.id ? Math.max(0, next.from - now) : Number.POSITIVE_INFINITY;
    },
    begin(scope, now) {
      if (!isUntried(scope) || probing.has(scope)) return () => undefined;
      const probe = { begunAt: now };
      probing.set(scope, probe);
      chosen.delete(scope);
      return () => {
        if (probing.get(scope) === probe) probing.delete(scope);
      };
    },
  };
}
