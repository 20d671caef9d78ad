import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,conformance,integration,model,chaos,e2e}/**/*.test.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    pool: 'forks',
    setupFiles: ['./test/support/property-seed.ts'],
    reporters: ['default', './test/support/left-out-reporter.ts'],
  },
});
