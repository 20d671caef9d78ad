// Decides the outcome of a lost request, or of a request with a lost answer.

import type { Outcome, UnconfirmedCause } from '../domain/delivery/outcome.ts';
import { localTroubleOf, messageOf, systemCodeOf } from '../lib/errors.ts';
import type { CleanText } from './answers/answer-text.ts';
import type { Exchange, Loss } from './transport.ts';

// The error codes are those of undici ("Errors"), Node ("Common system errors") and llhttp (`HPE_…`). Any other code means that
// the connection was lost.

const TIMEOUT_CODES = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);

/** Codes for an answer that is not HTTP, or that has another length than it states. */
const UNREADABLE_CODES = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
]);

/** Codes of the HTTP library for a request that it refuses to send. */
const DEFECT_CODES = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_INVALID_RETURN_VALUE',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_NOT_SUPPORTED',
]);

/**
 * Why it is unknown whether a sent request took effect. After an abort by the caller the server may continue to work,
 * as after a timeout.
 */
export function unconfirmedCauseOf(loss: Loss): UnconfirmedCause {
  if (loss.by === 'deadline' || loss.by === 'abort') return 'timeout';
  if (loss.by !== 'error') return 'unreadable_answer';
  const code = systemCodeOf(loss.error) ?? '';
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  // The parser of undici sets no code if llhttp gives none.
  const isParser = code.startsWith('HPE_') || loss.error.name === 'HTTPParserError';
  return isParser || UNREADABLE_CODES.has(code) ? 'unreadable_answer' : 'reset';
}

/** True when the request itself is at fault. */
function isDefect(loss: Loss): boolean {
  return loss.by === 'error' && DEFECT_CODES.has(systemCodeOf(loss.error) ?? '');
}

/** The outcome of a request without an answer. */
export function outcomeOfSilence({ sent, loss }: Extract<Exchange, { kind: 'silence' }>, clean: CleanText): Outcome {
  // Without a key nothing can be sent. This request is not at fault.
  if (loss.by === 'key') return { kind: 'denied', by: 'key', detail: { status: null, message: loss.message } };
  if (loss.by === 'wait') {
    return { kind: 'throttled', retryAfterMs: loss.waitMs, detail: { status: 429, message: loss.message } };
  }
  const text = describeLoss(loss, clean);
  const detail = { status: null, message: `${text.charAt(0).toUpperCase()}${text.slice(1)}` };
  if (sent) return { kind: 'ambiguous', cause: unconfirmedCauseOf(loss), detail };
  // The HTTP library never sends such a request, so a person has to check it.
  if (isDefect(loss)) return { kind: 'refused', detail, endpoint: true };
  const local = loss.by === 'error' ? localTroubleOf(loss.error) : null;
  if (local !== null) {
    const message = `${local.what} ${local.cure}`;
    return { kind: 'unavailable', sent: false, local: true, retryAfterMs: null, detail: { status: null, message } };
  }
  return { kind: 'unavailable', sent: false, retryAfterMs: null, detail };
}

// Words for error codes: those of Node and undici ("Errors" in the documentation of both) and those of OpenSSL for
// certificates.

const NOT_TRUSTED = 'the certificate of the API is not trusted';
const OWN_AUTHORITY =
  'If an authority of your own has signed it, name the file with the certificate of the authority in NODE_EXTRA_CA_CERTS.';

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name of the API is not known',
  EAI_AGAIN: 'the host name of the API could not be looked up',
  ECONNREFUSED: 'the API refused the connection',
  EHOSTUNREACH: 'there is no network route to the API',
  ENETUNREACH: 'there is no network route to the API',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CLOSED: 'dpp-sync has closed the connection',
  UND_ERR_DESTROYED: 'dpp-sync has closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'no connection to the API could be opened in time',
  UND_ERR_HEADERS_TIMEOUT: 'the API did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'the rest of the answer did not arrive in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer has another length than its header states',
  CERT_HAS_EXPIRED: 'the certificate of the API has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the API is for another host',
};

/** Describes the loss as the end of a sentence, with the full stop. */
export function describeLoss(loss: Loss, clean: CleanText): string {
  switch (loss.by) {
    case 'deadline':
      return `there was no complete answer within ${loss.totalMs / 1000} s.`;
    case 'abort':
      return 'the request was stopped because dpp-sync is stopping.';
    case 'key':
    case 'wait':
      return loss.message;
    case 'size':
      return `the answer is longer than ${loss.bytesMax} bytes.`;
    case 'error':
      return describeError(loss.error, clean);
  }
}

function describeError(error: Error, clean: CleanText): string {
  const code = systemCodeOf(error);
  const words = code === undefined ? undefined : WORDS[code];
  if (words !== undefined) return `${words} (${code}).${words === NOT_TRUSTED ? ` ${OWN_AUTHORITY}` : ''}`;
  const said = clean(messageOf(error)).replace(/\.$/, '') || error.name;
  return code === undefined ? `the connection failed: ${said}.` : `the connection failed: ${said} (${code}).`;
}
