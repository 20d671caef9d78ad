import type { ReplaySelection } from '../../domain/ports/replay.ts';

/** A selection as the statements take it: lists as JSON. */
export interface SelectionParameters {
  states: string;
  sources: string;
  keys: string;
  ids: string;
}

export function parametersOf({ states, sources, keys, deliveryIds }: ReplaySelection): SelectionParameters {
  return {
    states: JSON.stringify(states),
    sources: JSON.stringify(sources),
    keys: JSON.stringify(keys),
    ids: JSON.stringify(deliveryIds),
  };
}
