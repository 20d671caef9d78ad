import type { Operation } from '../../domain/delivery.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { SETTLE_STATES, type SettleState } from '../../domain/manual.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { NamedDelivery, NamedSelection } from '../../domain/ports/unconfirmed.ts';
import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import { isOpen } from './delivery-states.ts';

/** Finds the deliveries that a manual resolution names. Each function is one read. */
export interface NamedDeliveries {
  named(name: string): NamedDelivery[];
  count(selection: NamedSelection): number;
  selected(request: NamedSelection & { afterId: number; limit: number }): NamedDelivery[];
  boundTo(kind: ListableKind, remoteId: JsonValue): string | null;
}

interface Row {
  id: number;
  kind: SubjectKind;
  key: string;
  revision: number;
  operation: Operation;
  source: string;
  state: SettleState;
  uncertain: number;
  sentAt: number | null;
  naturalKey: string | null;
  desired: string | null;
  reason: string | null;
}

const COLUMNS = `d.id, i.kind, i.key, d.revision, d.operation, i.source, d.state, d.uncertain, d.sent_at AS sentAt,
  i.natural_key AS naturalKey, d.desired, d.reason`;
const IS_SETTLEABLE = `${isOpen('d')} AND d.state IN (${SETTLE_STATES.map((state) => `'${state}'`).join(', ')})`;
const IS_SELECTED = `${isOpen('d')} AND d.state = @state AND (@kind IS NULL OR i.kind = @kind)
  AND (@source IS NULL OR i.source = @source)`;

export function createNamedDeliveries({ db, profile }: Pick<LedgerContext, 'db' | 'profile'>): NamedDeliveries {
  const named = (column: string) =>
    db.prepare<[{ kind: SubjectKind; name: string }], Row>(
      `SELECT ${COLUMNS} FROM items i JOIN deliveries d ON d.item_id = i.id AND ${IS_SETTLEABLE}
       WHERE i.kind = @kind AND i.${column} = @name ORDER BY d.id`,
    );
  const sql = {
    byKey: named('key'),
    byNaturalKey: named('natural_key'),
    // What is open is little beside all items, so it comes first.
    count: db
      .prepare<[NamedSelection], number>(
        `SELECT count(*) FROM deliveries d CROSS JOIN items i ON i.id = d.item_id WHERE ${IS_SELECTED}`,
      )
      .pluck(),
    selected: db.prepare<[NamedSelection & { afterId: number; limit: number }], Row>(
      `SELECT ${COLUMNS} FROM deliveries d CROSS JOIN items i ON i.id = d.item_id
       WHERE ${IS_SELECTED} AND d.id > @afterId ORDER BY d.id LIMIT @limit`,
    ),
    bound: db
      .prepare<[string, string], string>('SELECT key FROM items WHERE kind = ? AND remote_id = ? LIMIT 1')
      .pluck(),
  };

  function namedDelivery({ desired, naturalKey, reason, kind, uncertain, ...row }: Row): NamedDelivery {
    // What was sent counts, not what the item is called by now.
    const sent = kind === 'passport' ? null : naturalKeyOf(profile, kind, parseJson<JsonObject>(desired ?? '{}'));
    return {
      ...row,
      kind,
      uncertain: uncertain === 1,
      naturalKey: kind === 'passport' ? naturalKey : (sent?.value ?? null),
      reason: storedReason(reason) ?? NO_REASON,
    };
  }

  return {
    named(name) {
      const byKey = SUBJECT_KINDS.flatMap((kind) => sql.byKey.all({ kind, name }));
      const found = byKey.length > 0 ? byKey : SUBJECT_KINDS.flatMap((kind) => sql.byNaturalKey.all({ kind, name }));
      return found.map(namedDelivery);
    },
    count: (selection) => sql.count.get(selection) ?? 0,
    selected: (request) => sql.selected.all(request).map(namedDelivery),
    boundTo: (kind, remoteId) => sql.bound.get(kind, JSON.stringify(remoteId)) ?? null,
  };
}
