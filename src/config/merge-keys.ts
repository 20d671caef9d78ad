// Merge keys: `<<: *name` gives a map the members of another one, for streams or sources that have much in common. Its own members win.

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
} from 'yaml';

/** How many maps may be merged into one, with those that are merged into them. */
const MERGED_MAX = 100;

const WRONG_SOURCE =
  'found << with another value than named values, expected the alias of some (<<: *name), or a list of such aliases';
const TOO_MANY = `found << that merges more than ${MERGED_MAX} maps, or a map into itself, expected the values themselves`;

/** True for a merge key. The parser gives it a value that no text has. */
const isMergeKey = (key: unknown): boolean => isScalar(key) && typeof key.value === 'symbol';

/** The maps that are merged into a map, the first of them before the others; null for a value that is no map. */
function sourcesOf(map: YAMLMap, document: Document): (YAMLMap | null)[] {
  const resolved = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  return map.items.flatMap(({ key, value }) => {
    if (!isMergeKey(key)) return [];
    const source = resolved(value);
    return (isSeq(source) ? source.items.map(resolved) : [source]).map((one) => (isMap(one) ? one : null));
  });
}

/** The member of a map with this name: its own, or the one that is merged into it. */
export function memberPair(map: YAMLMap, name: string, document: Document): Pair | undefined {
  const own = map.items.find(({ key }) => isScalar(key) && !isMergeKey(key) && String(key.value) === name);
  if (own !== undefined) return own;
  for (const source of sourcesOf(map, document)) {
    const found = source === null ? undefined : memberPair(source, name, document);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds merge keys that cannot be resolved. Aliases to nothing were found before. */
export function checkMerges(document: Document, report: (position: number, message: string) => void): void {
  const counts = new Map<YAMLMap, number>();
  /** Counts the maps that are merged into a map. One that is merged into itself has no end. */
  const countMerged = (map: YAMLMap): number => {
    const known = counts.get(map);
    if (known !== undefined) return known;
    counts.set(map, Number.POSITIVE_INFINITY);
    const sources = sourcesOf(map, document);
    const count = sources.reduce((sum, source) => sum + (source === null ? 0 : 1 + countMerged(source)), 0);
    counts.set(map, count);
    return count;
  };
  visit(document, {
    Map(_key, map) {
      const merge = map.items.find((pair) => isPair(pair) && isMergeKey(pair.key));
      if (merge === undefined) return;
      const position = (merge.key as Node).range?.[0] ?? 0;
      if (sourcesOf(map, document).includes(null)) report(position, WRONG_SOURCE);
      else if (countMerged(map) > MERGED_MAX) report(position, TOO_MANY);
    },
  });
}
