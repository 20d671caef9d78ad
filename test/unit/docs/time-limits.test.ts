import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const TESTS = join(import.meta.dirname, '../..');

/** Limits of wall time that are written as numbers. Those of the program under test are among its settings. */
const LIMITS: readonly RegExp[] = [
  /\b(?:timeout|testTimeout|hookTimeout): ?[\d_]{5,}/,
  /\b(?:setDefaultTimeout|AbortSignal\.timeout)\([\d_]{5,}/,
  /^\s*\}, [\d_]{5,}\);/,
  /(?:performance|Date)\.now\(\)[^;]*toBeLessThan(?:OrEqual)?\([\d_]+/,
];

it('a test has no limit of wall time of its own, which a busy machine would miss', () => {
  const found = globSync('**/*.ts', { cwd: TESTS, exclude: ['bench/**', 'unit/docs/time-limits.test.ts'] }).flatMap(
    (file) =>
      readFileSync(join(TESTS, file), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          LIMITS.some((limit) => limit.test(line)) ? [`test/${file}:${at + 1}: ${line.trim()}`] : [],
        ),
  );
  // Use WAIT_MS or TEST_MS of test/support/runner/limits.ts, or cpuMs of test/unit/support/cpu-time.ts.
  expect(found).toEqual([]);
});
