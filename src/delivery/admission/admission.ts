// Decides which of the received deliveries may be sent now.
//
// A delivery is admitted when the API does not refuse its operation, the operation is not paused, a slot is free, and neither an
// outage nor the rate stops requests. It is claimed only after that, so a crash leaves no waiting delivery unconfirmed.
// Urgent deliveries are sent before the others. While the API is failing, deliveries that have failed are sent last,
// because they may be at fault themselves.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { type DeliveryWindow, isImportable, LOOKED_UP_AT_ONCE, type Received, type Wakes } from '../delivery-window.ts';
import type { BulkImports } from '../imports/bulk-imports.ts';
import type { ApiHealth } from './api-health.ts';
import type { AdmittedRequest, LoneWrites, ScopeProbe } from './sent-alone.ts';

/** Deliveries that may be sent as one request: several for a bulk import, one for any other write. It holds a slot. */
export interface Admitted extends AdmittedRequest {
  deliveries: [Received, ...Received[]];
  /** True for a bulk import. */
  asImport: boolean;
  /** True if an earlier answer has shown that the API grants the operation. */
  wasTried: boolean;
}

interface AdmissionOptions {
  window: DeliveryWindow;
  /** How many requests the connections can carry at once, whatever the rate allows. */
  connections: number;
  health: ApiHealth;
  probe: ScopeProbe;
  alone: LoneWrites;
  ledger: Pick<DeliveryLedger, 'dueAmong'>;
  /** Operations that must not be sent now. */
  paused: () => readonly Operation[];
  /** Decides whether products are sent in imports, and how large the imports are. */
  bulk: Pick<BulkImports, 'prepare' | 'sizeMax' | 'fewest' | 'begin'>;
  wakes: Wakes;
  clock: Pick<Clock, 'ticks'>;
}

/**
 * If no wait is known, admission checks again after this time: a request that hangs frees its slot without an event.
 */
const POLL_MS = 1000;
/** A delivery that has waited for this long is looked up in the ledger again: a newer revision may have replaced it. */
const LOOK_AGAIN_MS = 250;

export function createAdmission(options: AdmissionOptions) {
  const { window, health, probe, alone, ledger, paused, bulk, clock } = options;
  const queue = window.received;
  const { admission: wake } = options.wakes;
  const slots = createSlots(options.connections);
  const members = createImportMembers({ window, bulk });

  /**
   * Removes a delivery from the queue without sending it. It may have been the next probe of its scope, so admission
   * runs again at once and chooses another probe.
   */
  function drop(one: Received): void {
    window.end([one.id]);
    wake.wake();
  }

  const isAllowed = ({ operation }: Received): boolean => health.allows(operation) && !paused().includes(operation);

  /** The next delivery to send, or the milliseconds until there may be one. */
  function pick(now: number): Received | number {
    const stepBack = !health.isWell();
    let last: Received | null = null;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const one of queue.inOrder()) {
      if (!isAllowed(one)) {
        drop(one);
        continue;
      }
      if (alone.waits(one.operation)) continue;
      const ownMs = Math.max(probe.waitMs(one, now), members.waitMs(one, now));
      if (ownMs > 0) waitMs = Math.min(waitMs, ownMs);
      else if (stepBack && health.failedLately(one.id)) last ??= one;
      else return one;
    }
    return last ?? waitMs;
  }

  const isStale = (one: Received, now: number): boolean => now - one.lookedAt >= LOOK_AGAIN_MS;

  /** Looks up a delivery in the ledger, together with the next ones of the queue. Drops those that are not due any more. */
  async function lookUp(one: Received, now: number): Promise<void> {
    const stale = new Set([one]);
    let passed = 0;
    for (const next of queue.inOrder()) {
      if (isStale(next, now)) stale.add(next);
      passed += 1;
      if (passed === LOOKED_UP_AT_ONCE) break;
    }
    // If the ledger cannot be read, the claim will report it.
    const due = await ledger.dueAmong([...stale].map(({ id }) => id)).catch(() => null);
    for (const looked of stale) {
      looked.lookedAt = clock.ticks();
      if (due?.has(looked.id) === false) drop(looked);
    }
  }

  /** Admits a delivery and the other members of its import. */
  function take(one: Received): Admitted {
    const { operation } = one;
    window.admit(one);
    const others = members.takeWith(one);
    const admitted: Admitted = {
      deliveries: [one, ...(others ?? [])],
      operation,
      asImport: others !== null,
      begunAt: clock.ticks(),
      wasTried: health.isTried(others === null ? operation : 'product.import'),
    };
    alone.begin(admitted);
    probe.begin(admitted);
    slots.take(admitted);
    return admitted;
  }

  /** Admits one delivery as a probe, if the API first answers a question that writes nothing. */
  async function admitProbe(one: Received, abort: AbortSignal): Promise<Admitted[]> {
    if (!(await health.mayProbe(abort))) return [];
    if (!abort.aborted && isAllowed(one)) return [take(one)];
    health.unused(0);
    return [];
  }

  /** Admits what may be sent now. Otherwise returns how long to wait. */
  async function admitNow(abort: AbortSignal): Promise<{ admitted: Admitted[]; waitMs: number }> {
    const admitted: Admitted[] = [];
    for (;;) {
      const now = clock.ticks();
      // The next delivery is picked again after each look at the ledger, because pauses and the queue may have changed.
      const one = pick(now);
      if (typeof one === 'number') return { admitted, waitMs: one };
      if (slots.isFull(health.concurrency(), now)) return { admitted, waitMs: POLL_MS };
      if (isStale(one, now)) {
        await lookUp(one, now);
        continue;
      }
      const asksFirst = health.asksFirst() || alone.asksFirst(one.operation);
      if (asksFirst && admitted.length > 0) return { admitted, waitMs: 0 };
      const waitMs = health.admit();
      if (waitMs > 0) return { admitted, waitMs };
      if (asksFirst) return { admitted: await admitProbe(one, abort), waitMs: 0 };
      admitted.push(take(one));
    }
  }

  return {
    /**
     * Waits until requests may be sent, and admits their deliveries. The result is empty only after an abort.
     */
    async next(abort: AbortSignal): Promise<Admitted[]> {
      while (!abort.aborted) {
        wake.look();
        await probe.prepare(queue, clock.ticks());
        await bulk.prepare({
          creates: queue.waiting('product.create').count,
          changes: queue.waiting('product.import').count,
        });
        const { admitted, waitMs } = await admitNow(abort);
        if (admitted.length > 0) return admitted;
        if (waitMs === 0 || abort.aborted) continue;
        // Timers count whole milliseconds, so a fraction of one is rounded up.
        const restMs = Number.isFinite(waitMs) ? Math.ceil(waitMs) : POLL_MS;
        await wake.rest(window.count('received') > 0 ? restMs : null);
      }
      return [];
    },
    /** Call it when the request has ended, or is not sent. */
    end(admitted: Admitted): void {
      probe.end(admitted);
      alone.end(admitted);
    },
    /** Frees the slot of a request. The next request may begin when `wakes.admission` is woken. */
    freeSlot(admitted: Admitted): void {
      slots.free(admitted);
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;

/** A bulk import that is not full waits for more members for this long. */
const LINGER_MS = 2;
/** A split import waits this long for more members, because they come back one by one. */
const SPLIT_LINGER_MS = 100;

/** Gathers the members of bulk imports from the received deliveries. */
function createImportMembers({ window, bulk }: Pick<AdmissionOptions, 'window' | 'bulk'>) {
  const { waiting } = window.received;

  /** How many deliveries one request with this operation may have; null if it is not sent as an import. */
  function countMax(operation: Operation): number | null {
    const max = isImportable(operation) ? bulk.sizeMax(operation) : 0;
    return max === 0 ? null : max;
  }

  return {
    /** How many more milliseconds the import of this delivery has to wait for members; 0 for any other request. */
    waitMs({ operation }: Received, now: number): number {
      const max = countMax(operation);
      if (max === null || !isImportable(operation)) return 0;
      const { count, since } = waiting(operation);
      const lingerMs = operation === 'product.create' && bulk.fewest() > 1 ? SPLIT_LINGER_MS : LINGER_MS;
      return count >= max ? 0 : Math.max(0, since + lingerMs - now);
    },
    /** Admits the other members of the delivery's import; null if the delivery is sent alone. */
    takeWith(one: Received): Received[] | null {
      const { operation } = one;
      const max = countMax(operation);
      if (max === null || !isImportable(operation)) return null;
      const isTooSmall = max > 1 && waiting(operation).count + 1 < bulk.fewest();
      if (operation === 'product.create' && isTooSmall) return null;
      const others = window.admitFirst(operation, max - 1);
      bulk.begin([one, ...others]);
      return others;
    },
  };
}

/** A request that takes longer than this counts as hanging. */
const HANGS_MS = 1000;

/**
 * Bounds the number of requests in flight. Pure: times are `ticks` of a clock.
 *
 * @param countMax how many requests the connections can carry at once, whatever the rate allows
 */
function createSlots(countMax: number) {
  /** The requests that have a slot, oldest first. */
  const taken = new Set<AdmittedRequest>();

  /** The number of hanging requests. They count for `countMax`, but not for the few slots that a low rate allows. */
  function hanging(now: number): number {
    let count = 0;
    for (const { begunAt } of taken) {
      if (now - begunAt < HANGS_MS) break;
      count += 1;
    }
    return count;
  }

  return {
    take: (request: AdmittedRequest) => void taken.add(request),
    free: (request: AdmittedRequest) => void taken.delete(request),
    /** @param allowed how many requests may be in flight at the present rate */
    isFull: (allowed: number, now: number) =>
      taken.size >= countMax || (taken.size >= allowed && taken.size - hanging(now) >= allowed),
  };
}
