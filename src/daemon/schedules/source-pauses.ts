import type { LoadedPause } from '../../config/loaded-config.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { createPauses, type Pauses } from './pauses.ts';

/**
 * Returns a function that gives the end of a source's pause that contains an instant; null if there is no such pause.
 * The sources are read at each call, because a reload of the config may replace them.
 */
export function createSourcePauses(
  config: Pick<RuntimeConfig, 'sources'>,
): (source: string, at: number) => number | null {
  const known = new WeakMap<readonly LoadedPause[], Pauses>();
  return (source, at) => {
    const given = config.sources.find(({ id }) => id === source)?.pauses ?? [];
    if (given.length === 0) return null;
    const pauses = known.get(given) ?? createPauses(given);
    known.set(given, pauses);
    return pauses.endOf(at);
  };
}
