import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const TESTS = join(import.meta.dirname, '../..');
/** All test files, without declarations of types: no file imports those. */
const files = globSync('**/*.ts', { cwd: TESTS, exclude: (name) => name.endsWith('.d.ts') });

/** The files of `test` that a file names: in an import, or as a script that it starts. */
const namedBy = new Map(
  files.map((file) => {
    const names = readFileSync(join(TESTS, file), 'utf8').matchAll(/'([^'\s]+\.ts)'/g);
    const beside = (name: string) => relative(TESTS, join(TESTS, dirname(file), name));
    return [file, new Set([...names].map(([, name = '']) => beside(name)))];
  }),
);
const CONFIG = readFileSync(join(TESTS, '../vitest.config.ts'), 'utf8');

/** The suites that use a file of `support`, directly or through other files of `support`. */
function suitesOf(file: string, seen = new Set<string>()): Set<string> {
  seen.add(file);
  // All suites use what their config names.
  const suites = new Set<string>(CONFIG.includes(`/${basename(file)}'`) ? ['unit', 'integration', 'slow'] : []);
  for (const user of files.filter((one) => !seen.has(one) && namedBy.get(one)?.has(file))) {
    if (user.startsWith('support/')) for (const suite of suitesOf(user, seen)) suites.add(suite);
    else suites.add(user.split('/')[0] ?? '');
  }
  return suites;
}

it('test/support has only files that several suites use', () => {
  const shared = files.filter((file) => file.startsWith('support/'));
  expect(shared.length).toBeGreaterThan(50);
  const usedByOne = shared.flatMap((file) => {
    const suites = suitesOf(file);
    return suites.size > 1 ? [] : [`${file} is used by ${[...suites].join() || 'nothing'}`];
  });
  expect(usedByOne).toEqual([]);
});
