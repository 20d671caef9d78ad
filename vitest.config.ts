import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,conformance,integration,model,chaos,e2e}/**/*.test.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Vitest leaves one core to itself by default. Its own share is small, and most tests wait for other processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    setupFiles: ['./test/support/property-seed.ts'],
    reporters: ['default', './test/support/left-out-reporter.ts'],
  },
});
