import type { Database } from 'better-sqlite3';
import { sha256Hex } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { Endpoint } from '../api/endpoints.ts';
import { type Answer, type Document, refusal } from '../api/operation.ts';
import type { SandboxSettings } from '../settings/settings.ts';

/** One use of an Idempotency-Key. Equal keys of different organisations are different keys. */
export interface KeyUse {
  organizationId: number;
  key: string;
  /** The result of `fingerprintOf`. If two uses have the same fingerprint, they are the same request. */
  fingerprint: string;
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

/** Stores answers by Idempotency-Key, according to draft-ietf-httpapi-idempotency-key-header. */
export function createIdempotencyStore(records: IdempotencyRecords, replays: SandboxSettings['idempotencyReplays']) {
  const keep = (use: KeyUse, { status, headers, document, body }: Answer, now: number): void => {
    const kept = document
      ? { type: document.type, body: document.bytes.toString() }
      : { type: null, body: JSON.stringify(body) };
    const { fingerprint } = use;
    records.keep(use, { fingerprint, status, headers: headers ? JSON.stringify(headers) : null, ...kept }, now);
  };
  return {
    /**
     * The answer to repeat, or the 422 for a key that was used for another request; undefined for a new key. Call it in
     * the transaction that also executes and records.
     */
    recall(use: KeyUse, now: number): Answer | undefined {
      const record = records.find(use, now);
      if (!record) return undefined;
      if (record.fingerprint !== use.fingerprint) {
        return refusal(422, 'This Idempotency-Key was used for a different request.');
      }
      const kept = record.headers === null ? {} : (JSON.parse(record.headers) as Record<string, string>);
      return { status: record.status, ...contentOf(record), headers: { ...kept, 'idempotent-replayed': 'true' } };
    },
    /**
     * Stores an answer, except one after which a later attempt may succeed (429, 5xx), and except a refusal if the
     * settings only replay successes. Because the record commits with the effect, a crash leaves both or neither.
     */
    record(use: KeyUse, answer: Answer, now: number): void {
      if (answer.status === 429 || answer.status >= 500) return;
      if (answer.status < 300 || replays !== 'successes') keep(use, answer, now);
    },
    /**
     * If the settings replay everything, stores a failure of the server in place of the answer that the request would
     * have had. Do not call it for a key that already had an answer.
     */
    recordFailure(use: KeyUse, answer: Answer, now: number): void {
      if (replays === 'everything') keep(use, answer, now);
    },
  };
}

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

function contentOf({ type, body }: IdempotencyRecord): { body: JsonValue; document?: Document } {
  if (type === null) return { body: JSON.parse(body) as JsonValue };
  return { body: null, document: { type, bytes: Buffer.from(body) } };
}

/** The answer to the first request with a key. */
interface IdempotencyRecord {
  fingerprint: string;
  status: number;
  /** The special headers of the answer as a JSON object; null if there were none. */
  headers: string | null;
  /** The media type of a body that is not JSON; null for JSON. */
  type: string | null;
  body: string;
}

/** A key, and the organisation that used it. */
interface RecordKey {
  organizationId: number;
  key: string;
}

/** How long records are kept. */
interface RecordRetention {
  retentionMs: number;
  /** How many of its last keys an organisation keeps; null for all. */
  keysMax: number | null;
}

/** Stores answers by Idempotency-Key. */
interface IdempotencyRecords {
  /** Finds a record; undefined if the key is unknown or its time has passed. */
  find(use: RecordKey, now: number): IdempotencyRecord | undefined;
  /** Stores a record in place of an earlier one for the key, and removes old records. */
  keep(use: RecordKey, record: IdempotencyRecord, now: number): void;
}

export function createIdempotencyRecords(
  database: Database,
  { retentionMs, keysMax }: RecordRetention,
): IdempotencyRecords {
  const find = database.prepare<[number, string, number], IdempotencyRecord>(
    `SELECT fingerprint, status, headers, type, body FROM idempotency_record
     WHERE organization_id = ? AND key = ? AND created_at > ?`,
  );
  const insert = database.prepare(
    `INSERT OR REPLACE INTO idempotency_record (organization_id, key, fingerprint, status, headers, type, body, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // Each insert removes at most two old rows, so that the table shrinks to its retention and no write waits for a large removal.
  const prune = database.prepare(
    `DELETE FROM idempotency_record WHERE id IN
     (SELECT id FROM idempotency_record WHERE created_at <= ? ORDER BY created_at LIMIT 2)`,
  );
  const forgetOldest = database.prepare(
    `DELETE FROM idempotency_record WHERE organization_id = :organizationId AND id <=
     (SELECT id FROM idempotency_record WHERE organization_id = :organizationId ORDER BY id DESC LIMIT 1 OFFSET :keysMax)`,
  );
  return {
    find: ({ organizationId, key }, now) => find.get(organizationId, key, now - retentionMs),
    keep({ organizationId, key }, { fingerprint, status, headers, type, body }, now) {
      prune.run(now - retentionMs);
      insert.run(organizationId, key, fingerprint, status, headers, type, body, now);
      if (keysMax !== null) forgetOldest.run({ organizationId, keysMax });
    },
  };
}

/** Records in the memory of the process. */
export function createMemoryIdempotencyRecords({ retentionMs, keysMax }: RecordRetention): IdempotencyRecords {
  type Kept = IdempotencyRecord & { createdAt: number };
  // A map remembers the order of insertion, so that the oldest key of an organisation is its first.
  const byOrganization = new Map<number, Map<string, Kept>>();
  return {
    find({ organizationId, key }, now) {
      const record = byOrganization.get(organizationId)?.get(key);
      return record && record.createdAt > now - retentionMs ? record : undefined;
    },
    keep({ organizationId, key }, record, now) {
      const records = byOrganization.get(organizationId) ?? new Map<string, Kept>();
      byOrganization.set(organizationId, records);
      records.delete(key);
      records.set(key, { ...record, createdAt: now });
      let inspected = 0;
      for (const [oldest, { createdAt }] of records) {
        const tooMany = keysMax !== null && records.size > keysMax;
        if (!tooMany && (createdAt > now - retentionMs || inspected >= 2)) break;
        records.delete(oldest);
        inspected += 1;
      }
    },
  };
}
