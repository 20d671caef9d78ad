// Names of kinds and states in messages.

import type { SubjectKind } from './item.ts';

/** `product`, `BOM item` */
export function kindWord(kind: SubjectKind): string {
  return kind === 'bom_item' ? 'BOM item' : kind;
}

/** The name of an event of a history in a text. */
export function eventWord(event: string): string {
  return event === 'suspect' ? 'unconfirmed' : stateWord(event);
}

/** The name of a state in a text: without its underscore. */
export function stateWord(state: string): string {
  return state.replaceAll('_', ' ');
}
