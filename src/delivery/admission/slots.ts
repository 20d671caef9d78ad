/** Requests under way, of which there is a bounded number. Pure: times are `ticks` of a clock. */
export interface Slots {
  /** A request begins. Gives what ends it. */
  take(now: number): Slot;
  /** @param allowed how many requests may be under way at the present rate */
  isFull(allowed: number, now: number): boolean;
  count(): number;
}

export interface Slot {
  /** When the request was admitted, by `Clock.ticks`. */
  begunAt: number;
  free(): void;
}

/** What is under way for so long hangs. */
const HANGS_MS = 1000;

/** @param countMax how many requests can be handed to a connection at once, whatever the rate allows */
export function createSlots(countMax: number): Slots {
  /** In the order in which they were taken. */
  const taken = new Set<Slot>();

  /** A request that hangs keeps one of all slots, and none of the few that the rate needs. */
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
