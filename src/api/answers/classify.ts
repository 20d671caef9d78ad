// Decides what each HTTP status means. Only this file does so. `lost-request.ts` decides about requests and answers that are lost.
//
// The API document defines 401, 402, 403, 409 and 429 ("Errors"), and RFC 9110 the others. Every line answers one question:
// could the write have taken effect? If this is unknown, the outcome is `ambiguous`, never a guess (I6).

import type {
  Evidence,
  MemberOutcome,
  Outcome,
  OutcomeDetail,
  UnconfirmedCause,
} from '../../domain/delivery/outcome.ts';
import { sentence } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type AnswerHeaders, retryAfterMs, throttledForMs } from '../../lib/retry-after.ts';
import { describeLoss, outcomeOfSilence, unconfirmedCauseOf } from '../lost-request.ts';
import type { Exchange, Loss } from '../transport.ts';
import { type CleanText, parseJson } from './answer-text.ts';
import {
  alreadyExists,
  decodeError,
  type ErrorBody,
  isKeyBusy,
  mayExist,
  type SoftRefusal,
  softRefusal,
} from './decode.ts';
import { compareWith, type Difference, holdersOf, NOT_COMPARED, otherItem, type SentIdentity } from './echo.ts';
import {
  describeNoId,
  type ExpectedState,
  type IdPlaces,
  idInAddress,
  newItemIn,
  remoteIdIn,
  saidOf,
  whyNoId,
} from './entry.ts';
import { decodeImport, type ImportExpectation } from './import-answer.ts';
import type { WordReader } from './import-words.ts';

/** What the classification of an answer needs to know about its request. */
export interface Expectation extends IdPlaces {
  /** What the answer has to contain: the new item's id, or nothing. */
  needsId: boolean;
  /** For a create: the path of its endpoint. A `Location` below this path has the new id. */
  createsAt?: string;
  /** The dotted path of the fields in the item of an answer; null or absent if the item has them itself. */
  entryAt?: string | null;
  /** For a create: the names of the unique fields in the request. Empty for other requests. */
  uniqueFields: readonly string[];
  /** For a create: no list shows the new item, so a refusal that names an id is never followed by a second create. */
  unlisted?: true;
  /** For a create: the words by which an answer may state that the item was there before. */
  words?: WordReader;
  /** For an import: its members. The answer may name each of them. */
  members?: ImportExpectation;
  /** The values of the request that the answer may repeat. Called only for a success, because it takes time. */
  sent?: () => SentIdentity;
  /** True for a step of a passport. Its refusal is a business rule of the platform. */
  isPassport?: true;
  /** For a publication or a withdrawal: how the answer states the new state of the passport. */
  state?: ExpectedState;
}

/** The expectation for a request whose answer may have any content. */
export const NOTHING_EXPECTED: Expectation = { needsId: false, idPaths: [], uniqueFields: [] };

type Answer = Extract<Exchange, { kind: 'answer' }>;

/** The meaning of a status. For `away` the body has to prove that the request was not processed. */
type Meaning =
  | 'done'
  | 'redirect'
  | 'key'
  | 'plan'
  | 'scope'
  | 'gate'
  | 'throttle'
  | 'away'
  | 'refusal'
  | UnconfirmedCause;

const MEANINGS: Readonly<Record<number, Meaning>> = {
  401: 'key',
  402: 'plan',
  403: 'scope',
  // The server has stopped waiting for the request, or a gateway has stopped waiting for the server behind it. That
  // server may still be working.
  408: 'timeout',
  504: 'timeout',
  409: 'gate',
  429: 'throttle',
  // By RFC 9110 a server that does not handle requests at present answers 503. A gateway also answers 503 if the server behind it
  // took the request and then lost the connection. The status alone therefore proves nothing.
  503: 'away',
};

/** The meaning of any status, by the table or by its class. */
export function meaningOf(status: number): Meaning {
  const meaning = MEANINGS[status];
  if (meaning !== undefined) return meaning;
  if (status >= 200 && status < 300) return 'done';
  if (status >= 300 && status < 400) return 'redirect';
  if (status >= 400 && status < 500) return 'refusal';
  return status >= 500 ? 'server_error' : 'unreadable_answer';
}

/** By RFC 9110 a request with the answer 202 was accepted and is not finished. A read is repeated. */
export function isUnfinished(status: number): boolean {
  return status === 202;
}

/** The outcome of a useless answer of the API. */
export function unreadableAnswer(status: number | null, message: string): Outcome {
  return { ...foreignAnswer(status, message), atWork: true };
}

/**
 * The outcome of an answer that is not from the API: the page of another server that is in front of the API or answers
 * in its place.
 */
export function foreignAnswer(status: number | null, message: string): Outcome & { kind: 'ambiguous' } {
  return { kind: 'ambiguous', cause: 'unreadable_answer', detail: { status, message } };
}

/** True if the part of an answer that was read is a list. A page of HTML with a 200 is not a list. */
export function answersList({ status, body, cut }: Extract<Exchange, { kind: 'answer' }>): boolean {
  if (meaningOf(status) !== 'done') return false;
  const value = parseJson(body);
  if (value === undefined) return cut?.by === 'size' && /^\s*(?:[[{]|$)/.test(body);
  return typeof value === 'object' && value !== null;
}

/** Statuses of answers to a create that may mean that the item exists. */
const EXISTS_STATUSES = new Set([400, 409, 422]);

/** The address does not exist or does not take such a request, whatever the data are. */
const ENDPOINT_STATUSES = new Set([404, 405, 406, 410, 411, 415]);

const CREATED = 201;

const WAS_THERE = 'The answer to the create says that the item was there before.';

/** The longest address of a redirect that a message shows. */
const ADDRESS_LENGTH_MAX = 200;

/** How much of a 503's body is searched for the words of `answers.unprocessed503`. */
const WORDS_WITHIN = 4_096;

/** @param now milliseconds since the Unix epoch */
export function createClassifier(options: { clean: CleanText; now: () => number; unprocessed: readonly string[] }) {
  const { clean, now } = options;
  const unprocessed = options.unprocessed.map((words) => words.toLowerCase());

  /** Whether a 503 proves that the request was not processed. `Retry-After` only names a time. */
  function isUnprocessed(body: string): boolean {
    const text = body.slice(0, WORDS_WITHIN).toLowerCase();
    return unprocessed.some((words) => text.includes(words));
  }

  function answered(exchange: Answer, expectation: Expectation): Outcome {
    const { status, headers, body, cut } = exchange;
    const meaning = meaningOf(status);
    // A cut body decides nothing. If the status does not decide either, the answer counts as lost.
    if (cut !== null && needsBody(meaning, cut)) {
      const message = `${clean(`The API began to answer with ${status}`)}, but ${describeLoss(cut, clean)}`;
      return {
        kind: 'ambiguous',
        cause: unconfirmedCauseOf(cut),
        ...(status < 500 && { atWork: true }),
        detail: { status, message },
      };
    }
    if (meaning === 'done') return done(exchange, expectation);
    const error = decodeError(body, clean);
    const detail = detailOf(status, error, headers);
    switch (meaning) {
      case 'key':
      case 'plan':
      case 'scope':
        return { kind: 'denied', by: meaning, detail };
      case 'throttle':
        return { kind: 'throttled', retryAfterMs: throttledForMs(headers, now()), detail };
      case 'away': {
        const waitMs = retryAfterMs(headers, now());
        if (isUnprocessed(body)) return { kind: 'unavailable', sent: true, retryAfterMs: waitMs, detail };
        // The server behind the gateway may still be processing the request, as after a 504.
        return { kind: 'ambiguous', cause: 'timeout', retryAfterMs: waitMs, detail };
      }
      case 'gate':
        if (saysExists(status, error, expectation)) return { kind: 'exists', detail };
        if (isKeyBusy(error)) return { kind: 'in_flight', detail };
        return { kind: 'gated', detail, ...hint(status, error, expectation) };
      case 'refusal': {
        // An answer that names members of an import is only about these members.
        const named = withMembers(parseJson(body), expectation, 'refused');
        if (named.members === undefined && saysExists(status, error, expectation)) return { kind: 'exists', detail };
        if (ENDPOINT_STATUSES.has(status)) return { kind: 'refused', detail, endpoint: true };
        return { kind: 'refused', detail, ...named, ...hint(status, error, expectation) };
      }
      case 'redirect':
        return { kind: 'refused', detail, endpoint: true };
      case 'timeout':
      case 'server_error':
      case 'unreadable_answer':
      case 'reset':
      case 'crossed':
      case 'crash':
        return { kind: 'ambiguous', cause: meaning, detail };
    }
  }

  function done({ status, headers, body }: Answer, expectation: Expectation): Outcome {
    if (isPage(body)) return foreignAnswer(status, notDone(status, 'with a page of HTML'));
    const location = idInLocation(status, headers, expectation);
    const value = successIn(body, expectation, location);
    if (value === undefined) return unreadableAnswer(status, notDone(status, 'in a body that is not JSON'));
    const { entryAt, idUrlPaths = [] } = expectation;
    const anyIds = { idPaths: expectation.state?.idPaths ?? expectation.idPaths, idUrlPaths };
    const holders = holdersOf(value, anyIds.idPaths, entryAt);
    const sent = expectation.sent?.();
    const compared = sent === undefined ? NOT_COMPARED : compareWith(holders, sent);
    const { difference, repeats } = compared;
    const named = withMembers(value, expectation, 'accepted');
    const remoteId = remoteIdIn(value, expectation, clean) ?? location;
    const isWritten = expectation.isPassport === true || (remoteId !== null && !compared.onlyOwnId);
    const isItem = repeats && isWritten;
    const refusal = softRefusal(value, { isItem, isImport: expectation.members !== undefined, clean });
    if (refusal !== null && !saysOfMembers(named.members)) {
      return softlyRefused(status, refusal, { expectation, remoteId, isNamed: remoteId !== null || repeats });
    }
    if (remoteId === null && expectation.needsId) {
      return unreadableAnswer(status, notDone(status, describeNoId(whyNoId(value, expectation, clean))));
    }
    const crossed = difference !== null && !difference.formOnly ? difference : otherItem(remoteId, sent);
    if (crossed !== null) return crossedAnswer(status, crossed, clean);
    if (status !== CREATED && wasThere(holders, expectation.words, sent)) {
      return { kind: 'exists', detail: { status, message: WAS_THERE } };
    }
    const hasId = remoteId !== null || remoteIdIn(value, anyIds, clean) !== null;
    // By RFC 9110 the platform has not finished a request that it answers with 202, so the new item may fail later.
    const mayFail = isUnfinished(status) && expectation.needsId;
    const evidence = repeats && !mayFail ? 'echo' : hasId ? 'id' : 'bare';
    return {
      kind: 'accepted',
      ...stated(holders, evidence, expectation),
      remoteId,
      ...named,
      ...(difference !== null && { shownAs: clean(shownAs(difference)) }),
    };
  }

  /** The new id in the header `Location` of a 201 (RFC 9110, section 15.3.2). Another status may name another resource there. */
  function idInLocation(status: number, headers: AnswerHeaders, { createsAt }: Expectation): string | number | null {
    const address = headers['location'];
    if (status !== CREATED || createsAt === undefined || typeof address !== 'string') return null;
    const path = newItemIn(address, createsAt);
    return path === null ? null : idInAddress(path, clean);
  }

  /** The evidence of an answer. For a publication or a withdrawal it depends on the state that the answer names. */
  function stated(
    holders: readonly JsonValue[],
    evidence: Evidence,
    { state }: Expectation,
  ): { evidence: Evidence; words?: string } {
    if (state === undefined) return { evidence };
    const said = saidOf(holders, state, clean);
    if (said === 'done') return { evidence: 'echo' };
    if (said !== null) return { evidence: 'unknown_word', words: said.words };
    return { evidence: evidence === 'echo' ? 'id' : evidence };
  }

  /**
   * The outcome of a success whose body states that nothing was done. A passport needs no correction of its data. An
   * answer that names the item all the same is unclear: the platform may have stored the item.
   */
  function softlyRefused(
    status: number,
    { problems, isStated }: SoftRefusal,
    answer: { expectation: Expectation; remoteId: JsonValue; isNamed: boolean },
  ): Outcome {
    const { expectation, remoteId, isNamed } = answer;
    const detail = detailOf(status, problems, {});
    if (expectation.isPassport === true) return { kind: 'gated', detail };
    if (saysExists(400, problems, expectation)) return { kind: 'exists', detail };
    if (expectation.uniqueFields.length > 0) {
      return { kind: 'refused', detail, mayExist: true, ...(isNamed && { namesItem: true }) };
    }
    // The id of a changed item was known before, so beside a stated failure it shows nothing.
    const isUnclear = isNamed && expectation.members === undefined && (expectation.unlisted === true || !isStated);
    if (!isUnclear) return { kind: 'refused', detail };
    return { kind: 'accepted', evidence: 'unknown_word', words: detail.message, remoteId };
  }

  function withMembers(
    value: JsonValue | undefined,
    { members }: Expectation,
    decision: 'accepted' | 'refused',
  ): { members?: MemberOutcome[]; form?: readonly string[] } {
    if (members === undefined) return {};
    const decoded = decodeImport(value ?? null, decision, members, clean);
    if (decoded === null) return {};
    return decision === 'refused' ? { members: decoded.members } : decoded;
  }

  function detailOf(status: number, error: ErrorBody, headers: AnswerHeaders): OutcomeDetail {
    const message = meaningOf(status) === 'redirect' ? redirectMessage(status, headers) : error.message;
    return {
      status,
      message: message === '' ? fallbackMessage(status) : sentence(message),
      ...(Object.keys(error.fields).length > 0 && { fields: error.fields }),
    };
  }

  function redirectMessage(status: number, headers: AnswerHeaders): string {
    const to = typeof headers['location'] === 'string' ? headers['location'].replace(/[?#].*$/s, '') : null;
    const address =
      to === null || to.length > ADDRESS_LENGTH_MAX ? null : clean.identifier(clean.plain(to, ADDRESS_LENGTH_MAX));
    const where = address === null ? '' : ` to ${address}`;
    return `The API answered with a redirect (${status})${where}. dpp-sync follows no redirect: correct target.baseUrl.`;
  }

  return {
    outcomeOf: (exchange: Exchange, expectation: Expectation): Outcome =>
      exchange.kind === 'answer' ? answered(exchange, expectation) : outcomeOfSilence(exchange, clean),
  };
}

export type Classifier = ReturnType<typeof createClassifier>;

/**
 * The JSON of a success; null for an empty body.
 *
 * The status decides. Text in the body changes nothing. Members that the answer to an import does not name are read back. Broken
 * JSON counts as a lost answer.
 *
 * @returns undefined if the body lacks what the write needs
 */
function successIn(
  body: string,
  { needsId, members }: Expectation,
  location: string | number | null,
): JsonValue | undefined {
  const value = body.trim() === '' ? null : parseJson(body);
  if (value !== undefined || (needsId && location === null)) return value;
  return members !== undefined || !/^\s*[[{"]/.test(body) ? null : undefined;
}

/** True if the answer to an import says something about one of its members. */
function saysOfMembers(members: readonly MemberOutcome[] | undefined): boolean {
  return members?.some(({ kind }) => kind !== 'unknown') === true;
}

/** The outcome of an answer that repeats values of another request. */
function crossedAnswer(status: number, { name, sent, shown }: Difference, clean: CleanText): Outcome {
  const message = clean(
    `The answer is about another request: it has the ${name} ${JSON.stringify(shown)}, and ${JSON.stringify(sent)} was sent.`,
  );
  return { kind: 'ambiguous', cause: 'crossed', atWork: true, detail: { status, message } };
}

/** True for a page of HTML in place of an answer. It comes from a proxy or a login. */
function isPage(body: string): boolean {
  return /^\s*</.test(body);
}

function notDone(status: number, how: string): string {
  return `The API answered with ${status} ${how}, so the write does not count as done.`;
}

function shownAs({ name, sent, shown }: Difference): string {
  return `The platform shows the ${name} as ${JSON.stringify(shown)}; ${JSON.stringify(sent)} was sent.`;
}

/** False if the status alone decides, or if the beginning of a long error body is enough. */
function needsBody(meaning: Meaning, cut: Loss): boolean {
  if (meaning === 'done') return true;
  return (meaning === 'gate' || meaning === 'refusal') && cut.by !== 'size';
}

/** True if an answer states in a known word that the item was there before, whether it was changed or not. */
function wasThere(
  holders: readonly JsonValue[],
  words: WordReader | undefined,
  sent: SentIdentity | undefined,
): boolean {
  const results = holders.map((holder) => words?.said(holder, sent?.kind?.sent).said);
  return results.some((said) => said === 'updated' || said === 'exists');
}

/** Whether the answer to a create states that the item exists. */
function saysExists(status: number, error: ErrorBody, { uniqueFields }: Expectation): boolean {
  return uniqueFields.length > 0 && EXISTS_STATUSES.has(status) && alreadyExists(error, uniqueFields);
}

function hint(status: number, error: ErrorBody, { uniqueFields }: Expectation): { mayExist?: true } {
  const isCreate = uniqueFields.length > 0 && EXISTS_STATUSES.has(status);
  return isCreate && mayExist(error, uniqueFields) ? { mayExist: true } : {};
}

function fallbackMessage(status: number): string {
  return `The API answered with ${status} and gave no reason.`;
}
