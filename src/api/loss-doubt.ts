// What it means that a request was lost on the way, or that its answer was.

import type { UnconfirmedCause } from '../domain/outcome.ts';
import { systemCodeOf } from '../lib/errors.ts';
import type { Loss } from './transport.ts';

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
 * Why it is unknown whether a sent request took effect. After the caller's own abort the server may go on working, as after a
 * timeout.
 */
export function doubtOf(loss: Loss): UnconfirmedCause {
  if (loss.by === 'deadline' || loss.by === 'abort') return 'timeout';
  if (loss.by !== 'error') return 'unreadable_answer';
  const code = systemCodeOf(loss.error) ?? '';
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  // undici's parser leaves the code out where llhttp has none of its own.
  const isParser = code.startsWith('HPE_') || loss.error.name === 'HTTPParserError';
  return isParser || UNREADABLE_CODES.has(code) ? 'unreadable_answer' : 'reset';
}

/** True when the request itself is at fault. */
export function isDefect(loss: Loss): boolean {
  return loss.by === 'error' && DEFECT_CODES.has(systemCodeOf(loss.error) ?? '');
}
