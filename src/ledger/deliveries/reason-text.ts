import { type Reason, storedReason } from '../../domain/delivery/reason.ts';
import { reasonShape } from '../../domain/delivery/reason-shape.ts';

/** A reason as the ledger stores it, with its shape, by which an index groups what is stuck. */
export function reasonText(reason: Reason): string {
  return JSON.stringify({ ...reason, shape: reasonShape(reason) });
}

/** A stored reason with its shape. An older version of the program has stored reasons without a shape. */
export function withShape(text: string): string {
  const reason = storedReason(text);
  return reason === null ? text : JSON.stringify({ ...(JSON.parse(text) as object), shape: reasonShape(reason) });
}
