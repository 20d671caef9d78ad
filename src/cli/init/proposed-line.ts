import type { ItemKind } from '../../domain/item.ts';
import { formatCount, plural } from '../text/style.ts';
import { type Choice, describeChoice, guarded, named } from './choose-column.ts';
import type { Column } from './columns.ts';
import { type FoundKey, keyExampleOf, NO_KEY } from './key-columns.ts';

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
  key: ProposedLine;
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
    : `filled in ${formatCount(column.values.length)} of ${plural(column.records, 'record')}`;
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
