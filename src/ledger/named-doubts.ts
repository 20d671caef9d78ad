import type { Operation, Reason } from '../domain/delivery.ts';
import type { SubjectKind } from '../domain/item.ts';
import { naturalKeyOf } from '../domain/natural-key.ts';
import type { NamedDoubt } from '../domain/ports/doubt.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from './context.ts';
import { isStuck } from './delivery-states.ts';

/** What a person's word may be about. Each function is one read. */
export interface NamedDoubts {
  doubtsOf(name: string): NamedDoubt[];
  boundTo(kind: ListableKind, remoteId: JsonValue): string | null;
}

interface DoubtRow {
  id: number;
  kind: SubjectKind;
  key: string;
  operation: Operation;
  source: string;
  naturalKey: string | null;
  desired: string | null;
  reason: string | null;
}

export function createNamedDoubts({ db, profile }: Pick<LedgerContext, 'db' | 'profile'>): NamedDoubts {
  const sql = {
    // What is stuck is little, so it comes first.
    doubts: db.prepare<[{ name: string }], DoubtRow>(
      `SELECT d.id, i.kind, i.key, d.operation, i.source, i.natural_key AS naturalKey, d.desired, d.reason
       FROM deliveries d CROSS JOIN items i ON i.id = d.item_id
       WHERE ${isStuck('d')} AND d.state = 'in_doubt'
         AND (i.key = @name OR i.natural_key = @name) ORDER BY d.id`,
    ),
    bound: db
      .prepare<[string, string], string>('SELECT key FROM items WHERE kind = ? AND remote_id = ? LIMIT 1')
      .pluck(),
  };

  function namedDoubt({ desired, naturalKey, reason, kind, ...row }: DoubtRow): NamedDoubt {
    // What was sent counts, not what the item is called by now.
    const sent = kind === 'passport' ? null : naturalKeyOf(profile, kind, parseJson<JsonObject>(desired ?? '{}'));
    return {
      ...row,
      kind,
      naturalKey: kind === 'passport' ? naturalKey : (sent?.value ?? null),
      reason: parseJsonOrNull<Reason>(reason) ?? { code: 'unknown', message: '' },
    };
  }

  return {
    doubtsOf(name) {
      const found = sql.doubts.all({ name });
      const byKey = found.filter(({ key }) => key === name);
      return (byKey.length > 0 ? byKey : found).map(namedDoubt);
    },
    boundTo: (kind, remoteId) => sql.bound.get(kind, JSON.stringify(remoteId)) ?? null,
  };
}
