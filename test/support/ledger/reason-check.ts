import type { DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import { mayExplain, REASON_CODES } from '../../../src/domain/delivery/stored-reason.ts';

/**
 * Returns what is wrong with the reason of a delivery in this state: the code is unknown, or belongs to another state.
 * Null if the reason is right.
 */
export function misplacedReason(state: DeliveryState, code: string | null): string | null {
  if (code === null) return null;
  const known = REASON_CODES.find((one) => one === code);
  if (known === undefined) return `it carries the code ${code}, which is no reason code`;
  return mayExplain(known, state) ? null : `the code ${code} cannot explain that it is ${state}`;
}
