import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { METRICS, type MetricDefinition } from './metric-definitions.ts';

type NamesOf<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof METRICS]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[keyof typeof METRICS];

/** The metrics of the table, registered at their first use. */
export interface Instruments {
  gauge: (name: NamesOf<'gauge'>) => Gauge;
  counter: (name: NamesOf<'counter'>) => Counter;
  histogram: (name: NamesOf<'histogram'>) => Histogram;
}

export function createInstruments(registry: Registry): Instruments {
  const configOf = (name: keyof typeof METRICS) => {
    const { help, labels }: MetricDefinition = METRICS[name];
    return { name: `dpp_sync_${name}`, help, labelNames: [...labels], registers: [registry] };
  };
  return {
    gauge: (name) => new Gauge(configOf(name)),
    counter: (name) => new Counter(configOf(name)),
    histogram: (name) => new Histogram({ ...configOf(name), buckets: [...METRICS[name].buckets] }),
  };
}
