import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { METRICS, type MetricDefinition } from './metric-definitions.ts';

type NamesOf<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof METRICS]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[keyof typeof METRICS];

/** The metrics of the table, registered at their first use. */
export function createInstruments(registry: Registry) {
  const configOf = (name: keyof typeof METRICS) => {
    const { help, labels }: MetricDefinition = METRICS[name];
    return { name: `dpp_sync_${name}`, help, labelNames: [...labels], registers: [registry] };
  };
  return {
    gauge: (name: NamesOf<'gauge'>): Gauge => new Gauge(configOf(name)),
    counter: (name: NamesOf<'counter'>): Counter => new Counter(configOf(name)),
    histogram: (name: NamesOf<'histogram'>): Histogram =>
      new Histogram({ ...configOf(name), buckets: [...METRICS[name].buckets] }),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;
