import type { Database } from 'better-sqlite3';
import { sha256Hex } from '../lib/hash.ts';
import type { JsonValue } from '../lib/json.ts';
import { type Answer, refusal } from './answer.ts';
import type { Endpoint } from './endpoints.ts';
import type { SandboxSettings } from './settings.ts';

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
  /** Keeps a failure of the server's own, where the settings replay everything: it replaces what was kept before. */
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

interface RecordRow {
  fingerprint: string;
  status: number;
  body: string;
}

type Retention = Pick<SandboxSettings, 'idempotencyRetentionMs' | 'idempotencyKeysMax' | 'idempotencyReplays'>;

export function createIdempotencyStore(
  database: Database,
  { idempotencyRetentionMs: retentionMs, idempotencyKeysMax: keysMax, idempotencyReplays: replays }: Retention,
): IdempotencyStore {
  const find = database.prepare<[number, string, number], RecordRow>(
    `SELECT fingerprint, status, body FROM idempotency_record
     WHERE organization_id = ? AND key = ? AND created_at > ?`,
  );
  const insert = database.prepare(
    `INSERT OR REPLACE INTO idempotency_record (organization_id, key, fingerprint, status, body, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  // Two out for one in: the table shrinks back to what the retention asks for, and no write ever waits for a sweep.
  const prune = database.prepare(
    `DELETE FROM idempotency_record WHERE id IN
     (SELECT id FROM idempotency_record WHERE created_at <= ? ORDER BY created_at LIMIT 2)`,
  );
  const forgetOldest = database.prepare(
    `DELETE FROM idempotency_record WHERE organization_id = :organizationId AND id <=
     (SELECT id FROM idempotency_record WHERE organization_id = :organizationId ORDER BY id DESC LIMIT 1 OFFSET :keysMax)`,
  );
  const keep = ({ organizationId, key, fingerprint }: KeyUse, { status, body }: Answer, now: number): void => {
    prune.run(now - retentionMs);
    insert.run(organizationId, key, fingerprint, status, JSON.stringify(body), now);
    if (keysMax !== null) forgetOldest.run({ organizationId, keysMax });
  };
  return {
    recall(use, now) {
      const record = find.get(use.organizationId, use.key, now - retentionMs);
      if (!record) return undefined;
      if (record.fingerprint !== use.fingerprint) {
        return refusal(422, 'This Idempotency-Key was used for a different request.');
      }
      const body = JSON.parse(record.body) as JsonValue;
      return { status: record.status, body, headers: { 'idempotent-replayed': 'true' } };
    },
    record(use, answer, now) {
      if (answer.status === 429 || answer.status >= 500) return;
      if (answer.status < 300 || replays !== 'successes') keep(use, answer, now);
    },
    recordFailure(use, answer, now) {
      if (replays === 'everything' && !answer.document) keep(use, answer, now);
    },
  };
}
