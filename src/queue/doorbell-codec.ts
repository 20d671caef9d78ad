import { isJsonObject, type JsonObject } from '../lib/json.ts';

const ENCODED = 'base64Json';
/** The escapes by which JSON carries NUL and lone surrogates, which PostgreSQL's jsonb refuses. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const TEXT_MAX = 4_000;

/**
 * Doorbell data as a job carries it: as it is, so that a dashboard reads well, unless some text in it cannot be stored by
 * every backend. Ids must come out as they went in, so such data travels encoded as a whole.
 */
export function encodeData(data: JsonObject): JsonObject {
  const json = JSON.stringify(data);
  if (!UNSTORABLE.test(json) && !(ENCODED in data)) return data;
  return { [ENCODED]: Buffer.from(json).toString('base64') };
}

/** Undoes `encodeData`. Data that is no object, as a job added by hand may carry, counts as empty. */
export function decodeData(stored: unknown): JsonObject {
  if (!isJsonObject(stored)) return {};
  const encoded = stored[ENCODED];
  if (typeof encoded !== 'string') return stored;
  const data: unknown = JSON.parse(Buffer.from(encoded, 'base64').toString());
  return isJsonObject(data) ? data : {};
}

/** Text for people as a job carries it: what cannot be stored is replaced, what is too long is cut. */
export function toStorableText(text: string): string {
  const storable = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return storable.length > TEXT_MAX ? `${storable.slice(0, TEXT_MAX - 1).toWellFormed()}…` : storable;
}
