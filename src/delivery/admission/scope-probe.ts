import type { Ledger } from '../../domain/ports/ledger.ts';
import { SCOPES, type Scope, scopeOfWrite } from '../../domain/scope.ts';
import type { Received, ReceivedQueue } from '../received-queue.ts';
import type { Authorization } from './authorization.ts';

/**
 * One request of a scope finds out whether the API takes it before others follow: a key that lacks a scope costs one refusal,
 * not one for each request that could be under way at once.
 */
export interface ScopeProbe {
  /** Reads what has to be known about the waiting deliveries of scopes that no answer has shown to be taken. */
  prepare(queue: ReceivedQueue, now: number): Promise<void>;
  /** Milliseconds until this delivery may be sent as far as its scope goes; 0 for now, infinite until a probe has ended. */
  waitMs(one: Received, now: number): number;
  /** A request of this scope is claimed. Gives what ends it: then the scope was answered for, or another probe is sent. */
  begin(scope: Scope, now: number): () => void;
}

/** A probe that takes longer keeps nobody waiting: its request may be at fault by itself. */
const ANSWER_WITHIN_MS = 1000;
/** How long a delivery that was refused gives others the chance to be the probe. */
const STEP_BACK_MS = 1000;

export function createScopeProbe(options: {
  authorization: Pick<Authorization, 'isTried' | 'allows'>;
  ledger: Pick<Ledger, 'denialsOf'>;
}): ScopeProbe {
  const { authorization, ledger } = options;
  /** The probe that is under way, by scope, and since when. */
  const probing = new Map<Scope, { begunAt: number }>();
  /** Which delivery is the next probe of a scope, and from when on it may be sent. */
  let chosen = new Map<Scope, { id: number; from: number }>();
  /** Since when each scope has had nobody but deliveries that it was refused to. */
  const steppingBack = new Map<Scope, number>();

  const isUntried = (scope: Scope): boolean => !authorization.isTried(scope) && authorization.allows(scope);

  /** Where the ledger cannot be read, the delivery counts as one that was not refused. */
  async function deniedAt(id: number): Promise<number | null> {
    try {
      return (await ledger.denialsOf(id)).at;
    } catch {
      return null;
    }
  }

  /**
   * The best probe is a delivery that the scope was not refused to: the others may be at fault themselves. Where all of
   * them were refused, it is the one that was refused longest ago.
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
