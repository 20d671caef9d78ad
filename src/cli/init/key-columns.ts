import type { JsonObject } from '../../lib/json.ts';
import { plural } from '../text/style.ts';
import { type Column, isComplete } from './columns.ts';
import { rankOf } from './field-names.ts';

/** The columns that identify a record, and the reason. */
export interface FoundKey {
  columns: readonly Column[];
  reason: string;
  /** Other columns that identify a record as well. */
  others: readonly Column[];
}

/** Pairs are formed of at most this many columns. */
const PAIRED_MAX = 12;
/** Nobody keys records by a text, a price or a time. */
const KEY_LENGTH_MAX = 60;

/**
 * Finds the columns that identify a record: one that is filled and different in every record, or two that are together.
 * A column whose name says that it is a number of articles or an id is preferred. Only columns of the record itself can
 * be a key.
 *
 * @param isWhole false if the file has more records than `rows`
 * @returns null if there are none
 */
export function keyColumnsOf(
  columns: readonly Column[],
  rows: readonly JsonObject[],
  isWhole: boolean,
): FoundKey | null {
  const usable = columns.filter((column) => column.path.length === 1 && isComplete(column) && isKeyLike(column));
  const where = isWhole ? `all ${plural(rows.length, 'record')}` : `the first ${plural(rows.length, 'record')}`;
  const single = usable.filter(({ isUnique }) => isUnique).toSorted((one, other) => keyRank(one) - keyRank(other));
  const [best, ...others] = single;
  if (best !== undefined) {
    return { columns: [best], reason: `filled and different in ${where}`, others: others.slice(0, 4) };
  }
  const candidates = usable.toSorted((one, other) => keyRank(one) - keyRank(other)).slice(0, PAIRED_MAX);
  for (const [index, second] of candidates.entries()) {
    for (const first of candidates.slice(0, index)) {
      if (!isUniquePair(first, second, rows)) continue;
      const pair = [first, second].toSorted((one, other) => columns.indexOf(one) - columns.indexOf(other));
      return { columns: pair, reason: `together different in ${where}; no column is by itself`, others: [] };
    }
  }
  return null;
}

function keyRank(column: Column): number {
  const ranks = (['sku', 'id', 'position', 'component', 'product'] as const).map((concept, index) => {
    const rank = rankOf(column.label, concept);
    return rank === null ? Number.POSITIVE_INFINITY : rank + index * 10;
  });
  return Math.min(...ranks, 100_000);
}

function isKeyLike({ values }: Column): boolean {
  return (
    values.every((value) => value.length <= KEY_LENGTH_MAX) &&
    !values.every((value) => /^\d{4}-\d\d-\d\d[T ]/.test(value))
  );
}

function isUniquePair(one: Column, other: Column, rows: readonly JsonObject[]): boolean {
  const seen = new Set<string>();
  for (const index of rows.keys()) {
    const pair = `${one.values[index] ?? ''}\u001f${other.values[index] ?? ''}`;
    if (seen.has(pair)) return false;
    seen.add(pair);
  }
  return true;
}
