// Each test and each file of the code that a page names is there.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, ROOT } from '../../support/docs/docs-pages.ts';

interface NamedTest {
  page: string;
  file: string;
  /** The name of one test of the file; null where the page means the whole file. */
  name: string | null;
}

const named: NamedTest[] = pages
  .filter(({ path }) => path.startsWith('docs/') && !path.startsWith('docs/adr/'))
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

it('the files of the code that pages name exist', () => {
  const files = globSync('{src,test}/**/*.ts', { cwd: ROOT });
  const roots = ['', 'src/', 'test/'];
  const missing = pages
    .filter(({ path }) => path.startsWith('docs/') && !path.startsWith('docs/adr/'))
    .flatMap(({ path: page, text }) =>
      [...text.matchAll(/`([a-z][\w-]*(?:\/[\w.-]+)+\.ts)`/g)].map(([, file = '']) => ({ page, file })),
    )
    .filter(({ file }) => !roots.some((root) => existsSync(join(ROOT, `${root}${file}`))));
  expect(missing).toEqual([]);
  const architecture = pages.find(({ path }) => path === 'docs/architecture.md')?.text ?? '';
  const withoutFolder = [...architecture.matchAll(/`([\w-]+\.ts)`/g)].map(([, name = '']) => name);
  expect(withoutFolder.length).toBeGreaterThan(20);
  expect(withoutFolder.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
});
