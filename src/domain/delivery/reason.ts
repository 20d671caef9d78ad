// Why a delivery is in its state.
//
// A reason is stored with its delivery, shown to people, and decided on. Everything that is decided by the code of a reason
// is in this file: one row of `CODES` for each code, with the states that it may explain and its traits. A new code is a new
// row. A stored code that this release does not know is read as `unknown`, so that the union of codes is closed.

import type { JsonObject } from '../../lib/json.ts';
import type { DeliveryState } from './delivery.ts';

/** What is decided by the code of a reason. */
export type ReasonTrait =
  /** Sending again is no way out of the unconfirmed delivery: the list has to be read. */
  | 'needs_reading'
  /** An item that is then found at the platform may differ from the content of this write. */
  | 'content_unknown'
  /** A create was refused because the item exists, or may exist. An item that is found then is adopted. */
  | 'found_before'
  /** It is not known whether the item exists, although the create was refused. */
  | 'may_exist'
  /** The answer named another item: the item may be at the platform under a key that was not sent. */
  | 'of_another_item'
  /** The write may have been sent since the backup that the ledger was restored from. */
  | 'since_backup'
  /** The API was not able to take the delivery. */
  | 'api_away'
  /** The reason keeps the time since which the API has not been able to take the delivery. */
  | 'keeps_away_since'
  /** The API is still working on an earlier send. */
  | 'api_busy'
  /** The API refuses the key, the plan or the scope, and not this item. */
  | 'access_denied'
  /** The API refused the scope, which may be about the key or about this item. */
  | 'scope_denied'
  /** The API refuses the scope for this item, while it takes the scope from others. */
  | 'item_forbidden'
  /** A blocked delivery is sent again after `recheckBlockedMs`. */
  | 'asked_again'
  /** A person has to accept the change of an adopted item. */
  | 'adopted_change'
  /** A person has to say whether the BOM items of an adopted product exist. */
  | 'parts_unknown'
  /** The answer to an import has not shown that the product was made, and the import may make it later. */
  | 'may_come_late'
  /** A person has to say which of several items at the platform this one is. */
  | 'ambiguous_key'
  /** An import made a second product. Only a person may ask for another import. */
  | 'made_second';

/** What becomes of an unconfirmed delivery that is proven to be absent from the platform. */
export type WhenAbsent = 'resend' | 'reject' | 'reject_as_hidden' | 'block' | 'ask_person';

/** The states in which a code can be written. */
type WrittenState = Extract<DeliveryState, 'due' | 'in_doubt' | 'blocked' | 'rejected' | 'parked' | 'superseded'>;

interface CodeRow {
  states: readonly WrittenState[];
  /** Null for a code that no unconfirmed delivery carries. */
  whenAbsent: WhenAbsent | 'by_status' | null;
  traits: readonly ReasonTrait[];
}

/** A code that no unconfirmed delivery carries. */
function settled(states: readonly WrittenState[], ...traits: readonly ReasonTrait[]): CodeRow {
  return { states, whenAbsent: null, traits };
}

/** A code of unconfirmed deliveries. `others` are the further states that it explains. */
function unconfirmed(
  whenAbsent: WhenAbsent | 'by_status',
  others: readonly WrittenState[],
  ...traits: readonly ReasonTrait[]
): CodeRow {
  return { states: ['in_doubt', ...others], whenAbsent, traits };
}

/** These codes stay when the delivery is sent again, and when its import is given up. */
const RESENT: readonly WrittenState[] = ['due', 'parked'];

/** Every code that a delivery, a refused scope or a failed listing can carry. The codes are stable: people filter by them. */
const CODES = {
  // The API has not taken it, and it is sent again.
  throttled: settled(['due'], 'keeps_away_since'),
  /** This machine could not send the request. */
  local: settled(['due'], 'keeps_away_since'),
  denied_key: settled(['due'], 'access_denied'),
  denied_plan: settled(['due'], 'access_denied'),
  denied_scope: settled(['due'], 'access_denied', 'scope_denied'),
  unavailable: unconfirmed('resend', RESENT, 'api_away', 'keeps_away_since'),
  in_flight: unconfirmed('resend', RESENT, 'api_busy'),
  /** Others in the same import were refused. */
  untouched: settled(['due']),

  // It is unknown whether the write took effect.
  reset: unconfirmed('resend', RESENT),
  timeout: unconfirmed('resend', RESENT),
  server_error: unconfirmed('resend', RESENT),
  unreadable_answer: unconfirmed('resend', RESENT),
  crossed: unconfirmed('ask_person', RESENT, 'of_another_item'),
  crash: unconfirmed('resend', RESENT),
  /** The answer to an import does not say what became of this product. */
  unclear: unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
  /** The first import of a new product, which has to prove that the platform makes exactly one product of it. */
  import_proof: unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
  /** An import of new products was refused, and the answer does not say that this product was at fault. */
  import_refused: unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown'),
  /** An import of new products was refused because a product exists. */
  import_exists: unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown', 'found_before'),
  restored: unconfirmed('resend', ['due'], 'needs_reading', 'content_unknown', 'since_backup'),
  shared_id: unconfirmed('ask_person', [...RESENT, 'blocked'], 'needs_reading', 'content_unknown', 'of_another_item'),

  // The API has refused the delivery.
  exists: unconfirmed('reject_as_hidden', [...RESENT, 'rejected'], 'needs_reading', 'content_unknown', 'found_before'),
  may_exist: unconfirmed('by_status', [], 'needs_reading', 'content_unknown', 'found_before', 'may_exist'),
  gate: unconfirmed('block', ['blocked'], 'needs_reading', 'asked_again'),
  forbidden: unconfirmed('resend', [...RESENT, 'blocked'], 'item_forbidden', 'asked_again'),
  /**
   * The delivery is due again, because its import was refused as a whole. The members are now sent in smaller imports.
   */
  refused: unconfirmed('reject', ['due', 'rejected'], 'needs_reading'),

  // The API has no such write, or a person has to decide.
  unsupported: settled(['blocked']),
  renamed: settled(['blocked']),
  not_upserted: settled(['blocked'], 'made_second'),
  adopted: settled(['blocked'], 'adopted_change'),
  adopted_bom: settled(['blocked'], 'parts_unknown'),
  ambiguous_key: settled(['blocked'], 'ambiguous_key'),

  // The retry limit, a defect or a person has ended it.
  exhausted: unconfirmed('resend', ['parked']),
  internal: unconfirmed('resend', ['rejected']),
  person: settled(['rejected']),
  ignored: settled(['superseded']),

  /** A list of the platform could not be read. No delivery carries this code. */
  unlisted: settled([]),
  /** Stands for a reason that was not stored, or that another release has stored. */
  unknown: settled([]),
} as const satisfies Record<string, CodeRow>;

export type ReasonCode = keyof typeof CODES;

/** Why a delivery is in its state. People read it, and the next decisions use it. */
export interface Reason {
  code: ReasonCode;
  message: string;
  /** HTTP status that led here, where there was one. */
  status?: number;
  /** Problems by field, in the API's words. */
  fields?: Record<string, string>;
  /** An earlier attempt of the same write may have arrived before this was answered. */
  afterDoubt?: true;
  /**
   * Since when this has been the answer, where that matters, and of a code that keeps it, since when the API has not been
   * able to take the delivery; milliseconds since the Unix epoch.
   */
  since?: number;
  /**
   * Of a create that was refused: an earlier listing may not have shown the item yet. It is looked for once more after a
   * while (`since` is there by then), and by each later run of its source.
   */
  lookAgain?: true;
}

/** Stands for the reason of a delivery that has none. */
export const NO_REASON: Reason = { code: 'unknown', message: '' };

export const REASON_CODES = Object.keys(CODES) as readonly ReasonCode[];

const ROWS: Readonly<Record<ReasonCode, CodeRow>> = CODES;

/** The codes with a trait, for statements of the ledger. */
export function codesWith(trait: ReasonTrait): readonly ReasonCode[] {
  return REASON_CODES.filter((code) => ROWS[code].traits.includes(trait));
}

export function hasTrait(reason: Pick<Reason, 'code'>, trait: ReasonTrait): boolean {
  return ROWS[reason.code].traits.includes(trait);
}

/**
 * Whether a delivery in this state may carry the code. A delivery that is claimed, or that waits for a ref once more, keeps
 * the reason of the time when it was due, and one that is superseded keeps whatever it had.
 */
export function mayExplain(code: ReasonCode, state: DeliveryState): boolean {
  const { states } = ROWS[code];
  if (state === 'delivered') return false;
  if (state === 'superseded') return states.length > 0;
  return states.includes(state === 'waiting' || state === 'sending' ? 'due' : state);
}

/** True if the item was at the platform before, so that it is adopted. An item that an earlier attempt may have created is ours. */
export function wasThereBefore(reason: Reason): boolean {
  return hasTrait(reason, 'found_before') && reason.afterDoubt !== true;
}

/** True if one list is enough: if it does not show the item, the list is not read once more for this create. */
export function isLookedForOnce(reason: Reason): boolean {
  return hasTrait(reason, 'may_exist') && reason.lookAgain !== true;
}

const GATE_STATUS = 409;

/**
 * What becomes of a write that is proven to have had no effect. A refusal that came after it counts then. A person decides
 * where the code leaves it open (I6).
 */
export function whenAbsent({ code, status }: Pick<Reason, 'code' | 'status'>): WhenAbsent {
  const rule = ROWS[code].whenAbsent;
  if (rule === 'by_status') return status === GATE_STATUS ? 'block' : 'reject';
  return rule ?? 'ask_person';
}

/**
 * Since when the API could not take the delivery; null if its last answer was another one. The time stays while the
 * delivery waits for the API's limit or for this machine.
 */
export function awaySince(reason: Reason | null): number | null {
  return reason !== null && hasTrait(reason, 'keeps_away_since') ? (reason.since ?? null) : null;
}

/** Since when the API has said that it is working on the delivery; null if something else was its last answer. */
export function busySince(reason: Reason | null): number | null {
  return reason !== null && hasTrait(reason, 'api_busy') ? (reason.since ?? null) : null;
}

function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(CODES, code);
}

/** The reason that the ledger has stored. A code that this release does not know is read as `unknown`; the words stay. */
export function storedReason(text: string | null): Reason | null {
  if (text === null) return null;
  // The shape is the ledger's own.
  const { code, shape: _, ...rest } = JSON.parse(text) as JsonObject & Omit<Reason, 'code'>;
  return { ...rest, code: typeof code === 'string' && isReasonCode(code) ? code : 'unknown' };
}
