import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** A suite of test files in these folders of test/. */
const suite = (name: string, folders: string, options = {}) => ({
  extends: true as const,
  test: { name, include: [`test/${folders}/**/*.test.ts`], ...options },
});

export default defineConfig({
  test: {
    projects: [
      // These files start nothing and change nothing of their process, so that all files of a worker share what it has loaded.
      suite('unit', 'unit', { isolate: false }),
      suite('integration', '{conformance,integration}'),
      // Packages are installed, a browser is driven, processes are killed: slow however they are written.
      suite('slow', '{install,e2e,model,chaos}'),
    ],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most of the time a test waits: for other processes, for servers, for limits in time. Six files at once keep two cores busy.
    maxWorkers: Math.min(8, 3 * availableParallelism()),
    setupFiles: ['./test/support/runner/property-seed.ts'],
    reporters: ['default', './test/support/runner/left-out-reporter.ts'],
  },
});
