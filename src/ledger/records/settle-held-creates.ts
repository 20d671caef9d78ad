// A create of a stream that was read before waits until the guard has decided about the stream. If most of what the stream had is
// gone, its creates stay held, for the same decision of a person. Otherwise they are sent.
//
// `streams.holds_creates` is 0 if new items of the stream are sent at once, 1 if they wait until its records are mapped and the guard has
// decided, 2 while the stream is being read, and 3 while it is being read after a read that failed.

import { transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { CreatesAfter } from '../../domain/ports/intake.ts';
import { addCreates, type CreateCounts, countCreates, kindCreatedBy } from '../contact/contact.ts';
import { markUnconfirmedIfRestored } from '../items/reconcile.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

interface HeldRow {
  id: number;
  revision: number;
  operation: Operation;
  source: string;
}

const SQL = {
  read: statement<[number]>(
    `UPDATE streams SET holds_creates = iif(holds_creates < 2, 2, 3) WHERE id = ? AND (complete_read IS NOT NULL OR holds_creates > 0)`,
  ),
  mapped: statement<[number]>(
    'UPDATE streams SET holds_creates = max(holds_creates, 1) WHERE id = ? AND (complete_read IS NOT NULL OR holds_creates > 0)',
  ),
  decide: statement<[number]>('UPDATE streams SET holds_creates = 1 WHERE id = ? AND holds_creates >= 2'),
  resume: statement<[number]>(
    'UPDATE streams SET holds_creates = holds_creates - 1 WHERE id = ? AND holds_creates >= 2',
  ),
  // A stream without released items and without waiting records is decided. An acceptance counts in the next run.
  decided: column<[{ streamId: number | null }], number>(
    `SELECT s.id FROM streams s WHERE s.holds_creates = 1 AND (@streamId IS NULL OR s.id = @streamId)
     AND NOT EXISTS (SELECT 1 FROM guarded_reads g WHERE g.stream_id = s.id AND g.holds_creates = 1)
     AND NOT EXISTS (SELECT 1 FROM guarded_items g WHERE g.stream_id = s.id AND g.holds_creates = 1)
     AND (NOT EXISTS (SELECT 1 FROM released l WHERE l.stream_id = s.id)
       OR EXISTS (SELECT 1 FROM guarded_items g WHERE g.stream_id = s.id))
     AND NOT EXISTS (SELECT 1 FROM records w WHERE w.stream_id = s.id AND w.state = 'pending')
     AND NOT EXISTS (SELECT 1 FROM records w WHERE w.stream_id = s.id AND w.state = 'stale' AND w.missing_since IS NULL)`,
  ),
  pass: statement<[number]>('UPDATE streams SET holds_creates = 0 WHERE id = ?'),
  held: statement<[number], HeldRow>(
    `SELECT i.id, i.revision, i.operation, i.source FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM refs f
       LEFT JOIN items t ON t.kind = f.kind AND t.key = f.key
       WHERE f.item_id = i.id AND nullif(t.remote_id, 'null') IS NULL)`,
  ),
  clearReasons: statement<[number]>(
    `UPDATE items SET reason = NULL WHERE state = 'waiting' AND id IN (SELECT item_id FROM held_creates WHERE stream_id = ?)`,
  ),
  forget: statement<[number]>('DELETE FROM held_creates WHERE stream_id = ?'),
  setDue: statement<[string, string]>('UPDATE items SET state = ? WHERE id IN (SELECT value FROM json_each(?))'),
};

const due = transition('waiting', 'refs_arrived');

/** The stream is being read from now on, or its records are mapped again. Its new items wait if it was read before. */
export function holdCreates(tx: Tx, streamId: number, what: 'read' | 'mapping'): void {
  SQL[what === 'read' ? 'read' : 'mapped'](tx).run(streamId);
}

/** A read of the stream has ended. Lets its creates be sent if they no longer wait and the guard does not hold them. */
export function settleCreatesOfRead(tx: Tx, streamId: number, after: CreatesAfter): void {
  if (after === 'keep') return;
  SQL[after](tx).run(streamId);
  for (const id of SQL.decided(tx).all({ streamId })) passCreates(tx, id);
}

/** Lets the creates of all streams be sent that are read and mapped, if the guard does not hold them. */
export function settleHeldCreates(tx: Tx): void {
  for (const id of SQL.decided(tx).all({ streamId: null })) passCreates(tx, id);
}

function passCreates(tx: Tx, streamId: number): void {
  const ready = SQL.held(tx).all(streamId);
  SQL.clearReasons(tx).run(streamId);
  SQL.forget(tx).run(streamId);
  SQL.pass(tx).run(streamId);
  if (ready.length === 0) return;
  SQL.setDue(tx).run(due, JSON.stringify(ready.map(({ id }) => id)));
  const creates: CreateCounts = new Map();
  for (const { source, ...delivery } of ready) {
    const kind = kindCreatedBy(delivery.operation);
    if (kind !== undefined) addCreates(creates, source, kind);
    markUnconfirmedIfRestored(tx, delivery);
  }
  countCreates(tx, creates);
}
