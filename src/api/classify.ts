// What each HTTP status means. Only this file decides that. `loss-doubt.ts` decides what a lost request or answer means.
//
// The API document fixes 401, 402, 403, 409 and 429 ("Errors"); RFC 9110 the others. The one question behind every line:
// could the write have taken effect? Where nobody can say, the outcome is `ambiguous`, never a guess (I6).

import type { MemberOutcome, Outcome, OutcomeDetail, UnconfirmedCause } from '../domain/outcome.ts';
import type { JsonValue } from '../lib/json.ts';
import { localTroubleOf } from '../lib/local-trouble.ts';
import { sentence } from '../lib/sentence.ts';
import type { CleanText } from './clean-text.ts';
import { decodeError, type ErrorBody, remoteIdIn } from './decode.ts';
import { describeLoss } from './describe-loss.ts';
import { type Difference, differenceIn, holdersOf, type SentIdentity } from './echo.ts';
import { decodeImport, type ImportExpectation } from './import-answer.ts';
import { parseJson } from './json-text.ts';
import { doubtOf, isDefect } from './loss-doubt.ts';
import { alreadyExists, isKeyBusy, mayExist } from './refusal-words.ts';
import { retryAfterMs, throttledForMs } from './retry-after.ts';
import type { AnswerHeaders, Exchange, Loss } from './transport.ts';

/** What is to be known of a request in order to judge its answer. */
export interface Expectation {
  /** What the answer has to carry for the write to be of use: the new item's id, or nothing. */
  needsId: boolean;
  /** Where an id may be found; dotted paths. */
  idPaths: readonly string[];
  /** For a create: the names on the wire of the fields that must be unique. Empty for everything else. */
  uniqueFields: readonly string[];
  /** For an import: its members, on each of which the answer may say something of its own. */
  members?: ImportExpectation;
  /** The values of the request that the answer may repeat. Read only for a success, since reading takes time. */
  sent?: () => SentIdentity;
}

/** For requests whose answer has to carry nothing in particular. */
export const NOTHING_EXPECTED: Expectation = { needsId: false, idPaths: [], uniqueFields: [] };

export interface Judge {
  outcomeOf(exchange: Exchange, expectation: Expectation): Outcome;
}

/** What a status means by itself. For `away` the body has to prove that the request was not processed. */
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
  // The server gave up waiting for the request, or a gateway for the server behind it, which may still be at work.
  408: 'timeout',
  504: 'timeout',
  409: 'gate',
  429: 'throttle',
  // RFC 9110 gives 503 for a server that does not handle requests at present. Gateways also give it when the server behind
  // them has taken the request and then lost the connection, so the status alone proves nothing.
  503: 'away',
};

/** The meaning of any status: the table first, then its class. */
export function meaningOf(status: number): Meaning {
  const meaning = MEANINGS[status];
  if (meaning !== undefined) return meaning;
  if (status >= 200 && status < 300) return 'done';
  if (status >= 300 && status < 400) return 'redirect';
  if (status >= 400 && status < 500) return 'refusal';
  return status >= 500 ? 'server_error' : 'unreadable_answer';
}

/** RFC 9110 gives 202 for a request that was taken and is not finished: of a read, ask again. */
export function isUnfinished(status: number): boolean {
  return status === 202;
}

/** The outcome of an answer of the API that is of no use. */
export function unreadableAnswer(status: number | null, message: string): Outcome {
  return { ...foreignAnswer(status, message), atWork: true };
}

/** The outcome of an answer that the API cannot have given: the page of something that stands before it or in its place. */
export function foreignAnswer(status: number | null, message: string): Outcome & { kind: 'ambiguous' } {
  return { kind: 'ambiguous', cause: 'unreadable_answer', detail: { status, message } };
}

/** Whether an answer is one to a question for a list, as far as it was read: a page of HTML with a 200 is none. */
export function answersList({ status, body, cut }: Extract<Exchange, { kind: 'answer' }>): boolean {
  if (meaningOf(status) !== 'done') return false;
  const value = parseJson(body);
  if (value === undefined) return cut?.by === 'size' && /^\s*(?:[[{]|$)/.test(body);
  return typeof value === 'object' && value !== null;
}

/** Statuses under which a create may be told that the item is already there. */
const EXISTS_STATUSES = new Set([400, 409, 422]);

/** There is nothing at the address, or it takes no such request, whatever the data are. */
const ENDPOINT_STATUSES = new Set([404, 405, 406, 410, 411, 415]);

/** The words of `answers.unprocessed503` are searched for at the beginning of a 503's body. */
const WORDS_WITHIN = 4_096;

/** @param now milliseconds since the Unix epoch */
export function createJudge(options: { clean: CleanText; now: () => number; unprocessed: readonly string[] }): Judge {
  const { clean, now } = options;
  const unprocessed = options.unprocessed.map((words) => words.toLowerCase());

  /** Whether a 503 proves that the request was not processed. `Retry-After` only names a time. */
  function isUnprocessed(body: string): boolean {
    const text = body.slice(0, WORDS_WITHIN).toLowerCase();
    return unprocessed.some((words) => text.includes(words));
  }

  function answered(exchange: Extract<Exchange, { kind: 'answer' }>, expectation: Expectation): Outcome {
    const { status, headers, body, cut } = exchange;
    const meaning = meaningOf(status);
    // A cut body decides nothing: where the status alone does not, the answer counts as lost.
    if (cut !== null && needsBody(meaning, cut)) {
      const message = `${clean(`The API began to answer with ${status}`)}, but ${describeLoss(cut, clean)}`;
      return {
        kind: 'ambiguous',
        cause: doubtOf(cut),
        ...(status < 500 && { atWork: true }),
        detail: { status, message },
      };
    }
    if (meaning === 'done') return done(status, body, expectation);
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
        // As after a 504: the server behind the gateway may still be processing the request.
        return { kind: 'ambiguous', cause: 'timeout', retryAfterMs: waitMs, detail };
      }
      case 'gate':
        if (saysExists(status, error, expectation)) return { kind: 'exists', detail };
        if (isKeyBusy(error)) return { kind: 'in_flight', detail };
        return { kind: 'gated', detail, ...hint(status, error, expectation) };
      case 'refusal':
        if (saysExists(status, error, expectation)) return { kind: 'exists', detail };
        if (ENDPOINT_STATUSES.has(status)) return { kind: 'refused', detail, endpoint: true };
        return {
          kind: 'refused',
          detail,
          ...withMembers(parseJson(body), expectation, 'refused'),
          ...hint(status, error, expectation),
        };
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

  function done(status: number, body: string, expectation: Expectation): Outcome {
    if (isPage(body)) return foreignAnswer(status, notDone(status, 'with a page of HTML'));
    const value = successIn(body, expectation);
    if (value === undefined) return unreadableAnswer(status, notDone(status, 'in a body that is not JSON'));
    const remoteId = remoteIdIn(value, expectation.idPaths, clean);
    if (remoteId === null && expectation.needsId) return unreadableAnswer(status, notDone(status, 'without an id'));
    const difference =
      expectation.sent === undefined ? null : differenceIn(holdersOf(value, expectation.idPaths), expectation.sent());
    if (difference !== null && !difference.formOnly) return crossedAnswer(status, difference);
    return {
      kind: 'accepted',
      remoteId,
      ...withMembers(value, expectation, 'accepted'),
      ...(difference !== null && { shownAs: clean(shownAs(difference)) }),
    };
  }

  function crossedAnswer(status: number, { name, sent, shown }: Difference): Outcome {
    const message = clean(
      `The answer is about another request: it has the ${name} ${JSON.stringify(shown)}, and ${JSON.stringify(sent)} was sent.`,
    );
    return { kind: 'ambiguous', cause: 'crossed', atWork: true, detail: { status, message } };
  }

  function withMembers(
    value: JsonValue | undefined,
    { members }: Expectation,
    decision: 'accepted' | 'refused',
  ): { members?: MemberOutcome[] } {
    if (members === undefined) return {};
    const decoded = decodeImport(value ?? null, decision, members, clean);
    return decoded === null ? {} : { members: decoded };
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
    const to = headers['location'];
    const where = typeof to === 'string' ? ` to ${to.replace(/[?#].*$/s, '')}` : '';
    return clean(`The API answered with a redirect (${status})${where}, which is never followed; see target.baseUrl.`);
  }

  function silent(exchange: Extract<Exchange, { kind: 'silence' }>): Outcome {
    const { sent, loss } = exchange;
    // Without a key nothing can be sent, and it is not about this request.
    if (loss.by === 'key') return { kind: 'denied', by: 'key', detail: { status: null, message: loss.message } };
    const text = describeLoss(loss, clean);
    const detail = { status: null, message: `${text.charAt(0).toUpperCase()}${text.slice(1)}` };
    if (sent) return { kind: 'ambiguous', cause: doubtOf(loss), detail };
    // A request that the HTTP library will not take can never be sent: a person has to look at it.
    if (isDefect(loss)) return { kind: 'refused', detail, endpoint: true };
    const local = loss.by === 'error' ? localTroubleOf(loss.error) : null;
    if (local !== null) {
      const message = `${local.what} ${local.cure}`;
      return { kind: 'unavailable', sent: false, local: true, retryAfterMs: null, detail: { status: null, message } };
    }
    return { kind: 'unavailable', sent: false, retryAfterMs: null, detail };
  }

  return {
    outcomeOf: (exchange, expectation) =>
      exchange.kind === 'answer' ? answered(exchange, expectation) : silent(exchange),
  };
}

/**
 * The JSON of a success; null for an empty body.
 *
 * The status counts. Text beside it changes nothing, and neither does the body of an import: members that the answer does not
 * name are read back. Broken JSON counts as an answer that was lost.
 *
 * @returns undefined if the body lacks what the write needs
 */
function successIn(body: string, { needsId, members }: Expectation): JsonValue | undefined {
  const value = body.trim() === '' ? null : parseJson(body);
  if (value !== undefined || needsId) return value;
  return members !== undefined || !/^\s*[[{"]/.test(body) ? null : undefined;
}

/** A page of HTML in place of an answer: it comes from a proxy or a login. */
function isPage(body: string): boolean {
  return /^\s*</.test(body);
}

function notDone(status: number, how: string): string {
  return `The API answered with ${status} ${how}, so the write cannot be taken as done.`;
}

function shownAs({ name, sent, shown }: Difference): string {
  return `The platform shows the ${name} as ${JSON.stringify(shown)}; ${JSON.stringify(sent)} was sent.`;
}

/** False where the status alone decides, or where the beginning of a long error body is all that is wanted. */
function needsBody(meaning: Meaning, cut: Loss): boolean {
  if (meaning === 'done') return true;
  return (meaning === 'gate' || meaning === 'refusal') && cut.by !== 'size';
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
