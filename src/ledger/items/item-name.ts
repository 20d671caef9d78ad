import type { SubjectKind } from '../../domain/item.ts';

/** The name of an item: its kind and key. */
export interface ItemName {
  kind: SubjectKind;
  key: string;
}

/** The name of an item as a key of a map. */
export function nameOf({ kind, key }: ItemName): string {
  return `${kind}/${key}`;
}

/** Names of items. */
export interface NameSet {
  has(name: ItemName): boolean;
  /** False if the set has the name already. */
  add(name: ItemName): boolean;
}

/**
 * A set for the names of many items: looking up the kind and then the key is faster than joining both into one text.
 */
export function createNameSet(): NameSet {
  const byKind = new Map<string, Set<string>>();
  return {
    has: ({ kind, key }) => byKind.get(kind)?.has(key) === true,
    add({ kind, key }) {
      const keys = byKind.get(kind);
      if (keys === undefined) byKind.set(kind, new Set([key]));
      else if (keys.has(key)) return false;
      else keys.add(key);
      return true;
    },
  };
}
