// Manual resolutions: the ways in which a person may settle a delivery that needs one.

import type { SubjectKind } from '../item.ts';
import { type DeliveryEvent, type DeliveryState, TRANSITIONS } from './delivery.ts';

/** The states of deliveries that a person can settle. Due deliveries and deliveries in flight need no person. */
export const SETTLE_STATES = ['in_doubt', 'blocked', 'rejected', 'parked', 'waiting'] as const;
export type SettleState = (typeof SETTLE_STATES)[number];

/**
 * `delivered`: the platform has the write. `rejected`: the platform does not have the write. `ignored`: the platform is
 * not changed, and nothing is sent before the desired payload changes.
 */
export const RESOLUTIONS = ['delivered', 'rejected', 'ignored'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

const EVENTS: Record<Resolution, DeliveryEvent> = { delivered: 'accept', rejected: 'reject', ignored: 'supersede' };

export function isSettleState(state: DeliveryState): state is SettleState {
  return SETTLE_STATES.some((one) => one === state);
}

/**
 * Whether a person can settle a delivery in this way. A delivery that may have arrived cannot be ignored, since a later
 * write could double it (I6). A passport cannot be ignored either; a person uses `unpublish` instead.
 */
export function mayBeSettled(
  { kind, state, uncertain }: { kind: SubjectKind; state: SettleState; uncertain: boolean },
  resolution: Resolution,
): boolean {
  if (TRANSITIONS[state][EVENTS[resolution]] === null) return false;
  return resolution !== 'ignored' || (!uncertain && kind !== 'passport');
}
