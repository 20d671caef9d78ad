import { type Reason, reasonShape } from '../../domain/delivery/reason.ts';

/** The stored text of a reason. It contains the shape of the reason, by which an index groups stuck items. */
export function reasonText(reason: Reason): string {
  return JSON.stringify({ ...reason, shape: reasonShape(reason) });
}
