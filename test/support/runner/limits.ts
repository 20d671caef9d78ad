import { scaled } from './chaos.ts';

// The only limits of wall time in the tests. A machine that is busy with other work may be a hundred times slower than an idle one,
// and only a test that would never end may miss a limit. So they are far above what a test takes.

/** How long a test waits for something that has to happen. */
export const WAIT_MS = 300_000;

/** How long a test or a hook may take. The suites in full last for hours. */
export const TEST_MS = scaled(900_000, 10_800_000);
