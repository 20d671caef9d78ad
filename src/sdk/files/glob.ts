// Patterns of paths: `*` and `?` stand for characters within one name; nothing else is special.

import { sourceFault } from '../faults.ts';

/** Which names are wanted of a folder. */
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
 * @param kind a pattern's last segment stands for files, the others for folders
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

/** True if a name below a pattern's fixed folders is one that the pattern names. */
export function matchesSegments(name: string, segments: readonly string[]): boolean {
  const names = name.split('/');
  return (
    names.length === segments.length &&
    names.every((one, at) => filterOf(segments[at] ?? '', 'file', name).matches(one))
  );
}

/** The expression for a text with wildcards. */
export function matcherOf(segment: string): RegExp {
  const source = segment
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}
