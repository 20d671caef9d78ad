import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import type { Loss } from '../transport.ts';
import type { CleanText } from './clean-text.ts';

// Words for error codes: those of Node and undici ("Errors" in the documentation of both) and those of OpenSSL for
// certificates.

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
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the API is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the API is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the API is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the API is not trusted',
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
  if (words !== undefined) return `${words} (${code}).`;
  const said = clean(messageOf(error)).replace(/\.$/, '') || error.name;
  return code === undefined ? `the connection failed: ${said}.` : `the connection failed: ${said} (${code}).`;
}
