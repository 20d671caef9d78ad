// Each test and each file of the code that a page names exists.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, ROOT } from '../../support/docs/docs-pages.ts';

interface NamedTest {
  page: string;
  file: string;
  /** The name of one test of the file; null if the page means the whole file. */
  name: string | null;
}

/** Decisions are dated and never edited, so they may name files of their time. */
const present = pages.filter(({ path }) => !path.startsWith('docs/adr/'));

const named: NamedTest[] = present
  .filter(({ path }) => path.startsWith('docs/'))
  .flatMap(({ path, text }) =>
    [...text.matchAll(/`(test\/[\w/-]+\.test\.ts)`(?:: "([^"]+)")?/g)].map(([, file = '', name = null]) => ({
      page: path,
      file,
      name,
    })),
  );

describe('the tests that pages name', () => {
  it('the tests that pages name are many, some of them by their names', () => {
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ name }) => name !== null).length).toBeGreaterThan(20);
  });

  it('the tests that pages name exist', () => {
    const missing = named.filter(({ file, name }) => {
      if (!existsSync(join(ROOT, file))) return true;
      return name !== null && !readFileSync(join(ROOT, file), 'utf8').replaceAll("\\'", "'").includes(name);
    });
    expect(missing).toEqual([]);
  });
});

/** Files that a reader writes, in the examples of the pages. */
const FILES_OF_READERS = new Set([
  './my-connector.ts',
  'api-connector.ts',
  'api-connector.test.ts',
  'rest-connector.test.ts',
]);

it('the files of the code that pages name exist, by their whole path or by the end of it', () => {
  const files = globSync(['src/**/*.ts', 'connectors/**/*.ts', 'config/**/*.ts', 'test/**/*.ts'], { cwd: ROOT }).map(
    (file) => `/${file}`,
  );
  const names = present.flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => ({ page: path, name })),
  );
  expect(names.length).toBeGreaterThan(200);
  const missing = names.filter(
    ({ name }) => !FILES_OF_READERS.has(name) && !files.some((file) => file.endsWith(`/${name}`)),
  );
  expect(missing).toEqual([]);
});
