import type { StandingAsked } from '../../domain/ports/ledger/ledger-views.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/**
 * What to ask about these sources. The missing items of a source with `onMissing: ignore` are not counted.
 *
 * @param selected ids of configured sources
 */
export function standingAsked(
  { sources }: Pick<RuntimeConfig, 'sources'>,
  selected: readonly string[] = sources.map(({ id }) => id),
): StandingAsked {
  const isWatched = (id: string) => sources.some((source) => source.id === id && source.onMissing !== 'ignore');
  return { sources: selected, watched: selected.filter(isWatched) };
}
