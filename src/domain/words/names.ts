// Names of kinds and states in messages.

import type { SubjectKind } from '../item.ts';
import type { STATES } from './states.ts';

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

/** The states of items in the order in which people want to read them. */
export const STATES_IN_ORDER: readonly (keyof typeof STATES)[] = [
  'delivered',
  'superseded',
  'due',
  'sending',
  'waiting',
  'in_doubt',
  'blocked',
  'rejected',
  'parked',
];
