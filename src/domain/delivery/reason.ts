// Why a delivery is in its state.
//
// A reason is stored with its delivery and shown to people, and further decisions depend on its code. All rules that
// depend on the code are in this file: one row of `CODES` for each code, with the states that it may explain and its
// traits. A new code is a new row. A stored code that this release does not know is read as `unknown`, so that the
// union of codes is closed.

import { sha256Hex } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { DeliveryState } from './delivery.ts';

/** The traits that a code of a reason can have. Decisions depend on them. */
export type ReasonTrait =
  /** The unconfirmed delivery may not simply be sent again: the list has to be read. */
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
  /** The API was not able to accept the delivery. */
  | 'api_away'
  /** The reason keeps the time since which the API has not been able to accept the delivery. */
  | 'keeps_away_since'
  /** The API is still working on an earlier send. */
  | 'api_busy'
  /** The API refuses the key, the plan or the scope, and not this item. */
  | 'access_denied'
  /** The API refused the scope, which may be about the key or about this item. */
  | 'scope_denied'
  /** The API refuses the scope for this item, while it grants the scope to other items. */
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
  | 'made_second'
  /** Each run of the source looks the item up again, because a person may have corrected the platform. */
  | 'looked_up_by_runs'
  /** If a person asks for another import of this change, imports of changes are proven again. */
  | 'needs_proof'
  /** Nothing shows that a create with this code has made an item, or that another item is in its place. */
  | 'made_nothing'
  /** The API has answered with a success that proves too little. Where no list can be read, the answer is all there is. */
  | 'was_answered';

/** What to do with an unconfirmed delivery that is proven to be absent from the platform. */
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

/** A code of unconfirmed deliveries. `others` are the other states in which it can be written. */
function unconfirmed(
  whenAbsent: WhenAbsent | 'by_status',
  others: readonly WrittenState[],
  ...traits: readonly ReasonTrait[]
): CodeRow {
  return { states: ['in_doubt', ...others], whenAbsent, traits };
}

/** The further states of codes that a delivery keeps when it is sent again or when its retry limit is reached. */
const RESENT: readonly WrittenState[] = ['due', 'parked'];

/** Every code that a delivery, a refused scope or a failed listing can carry. The codes are stable: people filter by them. */
const CODES = {
  // Codes of a delivery that the API has not accepted and that is sent again.
  throttled: settled(['due'], 'keeps_away_since', 'made_nothing'),
  /** This machine could not send the request. */
  local: settled(['due'], 'keeps_away_since', 'made_nothing'),
  denied_key: settled(['due'], 'access_denied', 'made_nothing'),
  denied_plan: settled(['due'], 'access_denied', 'made_nothing'),
  denied_scope: settled(['due'], 'access_denied', 'scope_denied', 'made_nothing'),
  unavailable: unconfirmed('resend', RESENT, 'api_away', 'keeps_away_since', 'made_nothing'),
  in_flight: unconfirmed('resend', RESENT, 'api_busy'),
  /** Other members of the same import were refused. */
  untouched: settled(['due'], 'made_nothing'),
  /** The create of a new item waits until the guard has decided about the item's stream. */
  guarded: settled(['due'], 'made_nothing'),

  // Codes of a delivery for which it is unknown whether the write took effect.
  reset: unconfirmed('resend', RESENT),
  timeout: unconfirmed('resend', RESENT),
  server_error: unconfirmed('resend', RESENT),
  unreadable_answer: unconfirmed('resend', RESENT),
  crossed: unconfirmed('ask_person', RESENT, 'of_another_item'),
  crash: unconfirmed('resend', RESENT),
  /** The API has answered with a success that does not repeat what was sent. */
  unechoed: unconfirmed('resend', RESENT, 'needs_reading', 'was_answered'),
  /** The API has answered a publication or a withdrawal with a success that does not say that it is done. */
  pending: unconfirmed('ask_person', [], 'needs_reading', 'was_answered'),
  /** The API has answered a step of a passport with a 409 whose words do not say whether the step is done. */
  conflict: unconfirmed('block', RESENT, 'needs_reading', 'was_answered'),
  /** The answer to an import does not say whether this product was stored. */
  unclear: unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
  /** An import of new products that has to prove that the platform keeps exactly one product for each of its members. */
  import_proof: unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
  /** An import that has to prove that the platform updates products, and keeps exactly one for each of its members. */
  change_proof: unconfirmed('resend', RESENT, 'needs_reading', 'was_answered'),
  /** An import of new products was refused, and the answer does not say that this product was at fault. */
  import_refused: unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown'),
  /** An import of new products was refused because a product exists. */
  import_exists: unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown', 'found_before'),
  restored: unconfirmed('resend', ['due'], 'needs_reading', 'content_unknown', 'since_backup'),
  shared_id: unconfirmed('ask_person', [...RESENT, 'blocked'], 'needs_reading', 'content_unknown', 'of_another_item'),

  /** A list shows the new item several times. A person has to remove all but one. */
  made_twice: unconfirmed('ask_person', RESENT, 'needs_reading', 'looked_up_by_runs'),

  // Codes of a delivery that the API has refused.
  exists: unconfirmed('reject_as_hidden', [...RESENT, 'rejected'], 'needs_reading', 'content_unknown', 'found_before'),
  may_exist: unconfirmed('by_status', [], 'needs_reading', 'content_unknown', 'found_before', 'may_exist'),
  gate: unconfirmed('block', ['blocked'], 'needs_reading', 'asked_again', 'made_nothing'),
  forbidden: unconfirmed('resend', [...RESENT, 'blocked'], 'item_forbidden', 'asked_again', 'made_nothing'),
  /**
   * The delivery is due again, because its import was refused as a whole. The members are now sent in smaller imports.
   */
  refused: unconfirmed('reject', ['due', 'rejected'], 'needs_reading', 'made_nothing'),

  // Codes of a delivery that is blocked because the API has no such write or a person has to decide.
  unsupported: settled(['blocked'], 'made_nothing'),
  renamed: settled(['blocked']),
  not_upserted: settled(['blocked'], 'made_second', 'needs_proof'),
  /** Imports of changed products have failed to prove themselves. */
  import_unproven: settled(['blocked'], 'needs_proof'),
  adopted: settled(['blocked'], 'adopted_change'),
  adopted_bom: settled(['blocked'], 'parts_unknown'),
  ambiguous_key: settled(['blocked'], 'ambiguous_key'),

  // Codes of a delivery that the retry limit, a defect or a person has ended.
  exhausted: unconfirmed('resend', ['parked']),
  internal: unconfirmed('resend', ['rejected'], 'made_nothing'),
  person: settled(['rejected'], 'made_nothing'),
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
  /** The HTTP status that was the cause, if there was one. */
  status?: number;
  /** Problems by field, with the API's messages. */
  fields?: Record<string, string>;
  /** An earlier attempt of the same write may have arrived before this answer. */
  afterDoubt?: true;
  /**
   * Milliseconds since the Unix epoch; absent if the reason needs no time. For a code with the trait `keeps_away_since`:
   * since when the API has not been able to accept the delivery. For a member of an import of new products that is looked
   * up: when the import was answered or lost. For any other delivery with `in_flight`: since when the API has said that
   * it is working on the delivery.
   */
  since?: number;
  /**
   * Set for a refused create whose item an earlier listing may not have shown yet. The item is looked up once more
   * after a while (`since` is set by then), and again by each later run of its source.
   */
  lookAgain?: true;
  /** The id that the answer named, if no list has confirmed it yet. */
  answeredId?: JsonValue;
  /** The words of the platform for a result that is not known. Such a write is never taken without proof. */
  words?: string;
  /** The list is read when the other writes of the run are done, or at the end of the wait at the latest. */
  atRest?: true;
}

/** The reason that is used if a delivery has none. */
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
 * Whether a delivery in this state may carry the code. A delivery that is claimed, or that waits for a ref again, keeps
 * the reason that it had when it was due. A superseded delivery keeps any reason.
 */
export function mayExplain(code: ReasonCode, state: DeliveryState): boolean {
  const { states } = ROWS[code];
  if (state === 'delivered') return false;
  if (state === 'superseded') return states.length > 0;
  return states.includes(state === 'waiting' || state === 'sending' ? 'due' : state);
}

/**
 * True if the item was at the platform before, so that it is adopted. An item that an earlier attempt may have created
 * belongs to this ledger.
 */
export function wasThereBefore(reason: Reason): boolean {
  return hasTrait(reason, 'found_before') && reason.afterDoubt !== true;
}

/** True if one list is enough: if it does not show the item, the list is not read once more for this create. */
export function isLookedForOnce(reason: Reason): boolean {
  return hasTrait(reason, 'may_exist') && reason.lookAgain !== true;
}

const GATE_STATUS = 409;

/**
 * What to do with a write that is proven to have had no effect. If the API refused the write after the lost attempt,
 * that refusal is valid. If the code leaves the decision open, a person decides (I6).
 */
export function whenAbsent({ code, status }: Pick<Reason, 'code' | 'status'>): WhenAbsent {
  const rule = ROWS[code].whenAbsent;
  if (rule === 'by_status') return status === GATE_STATUS ? 'block' : 'reject';
  return rule ?? 'ask_person';
}

/**
 * Since when the API could not accept the delivery; null if its last answer was another one. The time does not change
 * while the delivery waits for the API's limit or for this machine.
 */
export function awaySince(reason: Reason | null): number | null {
  return reason !== null && hasTrait(reason, 'keeps_away_since') ? (reason.since ?? null) : null;
}

/** Since when the API has said that it is working on the delivery; null if its last answer was another one. */
export function busySince(reason: Reason | null): number | null {
  return reason !== null && hasTrait(reason, 'api_busy') ? (reason.since ?? null) : null;
}

function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(CODES, code);
}

/**
 * The reason that the ledger has stored. A code that this release does not know is read as `unknown`; its message is
 * kept.
 */
export function storedReason(text: string | null): Reason | null {
  if (text === null) return null;
  // The ledger groups items by the stored shape of their reasons. The reason itself has no shape.
  const { code, shape: _, ...rest } = JSON.parse(text) as JsonObject & Omit<Reason, 'code'>;
  return { ...rest, code: typeof code === 'string' && isReasonCode(code) ? code : 'unknown' };
}

const LENGTH = 12;

/**
 * A short text that many reasons have in common. It is the same for two reasons that differ only in quoted words, in
 * words with digits, and in times. If the platform refused fields, the names and messages of the fields are part of the
 * text.
 */
export function reasonShape({ code, message, fields }: Pick<Reason, 'code' | 'message' | 'fields'>): string {
  const words =
    fields === undefined
      ? plainWords(message)
      : Object.keys(fields)
          .sort()
          .map((field) => `${field}: ${plainWords(fields[field] ?? '')}`)
          .join('\n');
  return sha256Hex(`${code}\n${words}`).slice(0, LENGTH);
}

const QUOTED = /"[^"]*"|`[^`]*`|'[^']*'(?!\w)/g;
const WITH_DIGIT = /[^\s,;:()]*\d[^\s,;:()]*/g;
/** A platform may answer with a page of text. The beginning is enough to recognise it. */
const WORDS_MAX = 300;

function plainWords(text: string): string {
  return text.slice(0, WORDS_MAX).replace(QUOTED, '…').replace(WITH_DIGIT, '…');
}
