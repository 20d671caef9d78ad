// The pages of the docs, and their blocks of code.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'config/demo/README.md', 'docs/**/*.md'];
/** Blocks in lists are indented, so spaces may come first. */
const BLOCK = /^( *)```(\w*)\n(.*?)^ *```$/gms;
/** A block without a language contains commands if it begins with one of these. */
const COMMAND = /^(?:dpp-sync|npm|npx|node|docker|curl|sqlite3|export|cd|mkdir) /;

export interface Page {
  /** The path of the page, relative to the repository. */
  path: string;
  text: string;
}

export interface Block {
  page: string;
  /** The number of the block's first line. */
  line: number;
  language: string;
  text: string;
  /** The path of the file that the reader writes. The page has it on the line before the block. */
  file: string | null;
}

export const pages: readonly Page[] = globSync(PAGES, { cwd: ROOT })
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

export const blocks: readonly Block[] = pages.flatMap(({ path, text }) =>
  [...text.matchAll(BLOCK)].map(({ 1: indent = '', 2: written = '', 3: content = '', index }) => {
    const own = content.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const language = written === '' && COMMAND.test(own) ? 'sh' : written;
    const before = text.slice(0, index);
    const file = /^`([\w./-]+)`:\n\n$/m.exec(before.split('\n').slice(-3).join('\n'))?.[1] ?? null;
    return { page: path, line: before.split('\n').length + 1, language, text: own, file };
  }),
);

/** The text of a page without its blocks of code. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(BLOCK, '');
}

/** The ids of a page's headings, made by the rules of GitHub. */
export function anchorsOf(page: Page): Set<string> {
  const found = new Set<string>();
  for (const [, heading = ''] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const id = plain.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    let unique = id;
    for (let count = 1; found.has(unique); count += 1) unique = `${id}-${count}`;
    found.add(unique);
  }
  return found;
}
