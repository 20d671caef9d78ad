// Writes that are sent alone: a probe of a scope that no answer has granted, and writes that nobody can look up while 503s come.

import { OPERATIONS, type Operation, unconfirmedPolicy } from '../../domain/delivery/operation.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Profile } from '../../domain/profile.ts';
import { LOOKED_UP_AT_ONCE, type Received, type ReceivedQueue } from '../delivery-window.ts';
import type { ApiHealth } from './api-health.ts';
import type { Authorization } from './authorization.ts';

/** A request that was admitted and has not ended. */
export interface AdmittedRequest {
  operation: Operation;
  /** When it was admitted, by `Clock.ticks`. */
  begunAt: number;
}

/** After this time a probe does not hold up other requests any more, because it may be at fault itself. */
const ANSWER_WITHIN_MS = 1000;
/** For this long a refused delivery waits for another delivery that could be the probe. */
const STEP_BACK_MS = 1000;

/**
 * Sends one request of an operation alone before others follow, to learn whether the API grants the operation. A key
 * without the scope then costs one refusal an operation, and not one for each request in flight.
 */
export function createScopeProbe(options: {
  authorization: Pick<Authorization, 'isTried' | 'allows'>;
  ledger: Pick<DeliveryLedger, 'denialsOf'>;
}) {
  const { authorization, ledger } = options;
  /** The present probe of each operation. */
  const probing = new Map<Operation, AdmittedRequest>();
  /** The next probe of each operation, and from when on it may be sent. */
  let chosen = new Map<Operation, { id: number; from: number }>();
  /** For each operation: since when the API has refused the scope to all waiting deliveries. */
  const steppingBack = new Map<Operation, number>();

  const isUntried = (operation: Operation): boolean =>
    !authorization.isTried(operation) && authorization.allows(operation);

  /** Notes when the scope was last refused to these deliveries; null if never, or if the ledger cannot be read. */
  async function noteDenials(ones: readonly Received[]): Promise<void> {
    const unknown = ones.filter(({ deniedAt }) => deniedAt === undefined);
    if (unknown.length === 0) return;
    const denials = await ledger.denialsOf(unknown.map(({ id }) => id)).catch(() => null);
    for (const one of unknown) one.deniedAt = denials?.get(one.id)?.at ?? null;
  }

  /**
   * Chooses the next probe. A delivery that was never refused the scope is best, because a refused one may be at fault
   * itself. If all were refused, the one that was refused longest ago is chosen.
   */
  async function choose(operation: Operation, waiting: readonly Received[], now: number): Promise<void> {
    for (let at = 0; at < waiting.length; at += LOOKED_UP_AT_ONCE) {
      const part = waiting.slice(at, at + LOOKED_UP_AT_ONCE);
      await noteDenials(part);
      const one = part.find(({ deniedAt }) => deniedAt === null);
      if (one === undefined) continue;
      steppingBack.delete(operation);
      chosen.set(operation, { id: one.id, from: now });
      return;
    }
    const since = steppingBack.get(operation) ?? now;
    steppingBack.set(operation, since);
    const first = waiting.toSorted((a, b) => (a.deniedAt ?? 0) - (b.deniedAt ?? 0))[0];
    if (first !== undefined) chosen.set(operation, { id: first.id, from: since + STEP_BACK_MS });
  }

  return {
    /** Chooses the next probe of each operation that no answer has shown to be granted. Reads the ledger for this. */
    async prepare(queue: Pick<ReceivedQueue, 'has' | 'inOrder'>, now: number) {
      if (chosen.size > 0) chosen = new Map();
      if (!OPERATIONS.some((operation) => isUntried(operation) && queue.has(operation))) {
        steppingBack.clear();
        return;
      }
      const byOperation = new Map<Operation, Received[]>();
      const waitingFor = (operation: Operation): Received[] => {
        const waiting = byOperation.get(operation) ?? [];
        byOperation.set(operation, waiting);
        return waiting;
      };
      for (const one of queue.inOrder()) {
        const { operation } = one;
        if (!isUntried(operation)) steppingBack.delete(operation);
        else if (!probing.has(operation)) waitingFor(operation).push(one);
      }
      for (const [operation, waiting] of byOperation) await choose(operation, waiting, now);
    },
    /**
     * Milliseconds until the operation of this delivery lets it be sent; 0 means at once. Infinite while the delivery has to
     * wait for the end of the present probe.
     */
    waitMs(one: Received, now: number): number {
      const { operation } = one;
      if (!isUntried(operation)) return 0;
      const probe = probing.get(operation);
      if (probe !== undefined) return Math.max(0, probe.begunAt + ANSWER_WITHIN_MS - now);
      const next = chosen.get(operation);
      return next?.id === one.id ? Math.max(0, next.from - now) : Number.POSITIVE_INFINITY;
    },
    /** Call it when a request was admitted. It is the probe of its operation if the operation needs one. */
    begin(request: AdmittedRequest): void {
      const { operation } = request;
      if (!isUntried(operation) || probing.has(operation)) return;
      probing.set(operation, request);
      chosen.delete(operation);
    },
    /** Call it when the request has ended, or is not sent. */
    end(request: AdmittedRequest): void {
      if (probing.get(request.operation) === request) probing.delete(request.operation);
    },
  };
}

export type ScopeProbe = ReturnType<typeof createScopeProbe>;

/**
 * While 503s come, sends one at a time of the writes that nobody can look up, such as BOM items. A 503 may hide that the
 * write took effect, so each one that meets a limit becomes unconfirmed and needs a person.
 */
export function createLoneWrites({
  health,
  profile,
}: {
  health: Pick<ApiHealth, 'sees503s' | 'isStoppedBy503'>;
  profile: Profile;
}) {
  const inFlight = new Set<AdmittedRequest>();
  const isUnreadable = (operation: Operation): boolean => unconfirmedPolicy(operation, profile) === 'person';
  return {
    /** True if a write with this operation has to wait for the end of another one. */
    waits: (operation: Operation) => inFlight.size > 0 && isUnreadable(operation) && health.sees503s(),
    /**
     * True if the API must first answer a question, because the write would find out whether a limit accepts requests again.
     */
    asksFirst: (operation: Operation) => isUnreadable(operation) && health.isStoppedBy503(),
    /** Call it when a write was admitted. */
    begin(request: AdmittedRequest): void {
      if (isUnreadable(request.operation)) inFlight.add(request);
    },
    /** Call it when the write has ended, or is not sent. */
    end: (request: AdmittedRequest): void => void inFlight.delete(request),
  };
}

export type LoneWrites = ReturnType<typeof createLoneWrites>;
