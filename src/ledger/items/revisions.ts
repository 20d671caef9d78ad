// The revisions of items.

import { type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { leaveRequest } from '../deliveries/requests/requests.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { type ItemRow, isOpenState, revisionContent } from './item-row.ts';
import type { WantedWrite } from './wanted.ts';

/** This many revisions of an item are kept, the present one included (I9). */
export const REVISIONS_MAX = 20;

const SQL = {
  keep: statement<[HistoryRow]>(
    `INSERT INTO history (item_id, revision, operation, state, desired_hash, attempts, reason, staged_at, sent_at, settled_at)
     VALUES (@id, @revision, @operation, @state, @hash, @attempts, @reason, @stagedAt, @sentAt, @settledAt)`,
  ),
  forget: statement<[{ id: number }]>(
    `DELETE FROM history WHERE item_id = @id AND revision <= (SELECT revision FROM history WHERE item_id = @id
     ORDER BY revision DESC LIMIT 1 OFFSET ${REVISIONS_MAX - 1})`,
  ),
  begin: statement<
    [{ id: number; state: string; operation: string; reason: string | null; byHand: 0 | 1; now: number }]
  >(
    `UPDATE items SET revision = revision + 1, state = @state, operation = @operation, reason = @reason, by_hand = @byHand,
       sent = NULL, sent_hash = NULL, request_id = NULL, request_place = NULL, group_max = NULL, due_at = 0, attempts = 0,
       uncertain = 0, staged_at = @now, sent_at = NULL, settled_at = iif(@state = 'blocked', @now, NULL),
       ignored_hash = NULL WHERE id = @id`,
  ),
  // The desired payload may change before the next revision begins, so `sent_hash` stores the hash of the payload of
  // this revision.
  supersede: statement<[{ id: number; state: string; reason: string | null; now: number }]>(
    `UPDATE items SET state = @state, settled_at = @now, reason = coalesce(@reason, reason), sent = NULL, due_at = 0,
       uncertain = 0 WHERE id = @id`,
  ),
};

/** Begins the next revision. The present one moves to the history; an open revision is superseded. */
export function beginRevision(
  tx: Tx,
  item: ItemRow,
  { operation, byHand }: WantedWrite,
  { state, reason }: { state: DeliveryState; reason: Reason | null },
): void {
  const now = tx.clock.now();
  keepRevision(tx, item, now);
  if (isOpenState(item.state)) leaveRequest(tx, item);
  const why = reason === null ? null : reasonText(reason);
  SQL.begin(tx).run({ id: item.id, state, operation, reason: why, byHand: byHand ? 1 : 0, now });
}

/**
 * Supersedes the open revision, which the API has not received or has refused. `reason` is given if a person ends it.
 */
export function supersedeRevision(tx: Tx, item: ItemRow, reason?: Reason): void {
  if (!isOpenState(item.state)) return;
  leaveRequest(tx, item);
  const why = reason === undefined ? null : reasonText(reason);
  SQL.supersede(tx).run({ id: item.id, state: transition(item.state, 'supersede'), reason: why, now: tx.clock.now() });
}

/** Copies the present revision to the history. An open revision is copied as superseded. */
function keepRevision(tx: Tx, item: ItemRow, now: number): void {
  const { id, revision, operation, state, attempts, reason, stagedAt, sentAt } = item;
  if (state === null || operation === null || stagedAt === null) return;
  const ended = isOpenState(state)
    ? { state: transition(state, 'supersede'), settledAt: now }
    : { state, settledAt: item.settledAt };
  const { hash } = revisionContent(item);
  SQL.keep(tx).run({ id, revision, operation, hash, attempts, reason, stagedAt, sentAt, ...ended });
  if (revision >= REVISIONS_MAX) SQL.forget(tx).run({ id });
}

interface HistoryRow {
  id: number;
  revision: number;
  operation: string;
  state: string;
  hash: string;
  attempts: number;
  reason: string | null;
  stagedAt: number;
  sentAt: number | null;
  settledAt: number | null;
}
