/**
 * True under `npm run test:chaos`. `npm run test:slow` runs a small part of the same tests, with the same seed in each
 * run.
 */
export const IS_FULL = process.env['DPP_SYNC_TEST_CHAOS'] === 'full';

/** A number of cases: `slice` in `npm run test:slow`, `full` in `npm run test:chaos`. */
export function scaled(slice: number, full: number): number {
  return IS_FULL ? full : slice;
}

/** The seed of all random choices. A failing test prints it, and `DPP_SYNC_TEST_SEED` sets it. */
export function chaosSeed(): number {
  const given = process.env['DPP_SYNC_TEST_SEED'];
  if (given === undefined) return 20_270_218;
  return given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}

/** Random numbers in [0, 1), always the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
