import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,conformance,integration,model,chaos,e2e}/**/*.test.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most of the time a test waits: for other processes, for servers, for limits in time. Four files at once keep two cores busy.
    maxWorkers: Math.min(8, 2 * availableParallelism()),
    setupFiles: ['./test/support/property-seed.ts'],
    reporters: ['default', './test/support/left-out-reporter.ts'],
  },
});
