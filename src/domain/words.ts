// Names of kinds and states in messages.

import type { SubjectKind } from './item.ts';

/** `product`, `BOM item` */
export function kindWord(kind: SubjectKind): string {
  return kind === 'bom_item' ? 'BOM item' : kind;
}

/** `in doubt` for `in_doubt`. */
export function stateWord(state: string): string {
  return state.replaceAll('_', ' ');
}
