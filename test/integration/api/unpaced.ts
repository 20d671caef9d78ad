import type { Pacing } from '../../../src/domain/ports/target.ts';

/** Gives each request its turn at once. For tests that are not about the rate. */
export const UNPACED: Pacing = { turn: async () => ({ granted: true, ended: () => undefined }) };
