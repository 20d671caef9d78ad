// What each HTTP status and each failure on the way means. This is the one file that says so.
//
// The API document fixes 401, 402, 403, 409 and 429 ("Errors"); RFC 9110 the others. The one question behind every line:
// could the write have taken effect? Where nobody can say, the outcome is `ambiguous`, never a guess (I6).

import type { Doubt, MemberOutcome, Outcome, OutcomeDetail } from '../domain/outcome.ts';
import { systemCodeOf } from '../lib/errors.ts';
import type { JsonValue } from '../lib/json.ts';
import { localTroubleOf } from '../lib/local-trouble.ts';
import type { CleanText } from './clean-text.ts';
import { decodeError, type ErrorBody, type Problem, remoteIdIn } from './decode.ts';
import { describeLoss } from './describe-loss.ts';
import { decodeImport, type ImportExpectation } from './import-answer.ts';
import { parseJson } from './json-text.ts';
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
}

/** For requests whose answer has to carry nothing in particular. */
export const NOTHING_EXPECTED: Expectation = { needsId: false, idPaths: [], uniqueFields: [] };

export interface Judge {
  outcomeOf(exchange: Exchange, expectation: Expectation): Outcome;
}

/** What a status says before its body is looked at. */
type Meaning = 'done' | 'redirect' | 'key' | 'plan' | 'scope' | 'gate' | 'throttle' | 'away' | 'refusal' | Doubt;

const MEANINGS: Readonly<Record<number, Meaning>> = {
  401: 'key',
  402: 'plan',
  403: 'scope',
  // The server gave up waiting for the request, or a gateway for the server behind it, which may still be at work.
  408: 'timeout',
  504: 'timeout',
  409: 'gate',
  429: 'throttle',
  // RFC 9110 gives 503 for a server that does not handle requests at present.
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
  return { kind: 'ambiguous', doubt: 'unreadable_answer', detail: { status, message } };
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

/** Machine-readable words for it, and what the frameworks write: Django, Rails, Laravel, Spring and databases. */
const EXISTS_CODES = /^(?:unique|not_unique|unique_together|already_exists|exists|duplicate\w*|taken)$/i;
const EXISTS_TEXT =
  /already (?:exists?|in use|been taken|taken|registered)|must be unique|unique set|duplicate|not unique/i;

/** draft-ietf-httpapi-idempotency-key-header answers 409 while the first request with the key is still at work. */
const KEY_TEXT = /idempoten/i;
const BUSY_TEXT = /in[ _-]?progress|in[ _-]?flight|outstanding|concurrent|processing|processed|pending|in[ _-]?use/i;

// Error codes as undici ("Errors"), Node ("Common system errors") and llhttp (`HPE_…`) name them. A code that is in none of
// the sets means that the connection was lost.

const TIMEOUT_CODES = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);

/** The answer came and is no HTTP, or not the length it said. */
const UNREADABLE_CODES = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
]);

/** What the HTTP library refuses to send, whatever the network does. */
const DEFECT_CODES = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_INVALID_RETURN_VALUE',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_NOT_SUPPORTED',
]);

/**
 * Why nobody can say whether a request that went out took effect. After the caller's own abort the server may go on
 * working as after a timeout.
 */
function doubtOf(loss: Loss): Doubt {
  if (loss.by === 'deadline' || loss.by === 'abort') return 'timeout';
  if (loss.by !== 'error') return 'unreadable_answer';
  const code = systemCodeOf(loss.error) ?? '';
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  // undici's parser leaves the code out where llhttp has none of its own.
  const isParser = code.startsWith('HPE_') || loss.error.name === 'HTTPParserError';
  return isParser || UNREADABLE_CODES.has(code) ? 'unreadable_answer' : 'reset';
}

/** True when the request itself is at fault. */
function isDefect(loss: Loss): boolean {
  return loss.by === 'error' && DEFECT_CODES.has(systemCodeOf(loss.error) ?? '');
}

/** @param now milliseconds since the Unix epoch */
export function createJudge(options: { clean: CleanText; now: () => number }): Judge {
  const { clean, now } = options;

  function answered(exchange: Extract<Exchange, { kind: 'answer' }>, expectation: Expectation): Outcome {
    const { status, headers, body, cut } = exchange;
    const meaning = meaningOf(status);
    // A cut body decides nothing: where the status alone does not, the answer counts as lost.
    if (cut !== null && needsBody(meaning, cut)) {
      const message = `${clean(`The API began to answer with ${status}`)}, but ${describeLoss(cut, clean)}`;
      return {
        kind: 'ambiguous',
        doubt: doubtOf(cut),
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
      case 'away':
        return { kind: 'unavailable', sent: true, retryAfterMs: retryAfterMs(headers, now()), detail };
      case 'gate':
        if (alreadyExists(status, error, expectation)) return { kind: 'exists', detail };
        return { kind: isKeyBusy(error) ? 'in_flight' : 'gated', detail };
      case 'refusal':
        if (alreadyExists(status, error, expectation)) return { kind: 'exists', detail };
        if (ENDPOINT_STATUSES.has(status)) return { kind: 'refused', detail, endpoint: true };
        return { kind: 'refused', detail, ...withMembers(parseJson(body), expectation, 'refused') };
      case 'redirect':
        return { kind: 'refused', detail, endpoint: true };
      case 'timeout':
      case 'server_error':
      case 'unreadable_answer':
      case 'reset':
      case 'crash':
        return { kind: 'ambiguous', doubt: meaning, detail };
    }
  }

  function done(status: number, body: string, expectation: Expectation): Outcome {
    const value: JsonValue | undefined = body.trim() === '' ? null : parseJson(body);
    const remoteId = value === undefined ? null : remoteIdIn(value, expectation.idPaths, clean);
    if (value !== undefined && (remoteId !== null || !expectation.needsId)) {
      return { kind: 'accepted', remoteId, ...withMembers(value, expectation, 'accepted') };
    }
    const lack = value === undefined ? 'in a body that is not JSON' : 'without an id';
    const message = `The API answered with ${status} ${lack}, so the write cannot be taken as done.`;
    return value === undefined ? foreignAnswer(status, message) : unreadableAnswer(status, message);
  }

  function withMembers(
    value: JsonValue | undefined,
    { members }: Expectation,
    verdict: 'accepted' | 'refused',
  ): { members?: MemberOutcome[] } {
    if (members === undefined) return {};
    const decoded = decodeImport(value ?? null, verdict, members, clean);
    return decoded === null ? {} : { members: decoded };
  }

  function detailOf(status: number, error: ErrorBody, headers: AnswerHeaders): OutcomeDetail {
    const message = meaningOf(status) === 'redirect' ? redirectMessage(status, headers) : error.message;
    return {
      status,
      message: message === '' ? fallbackMessage(status) : message,
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
    if (sent) return { kind: 'ambiguous', doubt: doubtOf(loss), detail };
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

/** False where the status alone decides, or where the beginning of a long error body is all that is wanted. */
function needsBody(meaning: Meaning, cut: Loss): boolean {
  if (meaning === 'done') return true;
  return (meaning === 'gate' || meaning === 'refusal') && cut.by !== 'size';
}

function alreadyExists(status: number, error: ErrorBody, { uniqueFields }: Expectation): boolean {
  if (uniqueFields.length === 0 || !EXISTS_STATUSES.has(status)) return false;
  return error.problems.some((problem) => isDuplicate(problem, uniqueFields));
}

function isDuplicate({ field, code, text }: Problem, uniqueFields: readonly string[]): boolean {
  if ((field !== null && !uniqueFields.includes(field)) || KEY_TEXT.test(`${code ?? ''} ${text}`)) return false;
  return (code !== null && EXISTS_CODES.test(code)) || EXISTS_TEXT.test(text);
}

function isKeyBusy(error: ErrorBody): boolean {
  return error.problems.some(({ code, text }) => {
    const said = `${code ?? ''} ${text}`;
    return KEY_TEXT.test(said) && BUSY_TEXT.test(said);
  });
}

function fallbackMessage(status: number): string {
  return `The API answered with ${status} and gave no reason.`;
}
