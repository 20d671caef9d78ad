import type { SubjectKind } from '../../domain/item.ts';

/** An item by its name. */
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

/** A set for the names of many items: to look kind and key up one after the other is faster than to join them first. */
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
