import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { fault } from '../domain/faults.ts';
import { suggest } from '../lib/text/suggest.ts';

/**
 * Checks that the config has the sources that are named.
 *
 * @throws Fault `usage`
 */
export function assertSources(config: RuntimeConfig, ids: readonly string[]): void {
  const known = config.sources.map(({ id }) => id);
  for (const id of ids) {
    if (known.includes(id)) continue;
    const likely = suggest(id, known);
    throw fault('usage', `There is no source "${id}" in ${config.file}.`, {
      suggestion: likely === undefined ? `Name one of its sources: ${known.join(', ')}.` : `Did you mean ${likely}?`,
    });
  }
}
