import type { Operation } from '../../../domain/delivery/operation.ts';
import type { PassportRules } from '../../../domain/passport.ts';
import type { ItemView, LedgerViews, PassportView } from '../../../domain/ports/ledger/ledger-views.ts';
import { isOpen } from '../../deliveries/delivery-states.ts';
import type { Sqlite } from '../../store/database.ts';
import type { DeliverySteps } from './delivery-steps.ts';
import { passportSteps } from './passport-steps.ts';
import type { Step } from './step.ts';

/** The last steps on the way to a passport: its desired status, its delivery, and what the platform has. */
export interface PassportWaits {
  /** @param isComplete true if no earlier step stops the passport */
  stepsOf(product: ItemView, passport: PassportView, isComplete: boolean): Step[];
  /** True if the platform has accepted a change of the product since it last answered a write of the passport. */
  hasChangedSince(key: string): boolean;
  /**
   * Why the passport of a complete product does not have its desired status, in full sentences; null if no reason is
   * known.
   */
  waitOf(key: string): string | null;
}

export function createPassportWaits(
  db: Sqlite,
  rules: PassportRules,
  { views, deliveries }: { views: Pick<LedgerViews, 'item' | 'passport'>; deliveries: DeliverySteps },
): PassportWaits {
  const operationOf = db
    .prepare<[string], Operation>(
      `SELECT i.operation FROM items i WHERE i.kind = 'passport' AND i.key = ? AND ${isOpen('i')}`,
    )
    .pluck();

  const dirty = db
    .prepare<[string], number>("SELECT 1 FROM items WHERE kind = 'passport' AND key = ? AND dirty = 1")
    .pluck();

  function stepsOf(product: ItemView, passport: PassportView, isComplete: boolean): Step[] {
    const item = views.item('passport', product.key);
    const operation = operationOf.get(product.key) ?? null;
    return passportSteps({ product, passport, item, operation, isComplete }, rules, deliveries);
  }

  return {
    stepsOf,
    hasChangedSince: (key) => dirty.get(key) !== undefined,
    waitOf(key) {
      const product = views.item('product', key);
      const passport = product === null ? null : views.passport(product.key);
      if (product === null || passport === null) return null;
      const last = stepsOf(product, passport, true).at(-1);
      return last === undefined || last.standing === 'ok' ? null : last.text;
    },
  };
}
