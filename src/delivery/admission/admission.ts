// Which of the received deliveries may be sent now.
//
// A delivery is admitted once its scope and operation may be used, a slot is free, and outage and rate admit a request. It is
// claimed only after that, so that a crash makes nothing unconfirmed that was merely waiting. Urgent deliveries go before
// the others. While the API is failing, deliveries that have not failed go before those that have, since those may be at fault.

import type { Operation } from '../../domain/delivery.ts';
import type { Ledger } from '../../domain/ports/ledger.ts';
import { scopeOfWrite } from '../../domain/scope.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Received, ReceivedQueue } from '../received-queue.ts';
import type { ApiHealth } from './api-health.ts';
import type { ScopeProbe } from './scope-probe.ts';
import type { Slot, Slots } from './slots.ts';

/** Deliveries that may be sent as one request: several for a bulk import, one for any other write. */
export interface Admitted {
  deliveries: [Received, ...Received[]];
  slot: Slot;
  /** Whether an answer has shown that the API takes the scope. */
  wasTried: boolean;
  /** Call it once the request has ended, or is not sent after all. */
  endProbe: () => void;
}

export interface Admission {
  /** Waits until requests may be sent and takes their deliveries out of the queue. Gives none only once it is aborted. */
  next(abort: AbortSignal): Promise<Admitted[]>;
  /** Something has changed: deliveries were received, a slot was freed, or `abort` was. */
  wake(): void;
}

export interface AdmissionOptions {
  queue: ReceivedQueue;
  slots: Slots;
  health: ApiHealth;
  probe: ScopeProbe;
  ledger: Pick<Ledger, 'isDue'>;
  /** Operations that are not sent now. */
  paused: () => readonly Operation[];
  /** How many deliveries one bulk import takes at most. */
  importMax: number;
  /** Deliveries left the queue unsent: they are as due in the ledger as before, or have changed. */
  onDropped: (deliveries: readonly Received[]) => void;
  clock: Clock;
}

/** Given as the reason, so that no error is made for it. */
const WOKEN = 'woken';
/** If no wait is known, admission checks this often, because a request that hangs frees its slot without an event. */
const POLL_MS = 1000;
/** A delivery that has waited for so long is looked up again: a newer revision may have taken its place. */
const LOOK_AGAIN_MS = 250;
/** So long a bulk import that is not full waits for more members. */
const IMPORT_LINGER_MS = 2;

export function createAdmission(options: AdmissionOptions): Admission {
  const { queue, slots, health, probe, ledger, paused, importMax, onDropped, clock } = options;
  let isWoken = false;
  let timer: AbortController | null = null;

  function wake(): void {
    isWoken = true;
    timer?.abort(WOKEN);
  }

  /** Waits to be woken, or for so long. Where nothing waits to be sent there is nothing to look for by itself. */
  async function rest(ms: number): Promise<void> {
    if (isWoken) return;
    timer = new AbortController();
    // Whole milliseconds, as timers have them: a clock need not move for the fraction of one.
    const waitMs = Number.isFinite(ms) ? Math.ceil(ms) : POLL_MS;
    if (queue.count() > 0) await clock.sleep(waitMs, timer.signal);
    else await aborted(timer.signal);
    timer = null;
  }

  /** It may have been the chosen probe of its scope: admission looks again, so that another one is chosen at once. */
  function drop(one: Received): void {
    queue.remove(one);
    onDropped([one]);
    wake();
  }

  const isAllowed = ({ operation }: Received): boolean =>
    health.allows(scopeOfWrite(operation)) && !paused().includes(operation);

  /** Milliseconds that a bulk import waits for more members. */
  function importWaitMs(now: number): number {
    const { count, since } = queue.imports();
    return count >= importMax ? 0 : Math.max(0, since + IMPORT_LINGER_MS - now);
  }

  /** The delivery whose turn it is, or the milliseconds until one may have its turn. */
  function pick(now: number): Received | number {
    const stepBack = !health.isWell();
    let last: Received | null = null;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const one of queue.inOrder()) {
      if (!isAllowed(one)) {
        drop(one);
        continue;
      }
      const ownMs = Math.max(probe.waitMs(one, now), one.operation === 'product.import' ? importWaitMs(now) : 0);
      if (ownMs > 0) waitMs = Math.min(waitMs, ownMs);
      else if (stepBack && health.isSuspect(one.id)) last ??= one;
      else return one;
    }
    return last ?? waitMs;
  }

  const isStale = (one: Received, now: number): boolean => now - one.lookedAt >= LOOK_AGAIN_MS;

  /** Drops a delivery that is not due any more. */
  async function lookUp(one: Received): Promise<void> {
    // Where the ledger cannot be read the claim finds out.
    const isDue = await ledger.isDue(one.id).catch(() => true);
    one.lookedAt = clock.ticks();
    if (!isDue) drop(one);
  }

  /** Takes a delivery out of the queue, and with an import its other members. */
  function take(one: Received): Admitted {
    const now = clock.ticks();
    const scope = scopeOfWrite(one.operation);
    const wasTried = health.isTried(scope);
    queue.remove(one);
    const others = one.operation === 'product.import' ? queue.takeImports(importMax - 1) : [];
    return { deliveries: [one, ...others], slot: slots.take(now), wasTried, endProbe: probe.begin(scope, now) };
  }

  /** A probe was admitted: the API is asked before a delivery is sent. */
  async function admitProbe(one: Received, abort: AbortSignal): Promise<Admitted[]> {
    if (!(await health.mayProbe(abort))) return [];
    if (!abort.aborted && isAllowed(one)) return [take(one)];
    health.unused(0);
    return [];
  }

  /** Admits what may be sent at this moment, and says how long to wait where that is nothing. */
  async function admitNow(abort: AbortSignal): Promise<{ admitted: Admitted[]; waitMs: number }> {
    const admitted: Admitted[] = [];
    for (;;) {
      const now = clock.ticks();
      // Picked anew after each look at the ledger: what is allowed, paused or received may have changed meanwhile.
      const one = pick(now);
      if (typeof one === 'number') return { admitted, waitMs: one };
      if (slots.isFull(health.concurrency(), now)) return { admitted, waitMs: POLL_MS };
      if (isStale(one, now)) {
        await lookUp(one);
        continue;
      }
      const asksFirst = health.asksFirst();
      if (asksFirst && admitted.length > 0) return { admitted, waitMs: 0 };
      const waitMs = health.admit();
      if (waitMs > 0) return { admitted, waitMs };
      if (asksFirst) return { admitted: await admitProbe(one, abort), waitMs: 0 };
      admitted.push(take(one));
    }
  }

  return {
    wake,
    async next(abort) {
      while (!abort.aborted) {
        isWoken = false;
        await probe.prepare(queue, clock.ticks());
        const { admitted, waitMs } = await admitNow(abort);
        if (admitted.length > 0) return admitted;
        if (waitMs > 0 && !abort.aborted) await rest(waitMs);
      }
      return [];
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
