// Recognises columns of a table whose values stand only in the first of the rows that they are about.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { type Concept, isNamed, rankOf } from './field-names.ts';
import { partColumns } from './propose-mapping.ts';
import type { FoundOption } from './recognise-format.ts';

/** The longest value of a column that names the product of rows. */
const LENGTH_MAX = 60;
/** Of fewer rows that lack a value, it may just be missing. */
const BLANK_SHARE_MIN = 0.3;
/** With fewer values, it is chance that no two after each other are the same. */
const VALUES_MIN = 3;
/** Columns that a mapping needs. Only of these it matters whether empty cells have a value. */
const NEEDED: readonly Concept[] = ['product', 'name', 'category', 'country'];

/**
 * The option `fill`. An empty cell may also be just empty. In a bill of materials it cannot be if the row has a part and a
 * quantity, and lacks only the product. Anywhere else a person has to decide, so the option is off.
 *
 * @returns null if no column looks like it
 */
export function recogniseFill(columns: readonly Column[]): FoundOption | null {
  const filled = new Set(columns.flatMap(({ indexes }) => indexes));
  const first = Math.min(...filled);
  const gaps = columns
    .filter(({ values, indexes }) => values.length < filled.size && indexes[0] === first)
    .filter(({ values }) => values.every(({ length }) => length <= LENGTH_MAX));
  const { component, quantity } = partColumns(columns);
  if (component !== null && quantity !== null) {
    const lines = linesOf(component.column, quantity.column);
    const others = gaps.filter((column) => column !== component.column && column !== quantity.column);
    const found = fillOfBill(others, lines, component.column);
    if (found !== null) return found;
  }
  return gaps.flatMap((column) => doubtfulFill(column, filled.size) ?? [])[0] ?? null;
}

/** The rows with a part and a quantity. */
function linesOf(component: Column, quantity: Column): number[] {
  const parts = new Set(component.indexes);
  return quantity.indexes.filter((index) => parts.has(index));
}

function fillOfBill(gaps: readonly Column[], lines: readonly number[], part: Column): FoundOption | null {
  const lacking = ({ indexes }: Column): number => {
    const filled = new Set(indexes);
    return lines.filter((index) => !filled.has(index)).length;
  };
  const candidates = gaps.filter((column) => lacking(column) > 0);
  const isOwner = (column: Column): boolean => isNamed(column.label, 'product') || isNamed(column.label, 'article');
  const named = candidates.find(isOwner);
  const owner =
    named ?? candidates.find((column) => !isKnown(column) && column.values.length > 1 && !hasRepeats(column));
  if (owner === undefined) return null;
  // The name of a product stands in the same rows as its number.
  const beside = candidates.filter(
    (column) => column !== owner && owner.values.length > 1 && isSameRows(column, owner),
  );
  const fill = [owner, ...beside].map(({ label }) => label);
  const onLines = owner.indexes.filter((index) => lines.includes(index)).length;
  const lack = counted(lacking(owner), 'row has', 'rows have');
  const reason = `${lack} a part and a quantity, and no ${owner.label}, which stands in a row above`;
  // The value stands in the row of the first part, or in a row of its own.
  const isAlike = onLines === 0 || onLines === owner.values.length;
  // Such as a revision, without which the rows of two revisions are one bill.
  const left = candidates.filter((column) => !fill.includes(column.label) && !isKnown(column));
  const isTwice = left.length > 0 && hasTwice(owner, part, lines);
  if (named !== undefined && isAlike && !hasRepeats(owner) && !isTwice) return { name: 'fill', value: fill, reason };
  const doubt = isTwice
    ? `but one ${owner.label} has the same ${part.label} twice. If an empty cell of ${left.map(({ label }) => label).join(' or ')} means the value above, add the column here, and to the keys`
    : hasRepeats(owner)
      ? `but ${owner.label} also has the same value in rows after each other`
      : !isAlike
        ? `but some values of ${owner.label} stand in rows without a part, and may be titles`
        : `keep it if ${owner.label} is the product of the rows below`;
  return { name: 'fill', value: fill, reason: `${reason}; ${doubt}`, isTodo: true };
}

function doubtfulFill(column: Column, rows: number): FoundOption | null {
  const blank = rows - column.values.length;
  const isNeeded = NEEDED.some((concept) => isNamed(column.label, concept));
  if (!isNeeded || hasRepeats(column) || column.values.length < VALUES_MIN || blank < rows * BLANK_SHARE_MIN)
    return null;
  const reason = `${column.label} is empty in ${formatCount(blank)} of ${counted(rows, 'row')}, and never repeats a value. If an empty cell means the value above, use this line; if it means no value, delete the line`;
  return { name: 'fill', value: [column.label], reason, isTodo: true, isOff: true };
}

/** True if two rows with parts have the same part and the same value of the owner above them. */
function hasTwice(owner: Column, part: Column, lines: readonly number[]): boolean {
  const owners = new Map(owner.indexes.map((index, at) => [index, owner.values[at]]));
  const parts = new Map(part.indexes.map((index, at) => [index, part.values[at]]));
  const isLine = new Set(lines);
  const seen = new Set<string>();
  let above: string | undefined;
  for (let index = 0; index < part.records; index += 1) {
    above = owners.get(index) ?? above;
    if (!isLine.has(index)) continue;
    const item = JSON.stringify([above, parts.get(index)]);
    if (seen.has(item)) return true;
    seen.add(item);
  }
  return false;
}

/** True if two values after each other are the same. A table that leaves out what is the same as above has none. */
function hasRepeats({ values }: Column): boolean {
  return values.some((value, at) => value === values[at - 1]);
}

function isSameRows(one: Column, other: Column): boolean {
  return one.indexes.length === other.indexes.length && one.indexes.every((index, at) => index === other.indexes[at]);
}

/** What a column of a BOM item means that is not its product. */
const OF_ITEM: readonly Concept[] = [
  'unit',
  'position',
  'from',
  'to',
  'name',
  'description',
  'country',
  'gtin',
  'status',
];

function isKnown(column: Column): boolean {
  return OF_ITEM.some((concept) => rankOf(column.label, concept) !== null);
}
