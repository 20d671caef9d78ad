import type { JsonValue } from '../lib/json.ts';

/** An id of the platform as text, because a platform may answer with the number 7 and list the text "7". */
export function remoteIdText(id: JsonValue): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
/** Ids such as those of MongoDB (24 characters), ULID (26) and KSUID (27). */
const LONG_RANDOM = /^(?=.*\d)(?=.*[A-Za-z])[\dA-Za-z]{20,}$/;

/**
 * True for an id that a platform makes for one item of all kinds: a UUID, or another long random text. A number, a code
 * or a readable text may belong to one item of each kind.
 */
export function isIdOfAllKinds(id: JsonValue): boolean {
  return typeof id === 'string' && (UUID.test(id) || LONG_RANDOM.test(id));
}
