import { ENDPOINTS, type OperationName } from '../../../src/sandbox/api/endpoints.ts';
import type { VirtualTime } from '../../support/time/virtual-time.ts';
import type { Fault } from './model-api.ts';

/** The ways in which requests fail during an outage. */
const WAYS = {
  refused: { at: 'network', fault: { kind: 'refused' } },
  unavailable: { at: 'network', fault: { kind: 'front', status: 503 } },
  unanswered: { at: 'network', fault: { kind: 'late', lost: 'timeout', ms: 2300 } },
  failing: { at: 'platform', fault: { kind: 'status', status: 500, effect: 'none' } },
  'unavailable late': { at: 'platform', fault: { kind: 'status', status: 503, effect: 'done' } },
  'failing late': { at: 'platform', fault: { kind: 'status', status: 502, effect: 'done' } },
  'reset before': { at: 'platform', fault: { kind: 'reset-before' } },
  'reset after': { at: 'platform', fault: { kind: 'reset-after' } },
} as const satisfies Record<string, Fault>;
export type Way = keyof typeof WAYS;
export const WAY_NAMES = Object.keys(WAYS) as Way[];

/** A time in which all requests of a kind fail. */
export interface Outage {
  of: 'everything' | 'writes' | 'reads';
  /** Each request fails in one of these. */
  ways: readonly Way[];
  ms: number;
}

export interface Outages {
  begin(outage: Outage): void;
  end(): void;
  /** The fault of a request that is sent now; null if it does not fail. */
  faultFor(operation: OperationName): Fault | null;
}

/** @param random numbers in [0, 1) */
export function createOutages({ time, random }: { time: VirtualTime; random: () => number }): Outages {
  let current: (Outage & { until: number }) | null = null;
  return {
    begin(outage) {
      current = { ...outage, until: time.ticks() + outage.ms };
    },
    end() {
      current = null;
    },
    faultFor(operation) {
      if (current === null || time.ticks() >= current.until) return null;
      const kind = ENDPOINTS[operation].method === 'GET' ? 'reads' : 'writes';
      if (current.of !== 'everything' && current.of !== kind) return null;
      const way = current.ways[Math.floor(random() * current.ways.length)];
      return way === undefined ? null : WAYS[way];
    },
  };
}
