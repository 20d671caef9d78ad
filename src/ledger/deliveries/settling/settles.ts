import type { RequestSettlement, Settled } from '../../../domain/ports/decision.ts';
import { statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import { SELECT_SETTLE_ROWS, type SettleRow } from '../delivery-row.ts';
import { settlePlain } from './plain-settles.ts';
import { settleRequest } from './settle-request.ts';

const SQL = {
  rows: statement<[string], SettleRow>(SELECT_SETTLE_ROWS),
};

/**
 * Stores the decisions about deliveries that were sent. An answer is plain if it acknowledges the write of an item whose
 * desired payload has not changed since. Plain answers are settled together with few statements. All other requests are
 * settled member by member.
 */
export function settle(tx: Tx, groups: readonly RequestSettlement[]): Settled[] {
  const ids = groups.flatMap(({ settlements }) => settlements.map(({ id }) => id));
  const present = SQL.rows(tx).all(JSON.stringify(ids));
  const rows = new Map(present.map((row) => [row.id, row]));
  const found = groups.map((group) => ({
    group,
    members: group.settlements.map((settlement) => ({ settlement, row: rows.get(settlement.id) })),
  }));
  // Two groups may name the same delivery, and the second must see what the first has stored. So they are settled in order.
  const settled = new Set(ids).size === ids.length ? settlePlain(tx, found) : [];
  const settledIds = new Set<number>();
  return found.flatMap((one, at) => settled[at] ?? settleRequest(tx, one.group, settledIds));
}
