// Finds the deliveries that a manual resolution names.

import { SETTLE_STATES, type SettleState } from '../../../domain/delivery/manual-resolution.ts';
import type { Operation } from '../../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../../domain/item.ts';
import { naturalKeyOf } from '../../../domain/natural-key.ts';
import type { ListableKind } from '../../../domain/ports/target.ts';
import type { NamedDelivery, NamedSelection } from '../../../domain/ports/unconfirmed.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { type ItemRow, itemColumns, revisionContent } from '../../items/item-row.ts';
import { parseJson } from '../../store/context.ts';
import { column, statement } from '../../store/statement.ts';
import type { Reads } from '../../store/tx.ts';
import { isStuck } from '../delivery-states.ts';

interface Row extends ItemRow {
  operation: Operation;
  state: SettleState;
}

const IS_SETTLEABLE = `i.state IN (${SETTLE_STATES.map((state) => `'${state}'`).join(', ')})`;
const IS_SELECTED = `i.state = @state AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)`;
/** Open deliveries are few, so each condition uses the index of its state. */
const SELECTED = [`${isStuck('i')} AND ${IS_SELECTED}`, `i.state = 'waiting' AND ${IS_SELECTED}`];

const named = (by: 'key' | 'natural_key') =>
  statement<[{ kind: SubjectKind; name: string }], Row>(
    `SELECT ${itemColumns('i')} FROM items i WHERE i.kind = @kind AND i.${by} = @name AND ${IS_SETTLEABLE} ORDER BY i.id`,
  );

const SQL = {
  byKey: named('key'),
  byNaturalKey: named('natural_key'),
  count: SELECTED.map((selected) => column<[NamedSelection], number>(`SELECT count(*) FROM items i WHERE ${selected}`)),
  selected: SELECTED.map((selected) =>
    statement<[NamedSelection & { afterId: number; limit: number }], Row>(
      `SELECT ${itemColumns('i')} FROM items i WHERE ${selected} AND i.id > @afterId ORDER BY i.id LIMIT @limit`,
    ),
  ),
  bound: column<[string, string], string>(
    "SELECT key FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
  ),
};

export function deliveriesNamed(reads: Reads, name: string): NamedDelivery[] {
  const byKey = SUBJECT_KINDS.flatMap((kind) => SQL.byKey(reads).all({ kind, name }));
  const found = byKey.length > 0 ? byKey : SUBJECT_KINDS.flatMap((kind) => SQL.byNaturalKey(reads).all({ kind, name }));
  return found.map((row) => namedDelivery(reads, row));
}

export function countSelected(reads: Reads, selection: NamedSelection): number {
  return SQL.count.reduce((sum, count) => sum + (count(reads).get(selection) ?? 0), 0);
}

export function selectedDeliveries(
  reads: Reads,
  request: NamedSelection & { afterId: number; limit: number },
): NamedDelivery[] {
  // A selection has one state, so only one of the two statements finds rows.
  return SQL.selected.flatMap((selected) => selected(reads).all(request)).map((row) => namedDelivery(reads, row));
}

export function boundTo(reads: Reads, kind: ListableKind, remoteId: JsonValue): string | null {
  return SQL.bound(reads).get(kind, JSON.stringify(remoteId)) ?? null;
}

function namedDelivery(reads: Reads, row: Row): NamedDelivery {
  const { id, kind, key, revision, operation, source, state, sentAt } = row;
  // The comparison uses the natural key that was sent, not the present one.
  const sent =
    kind === 'passport' ? null : naturalKeyOf(reads.profile, kind, parseJson<JsonObject>(revisionContent(row).text));
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
