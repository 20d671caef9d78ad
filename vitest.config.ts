import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { TEST_MS, WAIT_MS } from './test/support/runner/limits.ts';
import { LongFirst } from './test/support/runner/long-first.ts';
import { temporaryFolder } from './test/support/runner/temporary-folder.ts';

/** A suite of test files in these folders of test/. */
const suite = (name: string, folders: string) => ({
  extends: true as const,
  test: { name, include: [`test/${folders}/**/*.test.ts`] },
});

export default defineConfig({
  test: {
    projects: [
      suite('unit', 'unit'),
      suite('integration', 'integration'),
      // Connectors and queues are tried in full, whole processes and servers start, packages are installed, a browser is driven.
      suite('slow', '{conformance,processes,install,e2e,model,chaos}'),
    ],
    testTimeout: TEST_MS,
    hookTimeout: TEST_MS,
    // Concurrent tests mostly wait.
    maxConcurrency: 16,
    expect: { poll: { timeout: WAIT_MS } },
    // The files of a worker share what it has loaded, because loading takes a good part of their CPU time.
    isolate: false,
    pool: 'forks',
    // Most of the time a test waits: for other processes, for servers, for limits in time. Eight files at once keep two cores busy.
    maxWorkers: Math.min(8, 4 * availableParallelism()),
    env: {
      // The tests start some hundred processes, which load the same files.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled'),
      TMPDIR: temporaryFolder(),
    },
    // Otherwise Vite loads one copy of graphql and Node another, and each refuses what the other has made.
    server: { deps: { inline: ['graphql-http'] } },
    sequence: { sequencer: LongFirst },
    setupFiles: ['./test/support/runner/property-seed.ts'],
    reporters: ['default', './test/support/runner/left-out-reporter.ts'],
  },
});
