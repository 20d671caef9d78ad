import type { StallTiming } from '../../../src/queue/backend.ts';

/** For tests of reservations that lapse. */
export const HASTY_TIMING: StallTiming = { lockMs: 500, stalledCheckMs: 250 };
