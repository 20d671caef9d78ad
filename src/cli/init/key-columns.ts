import type { JsonObject } from '../../lib/json.ts';
import { plural } from '../text/style.ts';
import { type Column, isComplete } from './columns.ts';
import { type Concept, isExactRank, rankOf } from './field-names.ts';

/** The columns that identify a record, and the reason. */
export interface FoundKey {
  columns: readonly Column[];
  reason: string;
  /** True if some records have the same key, so that a person has to look at them. */
  isRepeated: boolean;
  /** Other columns that identify a record as well. */
  others: readonly Column[];
}

/** Columns are combined with at most this many others. */
const COMBINED_MAX = 12;
/** Nobody keys records by a text, a price or a time. */
const KEY_LENGTH_MAX = 60;
/** The rank of a column whose name says nothing about a key. */
const UNNAMED = 100_000;
/**
 * In a column of article numbers, at least this share of the values is different. The repeated values count as
 * mistakes.
 */
const DIFFERENT_SHARE_MIN = 0.75;
const REPEATED_SHOWN = 2;

interface Records {
  rows: readonly JsonObject[];
  /** False if the file has more records than `rows`. */
  isWhole: boolean;
  /**
   * The column that names the product of a BOM item. A part or a position may be different in every record of a small file, and the
   * same for two products in the next one. So the product is a part of the key, unless there is an id.
   */
  owner: Column | null;
}

/**
 * Finds the columns that identify a record: one that is filled and different in every record, or some that are together.
 * A column whose name says that it is a number of articles or an id is preferred. A number of articles of which a few values
 * are there twice goes before columns whose names say nothing, such as one with names or prices. Only columns of the record
 * itself can be a key.
 *
 * @returns null if there are none
 */
export function keyColumnsOf(columns: readonly Column[], { rows, isWhole, owner }: Records): FoundKey | null {
  const usable = columns
    .filter((column) => column.path.length === 1 && isComplete(column) && isKeyLike(column))
    .toSorted((one, other) => keyRank(one) - keyRank(other));
  const where = isWhole ? `all ${plural(rows.length, 'record')}` : `the first ${plural(rows.length, 'record')}`;
  const [best, ...others] = usable.filter(
    (column) => column.isUnique && (owner === null || (column !== owner && isId(column))),
  );
  const isNameless = best === undefined || keyRank(best) === UNNAMED;
  const repeated = isNameless && owner === null ? repeatedNumber(usable) : null;
  if (repeated !== null) return repeated;
  if (best !== undefined) {
    return {
      columns: [best],
      reason: `filled and different in ${where}`,
      isRepeated: false,
      others: others.slice(0, 4),
    };
  }
  const candidates = usable.slice(0, COMBINED_MAX);
  const combined = combinations(candidates, owner).find((columnsOfKey) => isUniqueTogether(columnsOfKey, rows));
  if (combined === undefined) return null;
  const inOrder = combined.toSorted((one, other) => columns.indexOf(one) - columns.indexOf(other));
  const reason = `together different in ${where}`;
  const why = owner === null ? 'no column is by itself' : `${owner.label} is a part of it, since the rest may repeat`;
  return { columns: inOrder, reason: `${reason}; ${why}`, isRepeated: false, others: [] };
}

/** Pairs, or with an owner its pairs and then its triples. The columns that fit best come first. */
function combinations(candidates: readonly Column[], owner: Column | null): Column[][] {
  const pairsOf = (columns: readonly Column[]) =>
    columns.flatMap((second, index) => columns.slice(0, index).map((first) => [first, second]));
  if (owner === null) return pairsOf(candidates);
  if (!candidates.includes(owner)) return [];
  const others = candidates.filter((column) => column !== owner);
  return [...others.map((column) => [owner, column]), ...pairsOf(others).map((pair) => [owner, ...pair])];
}

function isId(column: Column): boolean {
  return isNamed(column, 'id');
}

function isNamed({ label }: Column, concept: Concept): boolean {
  const rank = rankOf(label, concept);
  return rank !== null && isExactRank(rank);
}

/** A number of articles with few values that are there twice; null if there is none. */
function repeatedNumber(usable: readonly Column[]): FoundKey | null {
  const best = usable.find((column) => isNamed(column, 'sku'));
  if (best === undefined) return null;
  const { values } = best;
  const different = new Set<string>();
  const repeated = new Set<string>();
  for (const value of values) (different.has(value) ? repeated : different).add(value);
  if (different.size < values.length * DIFFERENT_SHARE_MIN) return null;
  const shown = [...repeated].slice(0, REPEATED_SHOWN).map((value) => JSON.stringify(value));
  const more = repeated.size > shown.length ? ' …' : '';
  const reason = `${different.size} of ${values.length} values are different. Only one row of each value can be sent, and several rows have ${shown.join(', ')}${more}`;
  return { columns: [best], reason, isRepeated: true, others: [] };
}

function keyRank(column: Column): number {
  const ranks = (['sku', 'id', 'position', 'component', 'product'] as const).map((concept, index) => {
    const rank = rankOf(column.label, concept);
    return rank === null ? Number.POSITIVE_INFINITY : rank + index * 10;
  });
  return Math.min(...ranks, UNNAMED);
}

function isKeyLike({ values }: Column): boolean {
  return (
    values.every((value) => value.length <= KEY_LENGTH_MAX) &&
    !values.every((value) => /^\d{4}-\d\d-\d\d[T ]/.test(value))
  );
}

function isUniqueTogether(columns: readonly Column[], rows: readonly JsonObject[]): boolean {
  const seen = new Set<string>();
  for (const index of rows.keys()) {
    const values = columns.map((column) => column.values[index] ?? '').join('\u001f');
    if (seen.has(values)) return false;
    seen.add(values);
  }
  return true;
}
