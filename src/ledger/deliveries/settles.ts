import type { RequestSettlement, Settled } from '../../domain/ports/decision.ts';
import type { LedgerContext } from '../store/context.ts';
import { type DeliveryRow, SELECT_LISTED_DELIVERIES } from './delivery-row.ts';
import type { PlainSettles } from './plain-settles.ts';
import type { SettleRequest } from './settle-request.ts';

/** Stores what became of deliveries that were sent. The body of one transaction. */
export interface Settles {
  settle(groups: readonly RequestSettlement[]): Settled[];
}

interface SettlesParts {
  plain: PlainSettles;
  settleRequest: SettleRequest;
}

/**
 * Creates and updates that were acknowledged by an answer, of items that have not moved on, are settled with a handful of statements
 * for all of them. Whatever else came of a request is settled member by member.
 */
export function createSettles({ db }: Pick<LedgerContext, 'db'>, { plain, settleRequest }: SettlesParts): Settles {
  const rowsOf = db.prepare<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES);

  return {
    settle(groups) {
      const ids = groups.flatMap(({ settlements }) => settlements.map(({ id }) => id));
      const rows = new Map(rowsOf.all(JSON.stringify(ids)).map((row) => [row.id, row]));
      const found = groups.map((group) => ({
        group,
        members: group.settlements.map((settlement) => ({ settlement, row: rows.get(settlement.id) })),
      }));
      // What one of them does to a delivery that is named twice would be unknown to the other: they are settled in their order.
      const settled = new Set(ids).size === ids.length ? plain.settle(found) : [];
      const settledIds = new Set<number>();
      return found.flatMap((one, at) => settled[at] ?? settleRequest(one.group, settledIds));
    },
  };
}
