/** Bounds the number of requests in flight. Pure: times are `ticks` of a clock. */
export interface Slots {
  /** Takes a slot for a request that begins. The caller frees the slot when the request has ended. */
  take(now: number): Slot;
  /** @param allowed how many requests may be in flight at the present rate */
  isFull(allowed: number, now: number): boolean;
  count(): number;
}

export interface Slot {
  /** When the request was admitted, by `Clock.ticks`. */
  begunAt: number;
  free(): void;
}

/** A request that takes longer than this counts as hanging. */
const HANGS_MS = 1000;

/** @param countMax how many requests the connections can carry at once, whatever the rate allows */
export function createSlots(countMax: number): Slots {
  /** The taken slots, oldest first. */
  const taken = new Set<Slot>();

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
    take(now) {
      const slot: Slot = { begunAt: now, free: () => void taken.delete(slot) };
      taken.add(slot);
      return slot;
    },
    isFull: (allowed, now) => taken.size >= countMax || (taken.size >= allowed && taken.size - hanging(now) >= allowed),
    count: () => taken.size,
  };
}
