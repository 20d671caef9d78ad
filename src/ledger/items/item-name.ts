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
