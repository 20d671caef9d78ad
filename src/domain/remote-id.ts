import type { JsonValue } from '../lib/json.ts';

/** An id of the platform as text, because a platform may answer with the number 7 and list the text "7". */
export function remoteIdText(id: JsonValue): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}
