import { SETTLE_STATES, type SettleState } from '../../../domain/delivery/manual-resolution.ts';
import type { Operation } from '../../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../../domain/item.ts';
import { naturalKeyOf } from '../../../domain/natural-key.ts';
import type { ListableKind } from '../../../domain/ports/target.ts';
import type { NamedDelivery, NamedSelection } from '../../../domain/ports/unconfirmed.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { type ItemRow, itemColumns, revisionContent } from '../../items/item-row.ts';
import { type LedgerContext, parseJson } from '../../store/context.ts';
import { isStuck } from '../delivery-states.ts';

/** Finds the deliveries that a manual resolution names. Each function is one read. */
export interface NamedDeliveries {
  named(name: string): NamedDelivery[];
  count(selection: NamedSelection): number;
  selected(request: NamedSelection & { afterId: number; limit: number }): NamedDelivery[];
  boundTo(kind: ListableKind, remoteId: JsonValue): string | null;
}

interface Row extends ItemRow {
  operation: Operation;
  state: SettleState;
}

const IS_SETTLEABLE = `i.state IN (${SETTLE_STATES.map((state) => `'${state}'`).join(', ')})`;
const IS_SELECTED = `i.state = @state AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)`;
/** Open deliveries are few, so each condition uses the index of its state. */
const SELECTED = [`${isStuck('i')} AND ${IS_SELECTED}`, `i.state = 'waiting' AND ${IS_SELECTED}`];

export function createNamedDeliveries({ db, profile }: Pick<LedgerContext, 'db' | 'profile'>): NamedDeliveries {
  const named = (column: string) =>
    db.prepare<[{ kind: SubjectKind; name: string }], Row>(
      `SELECT ${itemColumns('i')} FROM items i WHERE i.kind = @kind AND i.${column} = @name AND ${IS_SETTLEABLE} ORDER BY i.id`,
    );
  const sql = {
    byKey: named('key'),
    byNaturalKey: named('natural_key'),
    count: SELECTED.map((selected) =>
      db.prepare<[NamedSelection], number>(`SELECT count(*) FROM items i WHERE ${selected}`).pluck(),
    ),
    selected: SELECTED.map((selected) =>
      db.prepare<[NamedSelection & { afterId: number; limit: number }], Row>(
        `SELECT ${itemColumns('i')} FROM items i WHERE ${selected} AND i.id > @afterId ORDER BY i.id LIMIT @limit`,
      ),
    ),
    bound: db
      .prepare<[string, string], string>(
        "SELECT key FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
      )
      .pluck(),
  };

  function namedDelivery(row: Row): NamedDelivery {
    const { id, kind, key, revision, operation, source, state, sentAt } = row;
    // The comparison uses the natural key that was sent, not the present one.
    const sent =
      kind === 'passport' ? null : naturalKeyOf(profile, kind, parseJson<JsonObject>(revisionContent(row).text));
    return {
      id,
      kind,
      key,
      revision,
      operation,
      source,
      state,
      sentAt,
      uncertain: row.uncertain === 1,
      naturalKey: kind === 'passport' ? row.naturalKey : (sent?.value ?? null),
      reason: storedReason(row.reason) ?? NO_REASON,
    };
  }

  return {
    named(name) {
      const byKey = SUBJECT_KINDS.flatMap((kind) => sql.byKey.all({ kind, name }));
      const found = byKey.length > 0 ? byKey : SUBJECT_KINDS.flatMap((kind) => sql.byNaturalKey.all({ kind, name }));
      return found.map(namedDelivery);
    },
    count: (selection) => sql.count.reduce((sum, statement) => sum + (statement.get(selection) ?? 0), 0),
    // A selection has one state, so only one of the two statements finds rows.
    selected: (request) => sql.selected.flatMap((statement) => statement.all(request)).map(namedDelivery),
    boundTo: (kind, remoteId) => sql.bound.get(kind, JSON.stringify(remoteId)) ?? null,
  };
}
