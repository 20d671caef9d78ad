import type { ReplaySelection } from '../../domain/ports/replay.ts';
import { identitiesOf } from '../../domain/record.ts';

/** The parameters of a selection. Lists are JSON. */
export interface SelectionParameters {
  states: string;
  sources: string;
  keys: string;
  /** The keys of records whose rows have one of `keys`. */
  rowKeys: string;
  ids: string;
}

export function parametersOf({ states, sources, keys, deliveryIds }: ReplaySelection): SelectionParameters {
  return {
    states: JSON.stringify(states),
    sources: JSON.stringify(sources),
    keys: JSON.stringify(keys),
    rowKeys: JSON.stringify(keys.flatMap(identitiesOf)),
    ids: JSON.stringify(deliveryIds),
  };
}
