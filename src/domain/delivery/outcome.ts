import type { JsonValue } from '../../lib/json.ts';
import type { Evidence } from './evidence.ts';

/**
 * Why it is unknown whether a request took effect. `crossed` means that the answer was about another request. The
 * settling delay before a read-back depends on it.
 */
export type UnconfirmedCause = 'reset' | 'timeout' | 'server_error' | 'unreadable_answer' | 'crossed' | 'crash';

/**
 * What an answer of the API, or a lost answer, means for a delivery. Only `api/` translates HTTP statuses into
 * outcomes.
 */
export type Outcome =
  /**
   * The write took effect. `remoteId` is null if the answer has no id and none is needed. `members` is only there for
   * an import: one result for each member, in the order of the request, because an accepted import may have refused
   * some members. `shownAs` is the natural key in the answer, if it differs from the sent one. `evidence` says how much
   * the answer proves; for an import it is about the import as a whole. `words` are the platform's own, if the answer
   * states a result that does not prove the write. `form` has the features of the answer to an import that a list has to
   * confirm once.
   */
  | {
      kind: 'accepted';
      evidence: Evidence;
      words?: string;
      remoteId: JsonValue;
      members?: MemberOutcome[];
      form?: readonly string[];
      shownAs?: string;
    }
  /** The platform refused a create because an item with the same natural key exists. The item's id has to be read. */
  | { kind: 'exists'; detail: OutcomeDetail }
  /** 429: the rate controller waits, and the delivery uses no attempt. */
  | { kind: 'throttled'; retryAfterMs: number | null; detail: OutcomeDetail }
  /**
   * The request never left this machine, or the words of a 503 prove that the request was not processed; the profile
   * lists these words. The request had no effect and is sent again later. With `local` this machine could not send it,
   * which shows nothing about the API.
   */
  | { kind: 'unavailable'; sent: boolean; local?: true; retryAfterMs: number | null; detail: OutcomeDetail }
  /**
   * The request was sent and no usable answer came back. With `atWork` the API itself has answered, but incompletely,
   * so it is not away. `retryAfterMs` is the wait that the answer asks for.
   */
  | { kind: 'ambiguous'; cause: UnconfirmedCause; atWork?: true; retryAfterMs?: number | null; detail: OutcomeDetail }
  /** 409: a business rule blocks the write for now. `mayExist` has the same meaning as for `refused`. */
  | { kind: 'gated'; detail: OutcomeDetail; mayExist?: true }
  /** The API is still working on an earlier request with the same idempotency key. Send it again later. */
  | { kind: 'in_flight'; detail: OutcomeDetail }
  /**
   * The data is wrong. `members` is present if a refused import names the members at fault. With `endpoint` the address or the
   * form of the request is wrong, so other data would be refused too. With `mayExist` a create may have been refused
   * because its item exists, although the answer does not state that. With `namesItem` the answer has an id or repeats the
   * request, so the platform may have stored the item all the same.
   */
  | {
      kind: 'refused';
      detail: OutcomeDetail;
      members?: MemberOutcome[];
      endpoint?: true;
      mayExist?: true;
      namesItem?: true;
    }
  /** 401, 402 or 403: the API refuses the key, the plan or the scope. The delivery stays due. */
  | { kind: 'denied'; by: 'key' | 'plan' | 'scope'; detail: OutcomeDetail };

/** What the answer to an import states about one of its members. */
export type MemberOutcome =
  /**
   * The member was stored with the sent content. `effect` and `remoteId` are null if the answer does not name them.
   * `mixed`: the answer counts created members and updated ones, and does not say which they are.
   */
  | { kind: 'accepted'; effect: 'created' | 'updated' | 'mixed' | null; remoteId: JsonValue }
  /**
   * The member was not stored, because its data is wrong. A new product may be refused because it exists. With `namesItem`
   * the refusal of a new product has an id, so the platform may have stored the product all the same.
   */
  | { kind: 'refused'; detail: OutcomeDetail; exists?: true; namesItem?: true }
  /** The member was not stored, because other members of the import were refused. */
  | { kind: 'untouched' }
  /**
   * The answer does not clearly say what became of the member, so the list has to be read. `why` is a sentence with the
   * platform's own words.
   */
  | { kind: 'unknown'; why?: string };

/** The parts of an answer that a person needs. Never contains a request header (I7). */
export interface OutcomeDetail {
  /** HTTP status, or null if there was no answer. */
  status: number | null;
  /** One sentence: the shortened message of the API, if the answer has one. */
  message: string;
  /** Problems by field, where the API named fields. */
  fields?: Record<string, string>;
}

/** The wait that an answer asks for, in milliseconds; null if it names none. */
export function askedWaitMs(outcome: Outcome): number | null {
  const asks = outcome.kind === 'throttled' || outcome.kind === 'unavailable' || outcome.kind === 'ambiguous';
  return asks ? (outcome.retryAfterMs ?? null) : null;
}

/** A wait beyond a minute that the API has asked for. Times are milliseconds since the Unix epoch. */
export interface ApiWait {
  /** When the API refused the first request. */
  since: number;
  /** The end that the API has named; null if it names none and still refuses. */
  until: number | null;
  /** When the API is asked again. */
  askAgainAt: number;
  /** The message of the API. */
  message: string;
}
