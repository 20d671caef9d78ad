import type { Column } from './columns.ts';
import { type Concept, isExactRank, rankOf } from './field-names.ts';
import type { CheckedExpression } from './value-checks.ts';

/** The column that is proposed for a concept. */
export interface Choice {
  column: Column;
  checked: CheckedExpression;
  /** True if the name of the column equals one of the known names, and does not only begin or end with it. */
  isExact: boolean;
  /** Other columns that fit too. */
  others: readonly Column[];
}

/** A function that reads the values of a column, and the least share of values that it has to accept. */
export interface ValueCheck {
  check: (column: Column) => CheckedExpression;
  shareMin?: number;
}

const OTHERS_NAMED = 3;

/**
 * Chooses a column by its name and its values.
 *
 * @returns null if no column fits
 */
export function choose(
  columns: readonly Column[],
  concept: Concept,
  { check, shareMin = 0 }: ValueCheck,
): Choice | null {
  const ranked = columns.flatMap((column) => {
    const rank = rankOf(column.label, concept);
    return rank === null || column.values.length === 0 ? [] : [{ column, rank }];
  });
  const fitting = ranked
    .toSorted((one, other) => one.rank - other.rank || other.column.values.length - one.column.values.length)
    .map(({ column, rank }) => ({ column, rank, checked: check(column) }))
    .filter(({ checked: { taken, of } }) => taken > 0 && taken >= of * shareMin);
  const [best, ...others] = fitting;
  if (best === undefined) return null;
  const isExact = isExactRank(best.rank);
  const alike = others.filter(({ rank }) => isExactRank(rank) === isExact);
  return { column: best.column, checked: best.checked, isExact, others: alike.map(({ column }) => column) };
}

/** Explains which values of a column have prevented its choice, although its name is right. Null if there is no such column. */
export function describeRefused(columns: readonly Column[], concept: Concept, { check }: ValueCheck): string | null {
  const ranked = columns
    .map((column) => ({ column, rank: rankOf(column.label, concept) ?? Number.POSITIVE_INFINITY }))
    .filter(({ column, rank }) => isExactRank(rank) && column.values.length > 0)
    .toSorted((one, other) => one.rank - other.rank);
  const [best] = ranked;
  if (best === undefined) return null;
  const { column } = best;
  return `${column.label} has the name, and ${describeChoice({ column, checked: check(column), isExact: true, others: [] })}`;
}

/** `812 of 820 values are countries, not "EU"`; for plain text it only mentions the name of the column. */
export function describeChoice({ isExact, checked }: Choice): string {
  if (checked.words === 'texts') return isExact ? 'by the name of the column' : 'by a part of the name of the column';
  return describeValues(checked);
}

/** `812 of 820 values are countries, not "EU"`. */
export function describeValues({ taken, of, refused, words }: CheckedExpression): string {
  const all = `${taken} of ${of} values are ${words}`;
  if (refused.length === 0) return all;
  const shown = refused.map((value) => JSON.stringify(value)).join(', ');
  return `${all}, not ${shown}${of - taken > refused.length ? ' …' : ''}`;
}

/** The names of columns in a sentence: `A, B and 3 more`. */
export function named(columns: readonly Column[]): string {
  const shown = columns.slice(0, OTHERS_NAMED).map(({ label }) => label);
  const left = columns.length - shown.length;
  if (left > 0) return `${shown.join(', ')} and ${left} more`;
  const last = shown.at(-1) ?? '';
  return shown.length < 2 ? last : `${shown.slice(0, -1).join(', ')} and ${last}`;
}

/**
 * Wraps an expression so that it gives null if the column is not there or has no value.
 *
 * @param condition a further condition for the expression
 */
export function guarded(
  { access, presence, isFalseEmpty }: Column,
  expression: string,
  condition: string | null = null,
): string {
  const conditions = [presence, isFalseEmpty ? `${access} != false` : null, condition].filter((one) => one !== null);
  return conditions.length === 0 ? expression : `${conditions.join(' && ')} ? ${expression} : null`;
}
