import { onTestFailed } from 'vitest';
import { chaosSeed, seededRandom } from './chaos.ts';

/** Numbers in [0, 1) drawn from the seed. Where the running test fails, it says which seed that was. */
export function announcedRandom(): () => number {
  const seed = chaosSeed();
  onTestFailed(() => void process.stderr.write(`DPP_SYNC_TEST_SEED=${seed}\n`));
  return seededRandom(seed);
}
