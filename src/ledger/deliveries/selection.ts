import type { ReplaySelection } from '../../domain/ports/replay.ts';

/** The parameters of a selection. Lists are JSON. */
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
