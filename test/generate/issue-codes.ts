import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
/** The folders with the code that checks records and items. */
const PARTS = [
  'src/pipeline',
  'src/sdk',
  'src/domain',
  'src/daemon/sources',
  'src/ledger/records',
  'src/ledger/items',
  'connectors',
];
/** Names that look like a code of an issue. */
const OTHER_NAMES = new Set(['mapping.invalid', 'module.exports', 'refs.component', 'source.unreadable']);

/** Finds a code at the place where an issue or an error of a mapping is made. */
const MADE = /(?:\bcode: |\bMappingError\(\s*)'([a-z_]+)\.[a-z_]+'/g;
const CODE = /'([a-z_]+)\.[a-z_]+'/g;

/**
 * Finds every code that the issue of a record can have, in the text of the source files: each text that looks like a code and
 * has the same first word as a code of `MADE`. `MADE` alone is not enough, because a code may be passed to the function that
 * makes the issue.
 */
export function issueCodes(): string[] {
  const text = PARTS.flatMap((part) => globSync(`${part}/**/*.ts`, { cwd: ROOT }))
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const words = new Set([...text.matchAll(MADE)].map(([, word]) => word));
  const codes = [...text.matchAll(CODE)].filter(([, word]) => words.has(word)).map(([quoted]) => quoted.slice(1, -1));
  return [...new Set(codes)].filter((code) => !OTHER_NAMES.has(code)).toSorted();
}
