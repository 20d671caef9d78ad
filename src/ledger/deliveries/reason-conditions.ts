import { codesWith, hasTrait, type ReasonTrait, storedReason } from '../../domain/delivery/reason.ts';

/** True of a delivery whose reason has this trait. The parameter is the name of the items table in the SQL statement. */
export function reasonHas(of: string, trait: ReasonTrait): string {
  const codes = codesWith(trait).map((code) => `'${code}'`);
  return `${of}.reason ->> '$.code' IN (${codes.join(', ')})`;
}

/** True if a delivery that was read has a reason with this trait. */
export function hasReason({ reason }: { reason: string | null }, trait: ReasonTrait): boolean {
  const stored = storedReason(reason);
  return stored !== null && hasTrait(stored, trait);
}
