import type { Outcome } from '../delivery/outcome.ts';

/**
 * Gives each request that uses the API key its turn, at the learnt rate and below `target.maxRate`. A delivery gets its
 * turn from the admission (delivery/admission/admission.ts); every other request waits here.
 */
export interface Pacing {
  /** Waits until one request may be sent. */
  turn(signal?: AbortSignal): Promise<Turn>;
}

export type Turn =
  /** The request may be sent now. Call `ended` once, with what its answer means and the limit that the answer states. */
  | { granted: true; ended(outcome: Outcome, advisedRate: number | null): void }
  /** The caller has stopped the request, or the API asks to wait for more than a minute. `waitMs` is null after a stop. */
  | { granted: false; waitMs: number | null; message: string };
