// Why a delivery is in its state.
//
// A reason is stored with its delivery and shown to people, and further decisions depend on its code. The rules that
// depend on the code are in its row of `REASONS`; this file reads them. A stored code that this release does not know is
// read as `unknown`, so that the union of codes is closed.

import { sha256Hex } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { REASONS, type ReasonRow, type ReasonTrait, type WhenAbsent } from '../words/reasons.ts';
import type { DeliveryState } from './delivery.ts';

export type ReasonCode = keyof typeof REASONS;

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

export const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];

const ROWS: Readonly<Record<ReasonCode, ReasonRow>> = REASONS;

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

export function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(REASONS, code);
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
