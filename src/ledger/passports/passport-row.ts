import { nextStep, type PassportDesire } from '../../domain/passport.ts';
import type { EvaluatedProduct } from './completeness.ts';
import type { PassportOwner } from './passport-items.ts';
import { statusIn } from './passport-text.ts';

/** A product with its passport, if it has one. */
export interface PassportRow extends EvaluatedProduct, PassportOwner {
  /**
   * 1 if the source no longer has the product. A released product counts as present until the guard has decided about
   * it.
   */
  gone: number;
  passportId: number | null;
  desired: string | null;
  baseline: string | null;
  dirty: number | null;
}

export const PASSPORT_COLUMNS = `p.id, p.key, p.natural_key AS naturalKey, p.source, p.appeared_at AS appearedAt,
  p.missing_since IS NOT NULL AS gone,
  q.id AS passportId, q.desired, q.baseline, q.dirty`;
/** Every product, with its passport if it has one. */
export const PRODUCTS_WITH_PASSPORTS = `${PASSPORT_COLUMNS} FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;

/** True if the next step may be taken now. A withdrawal needs no complete product. */
export function mayStep(row: PassportRow, desire: PassportDesire, isComplete: () => boolean): boolean {
  const step = nextStep(statusIn(row.baseline), desire.status);
  return step === null || step.operation === 'passport.unpublish' || isComplete();
}
