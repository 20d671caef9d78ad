import type { Reason } from '../domain/delivery.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Clock } from '../lib/clock.ts';

/** What stands between us and the API right now. */
export type GateState =
  | { open: true }
  /** The API refuses the key, the plan or the scope: nothing is sent until that is mended. */
  | { open: false; by: 'key' | 'plan' | 'scope'; reason: Reason };

/**
 * Knows whether the API can be talked to: it closes on 401, 402 and 403, and it counts how long no request has been
 * answered. It decides nothing by itself; whoever runs the engine does.
 */
export interface TargetGate {
  state(): GateState;
  /** Since when every attempt has failed to reach the API, or null. */
  unreachableSince(): number | null;
  observe(outcome: Outcome): void;
  /** Lets requests out again, after the key was re-read or a person mended the plan. */
  reopen(): void;
}

export function createTargetGate(clock: Clock): TargetGate {
  let state: GateState = { open: true };
  let failingSince: number | null = null;
  return {
    state: () => state,
    unreachableSince: () => failingSince,
    observe(outcome) {
      if (outcome.kind === 'denied') {
        const { by, detail } = outcome;
        const status = detail.status === null ? {} : { status: detail.status };
        state = { open: false, by, reason: { code: `denied_${by}`, message: detail.message, ...status } };
      }
      const silent = outcome.kind === 'unavailable' || (outcome.kind === 'ambiguous' && outcome.detail.status === null);
      if (silent) failingSince ??= clock.now();
      else failingSince = null;
    },
    reopen() {
      state = { open: true };
    },
  };
}
