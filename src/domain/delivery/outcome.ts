import type { JsonValue } from '../../lib/json.ts';
import type { Operation } from './operation.ts';

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

// How much a success of the API proves. A 2xx alone proves little: the platform may have queued the request, or a
// server in front of the platform may have answered. Each effect of a write therefore names the evidence that it needs.
// An answer with weaker evidence leaves the write unconfirmed until a list of the platform shows its effect.
//
// An answer that contradicts the request has no strength: its outcome is `ambiguous` with the cause `crossed`.

/** The strengths of evidence, the weakest first. */
export const EVIDENCE = [
  /** The answer states a result in a word that no list of the profile has, or states that the work is not done yet. */
  'unknown_word',
  /** A 2xx whose body says nothing about the request. */
  'bare',
  /** The answer has an id, and contradicts nothing that was sent. */
  'id',
  /** The answer repeats the values that identify the request, and the result in a known word where one is needed. */
  'echo',
] as const;
export type Evidence = (typeof EVIDENCE)[number];

/** The facts that the ledger takes from an answer. */
export const EFFECTS = [
  /** The write took effect: the ledger stores what was sent as the baseline. */
  'baseline',
  /** The id belongs to this item: BOM items and passports use it. */
  'id',
  /** The passport is public, or is not public any more. */
  'published',
] as const;
type Effect = (typeof EFFECTS)[number];

type Needs = Readonly<Record<Effect, Evidence | null>>;

const NOTHING: Needs = { baseline: null, id: null, published: null };
const NEW_ITEM: Needs = { ...NOTHING, baseline: 'id', id: 'echo' };
const PUBLICATION: Needs = { ...NOTHING, published: 'echo' };

/**
 * The evidence that each effect of a write needs; null where the write has no such effect. For an import this is the
 * evidence about one row.
 */
export const NEEDED_EVIDENCE: Readonly<Record<Operation, Needs>> = {
  'product.create': NEW_ITEM,
  'product.update': NOTHING,
  'product.import': NEW_ITEM,
  'material.create': NEW_ITEM,
  // The API's document shows no bodies of answers, so a platform may answer these writes with a bare 2xx.
  'material.update': { ...NOTHING, baseline: 'bare' },
  'bom_item.create': { ...NOTHING, baseline: 'bare' },
  'bom_item.update': NOTHING,
  'passport.init': { ...NOTHING, baseline: 'bare' },
  'passport.publish': PUBLICATION,
  'passport.unpublish': PUBLICATION,
};

/**
 * Why a weak answer was taken although no list has confirmed it: `assumed_empty` and `unlisted` for the id of a new
 * item, where nothing is listed or where the list cannot be read; `accepted` where the profile says so
 * (`answers.withoutProof`).
 */
const UNPROVEN_CAUSES = ['assumed_empty', 'unlisted', 'accepted'] as const;
export type UnprovenCause = (typeof UNPROVEN_CAUSES)[number];

/** True if the evidence is as strong as needed. */
export function isEnough(evidence: Evidence, needed: Evidence): boolean {
  return EVIDENCE.indexOf(evidence) >= EVIDENCE.indexOf(needed);
}

/**
 * True if an answer with this evidence proves all effects of the write.
 *
 * @param echoedBefore whether this platform has repeated earlier requests of this operation. An answer that repeats
 *   nothing is then unusual, and proves nothing.
 */
export function provesAll(
  operation: Operation,
  evidence: Evidence,
  { echoedBefore }: { echoedBefore: boolean },
): boolean {
  return EFFECTS.every((effect) => {
    const needed = NEEDED_EVIDENCE[operation][effect];
    return needed === null || isEnough(evidence, echoedBefore ? 'echo' : needed);
  });
}
