// Decides the outcome of a lost request, or of a request with a lost answer.

import type { Outcome, UnconfirmedCause } from '../domain/delivery/outcome.ts';
import { systemCodeOf } from '../lib/errors.ts';
import { localTroubleOf } from '../lib/local-trouble.ts';
import type { CleanText } from './answers/clean-text.ts';
import { describeLoss } from './answers/describe-loss.ts';
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
