import { median } from '../../support/measure.ts';
import type { Trace } from './simulate.ts';

/** The number of requests of all clients between two seconds. */
function total(counts: readonly Uint32Array[], from: number, to: number): number {
  let sum = 0;
  for (const one of counts) for (let second = from; second < to; second += 1) sum += one[second] ?? 0;
  return sum;
}

/** The used share of a limit. The limit is given in requests per second. */
export function use({ accepted }: Trace, limit: number, from: number, to: number): number {
  return total(accepted, from, to) / (limit * (to - from));
}

/** The used share of a limit in the median second. */
export function usedInMedian(trace: Trace, limit: number, from: number, to: number): number {
  return median(Array.from({ length: to - from }, (_, index) => use(trace, limit, from + index, from + index + 1)));
}

/** The refused share of the requests. */
export function refusedShare({ accepted, refused }: Trace, from: number, to: number): number {
  const bad = total(refused, from, to);
  const all = bad + total(accepted, from, to);
  return all === 0 ? 0 : bad / all;
}

/** Seconds from `from` until the use in the following `span` reaches this share; infinite if it never does. */
export function settledAfter(
  trace: Trace,
  limit: number,
  { from, to, span, share }: { from: number; to: number; span: number; share: number },
): number {
  for (let second = from; second + span <= to; second += 1) {
    if (use(trace, limit, second, second + span) >= share) return second - from;
  }
  return Number.POSITIVE_INFINITY;
}

/** Jain's index of the clients' shares: 1 if all are equal (Jain, Chiu and Hawe, 1984). */
export function jain({ accepted }: Trace, from: number, to: number): number {
  const shares = accepted.map((one) => total([one], from, to));
  const sum = shares.reduce((a, b) => a + b, 0);
  const squares = shares.reduce((a, b) => a + b * b, 0);
  return squares === 0 ? 1 : (sum * sum) / (shares.length * squares);
}
