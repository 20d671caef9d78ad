/** The recent rate of accepted requests. Pure: times are ticks of a clock. */
export interface Goodput {
  accepted(now: number): void;
  /** Drops all counts. After a pause without requests, older counts do not describe the present. */
  forget(now: number): void;
  /** Accepted requests per second over the last `ms` milliseconds, or since the counts begin if that is shorter. */
  over(ms: number, now: number): number;
}

const SLOT_MS = 1000;
const SLOTS = 128;

export function createGoodput(): Goodput {
  const counts = new Uint32Array(SLOTS);
  let slot = 0;
  let since = 0;

  const at = (index: number): number => ((index % SLOTS) + SLOTS) % SLOTS;

  function advance(now: number): void {
    const present = Math.floor(now / SLOT_MS);
    if (present - slot >= SLOTS) slot = present - SLOTS;
    while (slot < present) {
      slot += 1;
      counts[at(slot)] = 0;
    }
  }

  return {
    accepted(now) {
      advance(now);
      const index = at(slot);
      counts[index] = (counts[index] ?? 0) + 1;
    },
    forget(now) {
      counts.fill(0);
      slot = Math.floor(now / SLOT_MS);
      since = now;
    },
    over(ms, now) {
      advance(now);
      const periodMs = Math.max(1, Math.min(ms, (SLOTS - 2) * SLOT_MS, now - since));
      let sum = 0;
      for (let back = 0; back < Math.ceil(periodMs / SLOT_MS); back += 1) sum += counts[at(slot - back)] ?? 0;
      return (1000 * sum) / periodMs;
    },
  };
}
