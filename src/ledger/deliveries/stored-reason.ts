import { type Reason, storedReason } from '../../domain/delivery/reason.ts';
import { reasonShape } from '../../domain/delivery/reason-shape.ts';

/** The stored text of a reason. It contains the shape of the reason, by which an index groups stuck items. */
export function reasonText(reason: Reason): string {
  return JSON.stringify({ ...reason, shape: reasonShape(reason) });
}

/** A stored reason with its shape. An older version of the program has stored reasons without a shape. */
export function withShape(text: string): string {
  const reason = storedReason(text);
  return reason === null ? text : JSON.stringify({ ...(JSON.parse(text) as object), shape: reasonShape(reason) });
}
