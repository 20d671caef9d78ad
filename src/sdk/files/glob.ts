// Patterns of paths: `*` and `?` stand for characters within one name; nothing else is special.

import { sourceFault } from '../faults.ts';

/** Selects the entries of a folder that are wanted. */
export interface NameFilter {
  /** The beginning of all wanted names: some servers can list only names with a prefix. */
  prefix: string;
  kind: 'file' | 'folder';
  matches(name: string): boolean;
}

export function isWild(segment: string): boolean {
  return segment.includes('*') || segment.includes('?');
}

/**
 * @param kind `file` for the last segment of a pattern, `folder` for the others
 * @throws a `sourceFault` for `**`
 */
export function filterOf(segment: string, kind: NameFilter['kind'], pattern: string): NameFilter {
  if (segment.includes('**')) {
    throw sourceFault(`The path ${pattern} contains **, which is not supported.`, {
      suggestion: 'Name the folders, with * for each level whose name varies.',
    });
  }
  const wild = segment.search(/[*?]/);
  if (wild === -1) return { prefix: segment, kind, matches: (name) => name === segment };
  const matcher = matcherOf(segment);
  const isHidden = (name: string) => name.startsWith('.') && !segment.startsWith('.');
  return { prefix: segment.slice(0, wild), kind, matches: (name) => !isHidden(name) && matcher.test(name) };
}

/** True if the pattern matches a name below its fixed folders. */
export function matchesSegments(name: string, segments: readonly string[]): boolean {
  const names = name.split('/');
  return (
    names.length === segments.length &&
    names.every((one, at) => filterOf(segments[at] ?? '', 'file', name).matches(one))
  );
}

/** The regular expression for a text with wildcards. */
export function matcherOf(segment: string): RegExp {
  const source = segment
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}
