// Records in quarantine, records that make the same items, and reads that the guard holds.

import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { GuardedRead } from '../../domain/ports/guarded-read.ts';
import type { Duplicates, QuarantinedRecord } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { guardedReadOf, OPEN_GUARDED_READS, type OpenGuardedRead } from '../records/guarded-reads.ts';
import { column, statement } from '../store/statement.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import { type Db, type Listed, listed, ofSources } from './view-reads.ts';

const GUARDED = statement<[Listed], OpenGuardedRead>(OPEN_GUARDED_READS);

/** Streams whose last complete read the guard took for broken, and that no person has accepted. */
export function guardedReads(reads: Db, sources?: readonly string[]): GuardedRead[] {
  return GUARDED(reads).all(listed(sources)).map(guardedReadOf);
}

/** A record in quarantine as it is stored. */
export interface QuarantineRow {
  id: number;
  source: string;
  stream: string;
  key: string;
  place: string;
  raw: string;
  issues: string | null;
}

const ROWS = {
  count: column<[Listed], number>(
    `SELECT count(*) FROM records r WHERE r.state = 'quarantined' AND r.missing_since IS NULL
       AND (@sources = '[]' OR r.stream_id IN (SELECT s.id FROM streams s WHERE ${ofSources('s')}))`,
  ),
  quarantined: statement<[{ source: string | null; afterId: number; limit: number }], QuarantineRow>(
    `SELECT r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source) AND r.id > @afterId
     ORDER BY r.id LIMIT @limit`,
  ),
};

export function quarantinedCount(reads: Db, sources?: readonly string[]): number {
  return ROWS.count(reads).get(listed(sources)) ?? 0;
}

/** The records in quarantine after one of them, in their order. */
export function quarantined(
  reads: Db,
  { source = null, afterId, limit }: { source?: string | null; afterId: number; limit: number },
): QuarantinedRecord[] {
  return ROWS.quarantined(reads).all({ source, afterId, limit }).map(quarantinedRecord);
}

export function quarantinedRecord({ id, source, stream, key, place, raw, issues }: QuarantineRow): QuarantinedRecord {
  const stored = parseJsonOrNull<Issue[]>(issues) ?? [];
  return {
    id,
    source,
    stream,
    key,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: stored,
  };
}

interface DuplicateRow extends Omit<Duplicates['examples'][number], 'place' | 'first'> {
  place: string;
  firstPlace: string | null;
}

const MAKES_THE_SAME = `FROM contenders c CROSS JOIN records r ON r.id = c.record_id CROSS JOIN streams s ON s.id = r.stream_id
  CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
  WHERE r.state = 'mapped' AND r.missing_since IS NULL AND i.record_id IS NOT NULL AND i.record_id <> r.id AND ${ofSources('s')}`;
const OWNS_NOTHING = 'NOT EXISTS (SELECT 1 FROM items o WHERE o.record_id = r.id)';
const DUPLICATES = {
  counts: statement<[Listed], Pick<Duplicates, 'count' | 'whole'>>(
    `SELECT count(*) AS count, coalesce(sum(whole), 0) AS whole
     FROM (SELECT ${OWNS_NOTHING} AS whole ${MAKES_THE_SAME} GROUP BY r.id) AS found`,
  ),
  // Each row is shown with its product, or with its BOM item if it makes no product.
  examples: statement<[Listed & { limit: number }], DuplicateRow>(
    `SELECT d.kind, d.key, d.source, d.stream, d.place, (SELECT f.place FROM records f WHERE f.id = d.first) AS firstPlace FROM (
       SELECT r.id, c.kind, c.key, s.source, s.name AS stream, r.place, i.record_id AS first, row_number() OVER (
         PARTITION BY r.id ORDER BY CASE c.kind WHEN 'product' THEN 0 WHEN 'bom_item' THEN 1 ELSE 2 END, c.key) AS number
       ${MAKES_THE_SAME} AND ${OWNS_NOTHING}) d
     WHERE d.number = 1 ORDER BY d.id LIMIT @limit`,
  ),
};

/**
 * Finds rows that make the same item as another row, with the same content. A row that makes the item with other
 * content is in quarantine, and is counted there.
 */
export function duplicates(reads: Db, limit: number, sources?: readonly string[]): Duplicates {
  const counts = DUPLICATES.counts(reads).get(listed(sources)) ?? { count: 0, whole: 0 };
  const rows = DUPLICATES.examples(reads).all({ ...listed(sources), limit });
  const examples = rows.map(({ place, firstPlace, ...row }) => ({
    ...row,
    place: parseJson<Place>(place),
    first: parseJson<Place>(firstPlace ?? '{}'),
  }));
  return { ...counts, examples };
}
