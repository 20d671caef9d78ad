// Each link between pages leads to a page and a heading that exist. Each page that a message of the program names exists.

import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, pages, proseOf, ROOT } from '../../support/docs/docs-pages.ts';

const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page)]));

interface Link {
  file: string;
  target: string;
}

/** The mistake in a link of a file; null if there is none. */
function flawOf({ file, target }: Link): string | null {
  const [path = '', anchor] = target.split('#');
  const linked = path === '' ? file : normalize(join(dirname(file), path));
  const absolute = join(ROOT, linked);
  if (linked.startsWith('..') || !existsSync(absolute)) return `${file}: there is no ${target}`;
  if (anchor === undefined) return null;
  if (statSync(absolute).isDirectory()) return `${file}: ${target} has a heading and no page`;
  return anchors.get(linked)?.has(anchor) ? null : `${file}: there is no heading ${target}`;
}

describe('the links of the pages', () => {
  const links = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) =>
      /^(?:https?|mailto):/.test(target) ? [] : [{ file: page.path, target }],
    ),
  );

  it('the links of the pages lead to pages and headings that exist', () => {
    expect(links.length).toBeGreaterThan(150);
    expect(links.map(flawOf).filter((flaw) => flaw !== null)).toEqual([]);
  });

  it('a link of a page is found to be wrong where page or heading is missing', () => {
    expect(flawOf({ file: 'docs/cli.md', target: 'nowhere.md' })).toContain('there is no nowhere.md');
    expect(flawOf({ file: 'docs/cli.md', target: 'mapping.md#nothing' })).toContain('no heading');
  });

  it('the links of the pages lead to each page from the first one', () => {
    const reached = new Set(['README.md']);
    for (const file of reached) {
      for (const link of links.filter((one) => one.file === file)) {
        const path = link.target.split('#')[0] ?? '';
        if (path.endsWith('.md')) reached.add(normalize(join(dirname(file), path)));
      }
    }
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });
});

it('code, configs and tests name no page that does not exist', () => {
  const files = globSync(['src/**/*.{ts,mjs}', 'connectors/**/*.ts', 'config/**/*', '*.ts', 'test/**/*.ts'], {
    cwd: ROOT,
  });
  const named = files
    .filter((file) => statSync(join(ROOT, file)).isFile() && !file.endsWith('.tgz'))
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bdocs\/([\w./-]+\.md)(#[\w-]+)?/g)].map(
        ([, page = '', anchor = '']) => ({
          file: 'README.md',
          target: `docs/${page}${anchor}`,
          from: file,
        }),
      ),
    );
  expect(named.length).toBeGreaterThan(20);
  expect(named.flatMap((link) => (flawOf(link) === null ? [] : [`${link.from} names ${link.target}`]))).toEqual([]);
});
