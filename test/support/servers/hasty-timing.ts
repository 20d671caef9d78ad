import type { StallTiming } from '../../../src/queue/backend.ts';

/** Short times for tests of jobs whose worker has stopped. */
export const HASTY_TIMING: StallTiming = { lockMs: 500, stalledCheckMs: 250 };
