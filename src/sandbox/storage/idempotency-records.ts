import type { Database } from 'better-sqlite3';

/** The answer to the first request with a key. */
export interface IdempotencyRecord {
  fingerprint: string;
  status: number;
  /** The special headers of the answer as a JSON object; null if there were none. */
  headers: string | null;
  /** The media type of a body that is not JSON; null for JSON. */
  type: string | null;
  body: string;
}

/** A key, and the organisation that used it. */
export interface RecordKey {
  organizationId: number;
  key: string;
}

/** How long records are kept. */
export interface RecordRetention {
  retentionMs: number;
  /** How many of its last keys an organisation keeps; null for all. */
  keysMax: number | null;
}

/** Stores answers by Idempotency-Key. */
export interface IdempotencyRecords {
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
