// Names of kinds and states in messages.

import type { SubjectKind } from './item.ts';

/** The word for a kind in a text, such as `product` or `BOM item`. */
export function kindWord(kind: SubjectKind): string {
  return kind === 'bom_item' ? 'BOM item' : kind;
}

/** The word for an event of a history in a text. */
export function eventWord(event: string): string {
  return event === 'suspect' ? 'unconfirmed' : stateWord(event);
}

/** The word for a state in a text, without an underscore. People read `unconfirmed` for the state `in_doubt`. */
export function stateWord(state: string): string {
  return state === 'in_doubt' ? 'unconfirmed' : state.replaceAll('_', ' ');
}
