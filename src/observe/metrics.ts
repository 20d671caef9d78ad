import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { createEventMetrics } from './event-metrics.ts';
import { createInstruments } from './metric-definitions.ts';
import type { Figures, Standing } from './standing.ts';
import { createStandingGauges } from './standing-gauges.ts';

/**
 * Counts the engine's events, and shows them to Prometheus together with the state of the ledger.
 *
 * Labels only have values from closed sets, and the config's source and stream names: never an item's key, which would
 * grow without bound (I9), and never text from outside, which could contain a secret (I7).
 */
export function createMetrics(options: { version: string; figures: () => Promise<Figures> }) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // These gauges have names of counters. `nodejs_active_handles` and similar metrics show the same by type.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const instruments = createInstruments(registry);
  instruments.gauge('build_info').set({ version: options.version }, 1);
  const events = createEventMetrics(instruments);
  const showStanding = createStandingGauges(instruments);
  return {
    contentType: registry.contentType,
    /** Subscribe this function to an event bus. */
    observe: (event: ProgressEvent) => events.observe(event),
    /** The metrics in the text format of Prometheus. */
    async text(standing: Standing): Promise<string> {
      const figures = await options.figures();
      events.begin(figures.streams);
      showStanding(standing, figures);
      return registry.metrics();
    },
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
