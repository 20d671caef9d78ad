import { sha256Hex } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type Answer, type Document, refusal } from '../api/answer.ts';
import type { Endpoint } from '../api/endpoints.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import type { IdempotencyRecord, IdempotencyRecords } from './idempotency-records.ts';

/** One use of an Idempotency-Key. Keys of different organisations have nothing to do with each other. */
export interface KeyUse {
  organizationId: number;
  key: string;
  /** From `fingerprintOf`: two uses mean the same request when these are equal. */
  fingerprint: string;
}

/** Answers by Idempotency-Key, after draft-ietf-httpapi-idempotency-key-header. */
export interface IdempotencyStore {
  /**
   * The answer to repeat, or the 422 for a key that was used for something else; undefined for a fresh key. Call it in
   * the transaction that also executes and records.
   */
  recall(use: KeyUse, now: number): Answer | undefined;
  /**
   * Keeps an answer, unless it is one that a later attempt may get past (429, 5xx) or the settings replay successes
   * alone. Because the record commits with the effect, a crash leaves both or neither.
   */
  record(use: KeyUse, answer: Answer, now: number): void;
  /**
   * Keeps a failure of the server's own, where the settings replay everything, in place of the answer that the same
   * request would have had. Not for a key that had an answer before.
   */
  recordFailure(use: KeyUse, answer: Answer, now: number): void;
}

/** True when this operation obeys the header under the given mode. */
export function honoursKeys(mode: SandboxSettings['idempotency'], endpoint: Pick<Endpoint, 'idempotencyKey'>): boolean {
  if (endpoint.idempotencyKey === 'meaningless' || mode === 'ignored') return false;
  return mode === 'honoured' || endpoint.idempotencyKey === 'named';
}

/** What a key stands for: the method, the path with its ids and the exact bytes of the body. */
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
