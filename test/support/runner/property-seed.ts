import fc from 'fast-check';

/**
 * The property tests of `npm test` use the same cases in each run, so that only a change of the code makes them fail.
 * `DPP_SYNC_TEST_SEED=random npm test` chooses other cases. A failure then prints the number that repeats them.
 */
const FIXED_SEED = 20_270_218;

const given = process.env.DPP_SYNC_TEST_SEED ?? String(FIXED_SEED);
if (given !== 'random') {
  const seed = Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`DPP_SYNC_TEST_SEED is a whole number or "random", not "${given}".`);
  fc.configureGlobal({ seed });
}
