// Finds the header of a delimited text, below lines of a title.

import type { Dialect } from '../../../connectors/csv/schema.ts';
import { comparableName } from '../../domain/natural-key.ts';
import { isEmptyText, looksLikeValue } from './value-checks.ts';

/** The rows of a delimited text. */
export interface Table {
  rows: { line: number; values: string[] }[];
  /** How many values most of the rows have. */
  columns: number;
}

/** The options for the header, and their reasons. */
export interface FoundHeader {
  options: Partial<Dialect>;
  reasons: Partial<Record<keyof Dialect, string>>;
}

/** The least share of the columns for which a header has names. */
const FILLED_MIN = 0.7;
const OF_TITLE =
  'If the first lines are a title, delete them and run init again with --force. Or set `skipLines` and `header: true`, and write the names of the columns in the mapping.';

/**
 * The first row that has as many values as most rows, and is not a line of a title. Excel writes empty values after a
 * title, so that the title is as wide as the table. -1 if there is no such row.
 */
export function firstRowOf(table: Table): number {
  const { rows, columns } = table;
  const wide = rows.findIndex(({ values }) => values.length === columns);
  const filled = rows.findIndex((row, at) => at >= wide && !isSparse(row, columns));
  if (wide < 0 || filled <= wide || !hasNames(table, filled)) return wide;
  const named = rows[filled]?.values.length ?? 0;
  if (named === columns) return filled;
  const isUneven = Math.abs(named - columns) === 1 && !hasNames(table, filled + 1);
  return isUneven ? filled + 1 : wide;
}

function isSparse({ values }: Table['rows'][number], columns: number): boolean {
  return values.filter((value) => !isEmptyText(value)).length < columns * FILLED_MIN;
}

/** True if a row has the names of columns, and not values like those of the rows below it. */
function hasNames(table: Table, at: number): boolean {
  return headerOf(table, at).options.header !== false && !isLikeRowsBelow(table, at);
}

/** True if a value of a row differs at most in its digits from a value below it, such as `A-1` from `A-2`. */
function isLikeRowsBelow({ rows }: Table, at: number): boolean {
  const shapes = rows[at]?.values.map(shapeOf) ?? [];
  return rows.slice(at + 1).some(({ values }) => {
    const below = values.map(shapeOf);
    const isAlike = shapes.some((shape, column) => shape !== '' && shape === below[column]);
    // Some reports repeat the header on each page.
    return isAlike && shapes.some((shape, column) => shape !== below[column]);
  });
}

function shapeOf(value: string): string {
  return value.trim().replaceAll(/\d+/g, '0');
}

/** Decides whether the first row is a header: its values are filled, different, and neither numbers nor dates. */
export function headerOf({ rows }: Table, first: number): FoundHeader {
  const values = rows[first]?.values ?? [];
  const names = values.map((value) => value.trim());
  const filled = names.filter((name) => !isEmptyText(name));
  const value = filled.find(looksLikeValue);
  if (value !== undefined) return noHeader(`the first row has the value ${JSON.stringify(value)}, which is not a name`);
  if (filled.length < names.length * FILLED_MIN)
    return noHeader('the first row has too many empty values for column names');
  const forms = filled.map(comparableName);
  const at = forms.findIndex((form, index) => forms.indexOf(form) !== index);
  const twice = forms[at];
  if (twice === undefined) return { options: {}, reasons: {} };
  const isSame = filled.indexOf(filled[at] ?? '') !== at;
  const how = isSame ? '' : ', in characters that look the same';
  return {
    options: { columns: uniqueNames(names) },
    reasons: {
      columns: `the header has the name ${JSON.stringify(twice)} more than once${how}, so all names are given here`,
    },
  };
}

/**
 * Finds a header that has one name fewer or one name more than the rows below it have values. Null if the row at `first`
 * is the header, or if the row above it has no names.
 */
export function unevenHeaderOf(table: Table, first: number): { skipLines: number; header: FoundHeader } | null {
  const { rows, columns } = table;
  const above = rows[first - 1];
  const names = above?.values.map((name) => name.trim()) ?? [];
  if (above === undefined || Math.abs(names.length - columns) !== 1) return null;
  if (hasNames(table, first) || !hasNames(table, first - 1)) return null;
  const isOverfull = rows
    .slice(first)
    .some(({ values }) => values.length > names.length && !isEmptyText(values.at(-1) ?? ''));
  // The connector reads these files as they are: a value without a name, or a name without a value, is empty in each row.
  if (names.length < columns ? !isOverfull : isEmptyText(names.at(-1) ?? '')) {
    return { skipLines: above.line - 1, header: headerOf(table, first - 1) };
  }
  const why = `the header at line ${above.line} has ${names.length} names, and rows have ${columns} values`;
  const all = uniqueNames([...names, ''].slice(0, columns));
  return {
    skipLines: above.line,
    header: {
      options: { header: false, columns: all },
      reasons: { header: why, columns: `${why}; correct the names` },
    },
  };
}

function noHeader(reason: string): FoundHeader {
  return {
    options: { header: false },
    reasons: { header: `${reason}; the columns are column1, column2 and so on. ${OF_TITLE}` },
  };
}

function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name, index) => {
    const base = name === '' ? `column${index + 1}` : comparableName(name);
    let unique = base;
    for (let count = 2; taken.has(unique); count += 1) unique = `${base}_${count}`;
    taken.add(unique);
    return unique;
  });
}
