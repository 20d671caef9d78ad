// The pages of the docs, and their blocks of code.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'config/demo/README.md', 'docs/**/*.md'];
/** Blocks within lists are indented. */
const BLOCK = /^( *)```(\w*)\n(.*?)^ *```$/gms;
/** With what a block without a language is a block of commands. */
const COMMAND = /^(?:dpp-sync|npm|npx|node|docker|curl|sqlite3|export|cd|mkdir) /;

export interface Page {
  /** Relative to the repository. */
  path: string;
  text: string;
}

export interface Block {
  page: string;
  /** The line of its first line. */
  line: number;
  language: string;
  text: string;
  /** The file that the reader is to write: its path is on the line before. */
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

/** The text without blocks of code. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(BLOCK, '');
}

/** The ids that a page has for its headings, as GitHub makes them. */
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
