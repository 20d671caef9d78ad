import { type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { Requests } from '../deliveries/requests/requests.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import type { LedgerContext } from '../store/context.ts';
import { type ItemRow, isOpenState, revisionContent } from './item-row.ts';
import type { WantedWrite } from './wanted.ts';

/** This many revisions of an item are kept, the present one included (I9). */
export const REVISIONS_MAX = 20;

/** The revisions of items. Call each function inside a transaction. */
export interface Revisions {
  /** Begins the next revision. The present one moves to the history; an open revision is superseded. */
  begin(item: ItemRow, write: WantedWrite, begun: { state: DeliveryState; reason: Reason | null }): void;
  /**
   * Supersedes the open revision, which the API has not received or has refused. `reason` is given if a person ends it.
   */
  supersede(item: ItemRow, reason?: Reason): void;
}

export function createRevisions({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>, requests: Requests): Revisions {
  const sql = {
    keep: db.prepare<[HistoryRow]>(
      `INSERT INTO history (item_id, revision, operation, state, desired_hash, attempts, reason, staged_at, sent_at, settled_at)
       VALUES (@id, @revision, @operation, @state, @hash, @attempts, @reason, @stagedAt, @sentAt, @settledAt)`,
    ),
    forget: db.prepare<[{ id: number }]>(
      `DELETE FROM history WHERE item_id = @id AND revision <= (SELECT revision FROM history WHERE item_id = @id
       ORDER BY revision DESC LIMIT 1 OFFSET ${REVISIONS_MAX - 1})`,
    ),
    begin: db.prepare<
      [{ id: number; state: string; operation: string; reason: string | null; byHand: 0 | 1; now: number }]
    >(
      `UPDATE items SET revision = revision + 1, state = @state, operation = @operation, reason = @reason, by_hand = @byHand,
         sent = NULL, sent_hash = NULL, request_id = NULL, request_place = NULL, group_max = NULL, due_at = 0, attempts = 0,
         uncertain = 0, staged_at = @now, sent_at = NULL, settled_at = iif(@state = 'blocked', @now, NULL),
         ignored_hash = NULL WHERE id = @id`,
    ),
    // The desired payload may change before the next revision begins, so `sent_hash` stores the hash of the payload of
    // this revision.
    supersede: db.prepare<[{ id: number; state: string; reason: string | null; now: number }]>(
      `UPDATE items SET state = @state, settled_at = @now, reason = coalesce(@reason, reason), sent = NULL, due_at = 0,
         uncertain = 0 WHERE id = @id`,
    ),
  };

  /** Copies the present revision to the history. An open revision is copied as superseded. */
  function keep(item: ItemRow, now: number): void {
    const { id, revision, operation, state, attempts, reason, stagedAt, sentAt } = item;
    if (state === null || operation === null || stagedAt === null) return;
    const ended = isOpenState(state)
      ? { state: transition(state, 'supersede'), settledAt: now }
      : { state, settledAt: item.settledAt };
    const { hash } = revisionContent(item);
    sql.keep.run({ id, revision, operation, hash, attempts, reason, stagedAt, sentAt, ...ended });
    if (revision >= REVISIONS_MAX) sql.forget.run({ id });
  }

  return {
    begin(item, { operation, byHand }, { state, reason }) {
      const now = clock.now();
      keep(item, now);
      if (isOpenState(item.state)) requests.release(item);
      const why = reason === null ? null : reasonText(reason);
      sql.begin.run({ id: item.id, state, operation, reason: why, byHand: byHand ? 1 : 0, now });
    },
    supersede(item, reason) {
      if (!isOpenState(item.state)) return;
      requests.release(item);
      const why = reason === undefined ? null : reasonText(reason);
      sql.supersede.run({ id: item.id, state: transition(item.state, 'supersede'), reason: why, now: clock.now() });
    },
  };
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
