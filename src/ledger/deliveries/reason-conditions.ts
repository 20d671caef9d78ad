import { codesWith, hasTrait, type ReasonTrait, storedReason } from '../../domain/delivery/reason.ts';

/**
 * SQL condition: true if the reason of the delivery has this trait. The parameter is the name of the items table in the
 * SQL statement.
 */
export function reasonHas(of: string, trait: ReasonTrait): string {
  const codes = codesWith(trait).map((code) => `'${code}'`);
  return `${of}.reason ->> '$.code' IN (${codes.join(', ')})`;
}

/** The same condition for a delivery that was read from the ledger: true if its reason has this trait. */
export function hasReason({ reason }: { reason: string | null }, trait: ReasonTrait): boolean {
  const stored = storedReason(reason);
  return stored !== null && hasTrait(stored, trait);
}
