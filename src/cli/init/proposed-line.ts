import type { ItemKind } from '../../domain/item.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { type Concept, isExactRank, rankOf } from './field-names.ts';
import { type FoundKey, keyExampleOf, NO_KEY } from './key-columns.ts';
import { asText, type CheckedExpression } from './value-checks.ts';

/** A line of a mapping: an expression, and the reason for it. */
export interface ProposedLine {
  name: string;
  /** Null if no column was found. */
  expression: string | null;
  reason: string;
  /** True if a person has to look at it. */
  isTodo: boolean;
  /** True if a record needs no value: without a column the line is a comment. */
  isOptional?: boolean;
}

/**
 * The expression of a line in the config; null for a line that is left out. A required field without a column is written
 * as empty text: then every record is quarantined, and none is sent with a guess.
 */
export function writtenExpression({ expression, isOptional }: ProposedLine): string | null {
  return expression ?? (isOptional === true ? null : '""');
}

/** A mapping for the records of one stream. */
export interface ProposedMapping {
  to: ItemKind;
  /** The reason for this kind. */
  reason: string;
  /** True if a person has to look at the kind. */
  isTodo?: boolean;
  key: ProposedLine;
  /** The condition under which a record becomes an item. Absent if every record does. */
  when?: ProposedLine;
  refs: ProposedLine[];
  fields: ProposedLine[];
}

/**
 * A line that a person has to fill in.
 *
 * @param columns columns that the line may need; the first one shows the form of the line
 */
export function missing(name: string, reason: string, [example]: readonly Column[] = []): ProposedLine {
  const form = example === undefined ? '' : `; write the column in this form: ${name}: ${example.access}`;
  return { name, expression: null, reason: `${reason}${form}`, isTodo: true };
}

/** The line for a chosen column; null if no column was chosen. */
export function lineIfAny(name: string, choice: Choice | null): ProposedLine | null {
  return choice === null ? null : lineOf(name, choice);
}

/** A line that is left out, with the reason; null without a reason. */
export function leftOut(name: string, reason: string | null): ProposedLine | null {
  return reason === null ? null : { name, expression: null, reason, isTodo: false, isOptional: true };
}

/** @param what further words about the column */
export function lineOf(name: string, choice: Choice, what?: string): ProposedLine {
  const { column, checked, others } = choice;
  const isComplete = column.values.length === column.records;
  const filled = isComplete
    ? 'filled in all records'
    : `filled in ${formatCount(column.values.length)} of ${counted(column.records, 'record')}`;
  const reasons = [
    describeChoice(choice),
    what ?? '',
    isComplete && (checked.words !== 'texts' || what !== undefined) ? '' : filled,
  ];
  if (others.length > 0) reasons.push(`${named(others)} could be it too`);
  return {
    name,
    expression: guarded(column, checked.expression(column.access), checked.condition?.(column.access)),
    reason: reasons.filter((reason) => reason !== '').join('; '),
    isTodo: checked.taken < checked.of,
  };
}

/** @param fallback columns that are proposed if no columns are a key */
export function keyLine(key: FoundKey | null, fallback: readonly Column[], columns: readonly Column[]): ProposedLine {
  if (key !== null) {
    const others = key.others.length === 0 ? '' : `; so ${key.others.length === 1 ? 'is' : 'are'} ${named(key.others)}`;
    const reason = `${key.reason}${others}`;
    return { name: 'key', expression: joined(key.columns), reason, isTodo: key.isFlawed };
  }
  if (fallback.length > 0) {
    return missingKey('not different in all records; add a column that differs', joined(fallback));
  }
  const example = keyExampleOf(columns);
  const cure = example === null ? '' : `; write what identifies an item, for example key: ${example.access}`;
  return missingKey(`${NO_KEY}${cure}`, null);
}

function missingKey(reason: string, expression: string | null): ProposedLine {
  return { name: 'key', expression, reason, isTodo: true };
}

function joined(columns: readonly Column[]): string {
  return columns.map(({ access }) => access).join(' + "/" + ');
}

/** The column that is proposed for a concept. */
export interface Choice {
  column: Column;
  checked: CheckedExpression;
  /** True if the name of the column equals one of the known names, and does not only begin or end with it. */
  isExact: boolean;
  /** Other columns that fit too. */
  others: readonly Column[];
}

/** The choice of a column for its values, whatever its name is. */
export function chosen(column: Column): Choice {
  return { column, checked: asText(column), isExact: true, others: [] };
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
function describeChoice({ isExact, checked }: Choice): string {
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
