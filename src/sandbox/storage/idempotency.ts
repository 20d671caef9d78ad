import { sha256Hex } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type Answer, type Document, refusal } from '../api/answer.ts';
import type { Endpoint } from '../api/endpoints.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import type { IdempotencyRecord, IdempotencyRecords } from './idempotency-records.ts';

/** One use of an Idempotency-Key. Equal keys of different organisations are different keys. */
export interface KeyUse {
  organizationId: number;
  key: string;
  /** The result of `fingerprintOf`. If two uses have the same fingerprint, they are the same request. */
  fingerprint: string;
}

/** Stores answers by Idempotency-Key, according to draft-ietf-httpapi-idempotency-key-header. */
export interface IdempotencyStore {
  /**
   * The answer to repeat, or the 422 for a key that was used for another request; undefined for a new key. Call it in
   * the transaction that also executes and records.
   */
  recall(use: KeyUse, now: number): Answer | undefined;
  /**
   * Stores an answer, except one after which a later attempt may succeed (429, 5xx), and except a refusal if the
   * settings only replay successes. Because the record commits with the effect, a crash leaves both or neither.
   */
  record(use: KeyUse, answer: Answer, now: number): void;
  /**
   * If the settings replay everything, stores a failure of the server in place of the answer that the request would
   * have had. Do not call it for a key that already had an answer.
   */
  recordFailure(use: KeyUse, answer: Answer, now: number): void;
}

/** True if this operation obeys the header in the given mode. */
export function honoursKeys(mode: SandboxSettings['idempotency'], endpoint: Pick<Endpoint, 'idempotencyKey'>): boolean {
  if (endpoint.idempotencyKey === 'meaningless' || mode === 'ignored') return false;
  return mode === 'honoured' || endpoint.idempotencyKey === 'named';
}

/** A hash of the request that a key stands for: the method, the path with its ids, and the exact bytes of the body. */
export function fingerprintOf(request: { method: string; path: string; body: string }): string {
  return sha256Hex(`${request.method} ${request.path}\n${request.body}`);
}

export function createIdempotencyStore(
  records: IdempotencyRecords,
  replays: SandboxSettings['idempotencyReplays'],
): IdempotencyStore {
  const keep = (use: KeyUse, { status, headers, document, body }: Answer, now: number): void => {
    const kept = document
      ? { type: document.type, body: document.bytes.toString() }
      : { type: null, body: JSON.stringify(body) };
    const { fingerprint } = use;
    records.keep(use, { fingerprint, status, headers: headers ? JSON.stringify(headers) : null, ...kept }, now);
  };
  return {
    recall(use, now) {
      const record = records.find(use, now);
      if (!record) return undefined;
      if (record.fingerprint !== use.fingerprint) {
        return refusal(422, 'This Idempotency-Key was used for a different request.');
      }
      const kept = record.headers === null ? {} : (JSON.parse(record.headers) as Record<string, string>);
      return { status: record.status, ...contentOf(record), headers: { ...kept, 'idempotent-replayed': 'true' } };
    },
    record(use, answer, now) {
      if (answer.status === 429 || answer.status >= 500) return;
      if (answer.status < 300 || replays !== 'successes') keep(use, answer, now);
    },
    recordFailure(use, answer, now) {
      if (replays === 'everything') keep(use, answer, now);
    },
  };
}

function contentOf({ type, body }: IdempotencyRecord): { body: JsonValue; document?: Document } {
  if (type === null) return { body: JSON.parse(body) as JsonValue };
  return { body: null, document: { type, bytes: Buffer.from(body) } };
}
