import type { RequestSettlement, Settled } from '../../../domain/ports/decision.ts';
import type { LedgerContext } from '../../store/context.ts';
import { SELECT_SETTLE_ROWS, type SettleRow } from '../delivery-row.ts';
import type { PlainSettles } from './plain-settles.ts';
import type { SettleRequest } from './settle-request.ts';

/** Stores the decisions about deliveries that were sent. Run it as one transaction. */
export interface Settles {
  settle(groups: readonly RequestSettlement[]): Settled[];
}

interface SettlesParts {
  plain: PlainSettles;
  settleRequest: SettleRequest;
}

/**
 * Settles requests. An answer is plain if it acknowledges the write of an item whose desired payload has not changed
 * since. Plain answers are settled together with few statements. All other requests are settled member by member.
 */
export function createSettles({ db }: Pick<LedgerContext, 'db'>, { plain, settleRequest }: SettlesParts): Settles {
  const rowsOf = db.prepare<[string], SettleRow>(SELECT_SETTLE_ROWS);

  return {
    settle(groups) {
      const ids = groups.flatMap(({ settlements }) => settlements.map(({ id }) => id));
      const rows = new Map(rowsOf.all(JSON.stringify(ids)).map((row) => [row.id, row]));
      const found = groups.map((group) => ({
        group,
        members: group.settlements.map((settlement) => ({ settlement, row: rows.get(settlement.id) })),
      }));
      // Two groups may name the same delivery, and the second must see what the first has stored. So they are settled in order.
      const settled = new Set(ids).size === ids.length ? plain.settle(found) : [];
      const settledIds = new Set<number>();
      return found.flatMap((one, at) => settled[at] ?? settleRequest(one.group, settledIds));
    },
  };
}
