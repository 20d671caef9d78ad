import { onTestFailed } from 'vitest';
import { chaosSeed, seededRandom } from './chaos.ts';

/** Random numbers in [0, 1) from the seed. If the running test fails, the seed is printed. */
export function announcedRandom(): () => number {
  const seed = chaosSeed();
  onTestFailed(() => void process.stderr.write(`DPP_SYNC_TEST_SEED=${seed}\n`));
  return seededRandom(seed);
}
