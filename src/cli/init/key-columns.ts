import { counted, formatCount } from '../../lib/text/amounts.ts';
import { type Column, describeUnique, EQUAL_COUNTED_ONCE, isComplete } from './columns.ts';
import { isExactRank, isNamed, rankOf } from './field-names.ts';
import { areAmounts, areCodes, asGtin } from './value-checks.ts';

/** The columns that identify a record, and the reason. */
export interface FoundKey {
  columns: readonly Column[];
  reason: string;
  /** True if some records have no key or the same one, so that a person has to look at them. */
  isFlawed: boolean;
  /** Other columns that identify a record as well. */
  others: readonly Column[];
}

/** At most this many columns are combined with each other. */
const COMBINED_MAX = 12;
/** The longest value of a key. Longer text, prices and times are never keys. */
const KEY_LENGTH_MAX = 60;
/** The rank of a column whose name says nothing about a key. */
const UNNAMED = 100_000;
/**
 * In a column of article numbers, at least this share of the records has a value of its own. Empty and repeated values
 * count as mistakes.
 */
const DIFFERENT_SHARE_MIN = 0.75;
/** The same share for codes in a column whose name says nothing about a key. */
const CODES_SHARE_MIN = 0.9;
const REPEATED_SHOWN = 2;

interface Records {
  /** The records that are equal to an earlier one in all columns, by their index. They need no separate key. */
  repeats: ReadonlyMap<number, number>;
  /** False if the file has more records than the sample. */
  isWhole: boolean;
  /**
   * The column that names the product of a BOM item. In a small file a part or a position may be different in every
   * record, but in another file two products may have the same one. So the product is a part of the key, unless there
   * is an id.
   */
  owner: Column | null;
}

/**
 * Finds the columns that identify a record: one column that is filled and different in every record, or several columns
 * whose values together are different in every record. A column whose name means an article number or an id is
 * preferred. Such a column is preferred even if a few of its values are repeated or empty, over columns whose names say
 * nothing about a key, such as a column with names or GTINs. Only columns of the record itself can be a key.
 *
 * @returns null if there are none
 */
export function keyColumnsOf(columns: readonly Column[], { repeats, isWhole, owner }: Records): FoundKey | null {
  const keyLike = columns
    .filter((column) => column.path.length === 1 && column.values.length > 0 && isKeyLike(column))
    .toSorted((one, other) => keyRank(one) - keyRank(other));
  const usable = keyLike.filter(isComplete);
  const [best, ...others] = usable.filter(
    (column) => column.isUnique && (owner === null || (column !== owner && isNamed(column.label, 'id'))),
  );
  if (owner === null && (best === undefined || !isExactRank(keyRank(best)))) {
    const better = keyLike.filter((column) => best === undefined || keyRank(column) < keyRank(best));
    const flawed = flawedNumber(better, repeats) ?? (best === undefined ? repeatedCode(usable, repeats) : null);
    if (flawed !== null) return flawed;
  }
  if (best !== undefined) {
    return {
      columns: [best],
      reason: `${describeUnique(best, isWhole)}${describeRefusedNumber(keyLike, best, repeats)}`,
      isFlawed: false,
      others: others.slice(0, 4),
    };
  }
  const isAmount = ({ label }: Column): boolean => isNamed(label, 'quantity');
  // An amount changes, and would make another item of a changed one.
  const candidates = usable.filter((column) => !isAmount(column)).slice(0, COMBINED_MAX);
  const isKey = (columnsOfKey: readonly Column[]): boolean => isUniqueTogether(columnsOfKey, repeats);
  const combined = combinations(candidates, owner).find(isKey);
  const withAmount = owner === null ? combinations(usable.slice(0, COMBINED_MAX), null).find(isKey) : undefined;
  const found = combined ?? withAmount;
  if (found === undefined) return owner === null ? null : itemKey(owner, candidates);
  const inOrder = found.toSorted((one, other) => columns.indexOf(one) - columns.indexOf(other));
  const records = `${isWhole ? 'all' : 'the first'} ${counted(found[0]?.records ?? 0, 'record')}`;
  const together = `together different in ${records}${repeats.size > 0 ? `, ${EQUAL_COUNTED_ONCE}` : ''}`;
  const why =
    owner === null
      ? 'no single column is different in all of them'
      : `${owner.label} is a part of the key, since the other columns may repeat`;
  const amounts = inOrder.filter(isAmount);
  const isTwice = owner !== null && repeats.size > 0 && !usable.some(({ label }) => isNamed(label, 'position'));
  const doubts = [
    ...amounts.map(
      ({ label }) => `; keep ${label} in it only if an amount names a record here, and is none that changes`,
    ),
    ...(isTwice ? [`; ${TWICE}`] : []),
  ];
  return { columns: inOrder, reason: `${together}; ${why}${doubts.join('')}`, isFlawed: doubts.length > 0, others: [] };
}

/** Why the rows of a bill need a person, if the same part stands in several rows of an assembly. */
export const TWICE =
  'a part stands twice in an assembly, and no position distinguishes the two, so only one counts. Export a position, or add the rows up: `group` in docs/connectors/tables.md';

/** The key of items of which several have the same product and part; null if no column is known to name the part. */
function itemKey(owner: Column, usable: readonly Column[]): FoundKey | null {
  const part = usable.find((column) => column !== owner && isNamed(column.label, 'component'));
  if (part === undefined || !usable.includes(owner)) return null;
  const columns = [owner, part];
  const reason = `${owner.label} and ${part.label} name an item; ${TWICE}`;
  return { columns, reason, isFlawed: true, others: [] };
}

/** The reason if records have no key. */
export const NO_KEY = 'no column is filled and different in all records';

/** The column that a person may want to use as the key, as an example if no key was found. */
export function keyExampleOf(columns: readonly Column[]): Column | null {
  const [best] = columns
    .filter((column) => column.path.length === 1 && column.values.length > 0)
    .toSorted((one, other) => keyRank(one) - keyRank(other) || other.values.length - one.values.length);
  return best ?? null;
}

/** Pairs of columns. With an owner: the pairs, and then the triples, that contain the owner. The best columns come first. */
function combinations(candidates: readonly Column[], owner: Column | null): Column[][] {
  const pairsOf = (columns: readonly Column[]) =>
    columns.flatMap((second, index) => columns.slice(0, index).map((first) => [first, second]));
  if (owner === null) return pairsOf(candidates);
  if (!candidates.includes(owner)) return [];
  const others = candidates.filter((column) => column !== owner);
  return [...others.map((column) => [owner, column]), ...pairsOf(others).map((pair) => [owner, ...pair])];
}

/** A column with article numbers or ids of which few are repeated or empty; null if there is none. */
function flawedNumber(keyLike: readonly Column[], repeats: Records['repeats']): FoundKey | null {
  const isNumber = (column: Column) =>
    isNamed(column.label, 'sku') || isNamed(column.label, 'id') || (isPartlyNamed(column) && areCodes(column.values));
  const best = keyLike.find((column) => isNumber(column) && countsOf(column, repeats).share >= DIFFERENT_SHARE_MIN);
  return best === undefined ? null : flawedKey(best, repeats);
}

/** Explains why a column of article numbers is not the key; an empty text if there is none, or if it is the key. */
function describeRefusedNumber(keyLike: readonly Column[], key: Column, repeats: Records['repeats']): string {
  const refused = keyLike.find((column) => isNamed(column.label, 'sku'));
  if (refused === undefined || refused === key || isNamed(key.label, 'sku')) return '';
  const { different, of } = countsOf(refused, repeats);
  return `; ${refused.label} has ${counted(different, 'different value')} in ${counted(of, 'record')}`;
}

function isPartlyNamed({ label }: Column): boolean {
  return rankOf(label, 'sku') !== null || rankOf(label, 'id') !== null;
}

/** The only column whose values are codes that are rarely repeated, whatever its name is; null if there is not exactly one. */
function repeatedCode(usable: readonly Column[], repeats: Records['repeats']): FoundKey | null {
  const [best, ...more] = usable.filter(
    (column) =>
      areCodes(column.values) &&
      countsOf(column, repeats).share >= CODES_SHARE_MIN &&
      asGtin(column).taken < column.values.length,
  );
  if (best === undefined || more.length > 0) return null;
  const key = flawedKey(best, repeats);
  return { ...key, reason: `${key.reason}; no other column has codes that differ so often` };
}

function flawedKey(column: Column, repeats: Records['repeats']): FoundKey {
  const { different, repeated, filled, of } = countsOf(column, repeats);
  const shown = repeated.slice(0, REPEATED_SHOWN).map((value) => JSON.stringify(value));
  const more = repeated.length > shown.length ? ' …' : '';
  const parts = [
    filled === of
      ? ''
      : `filled in ${formatCount(filled)} of ${counted(of, 'record')}. A row without a value is quarantined`,
    shown.length === 0
      ? ''
      : `${different} of ${filled} values are different. Only one row of each value can be sent, and several rows have ${shown.join(', ')}${more}`,
  ];
  return { columns: [column], reason: parts.filter((part) => part !== '').join('. '), isFlawed: true, others: [] };
}

/**
 * How many records of a column are filled, how many of the values are different, and which values are in several
 * records that are not equal.
 */
function countsOf({ values, indexes, records }: Column, repeats: Records['repeats']) {
  const different = new Set<string>();
  const repeated = new Set<string>();
  let filled = 0;
  for (const [at, value] of values.entries()) {
    if (repeats.has(indexes[at] ?? 0)) continue;
    filled += 1;
    (different.has(value) ? repeated : different).add(value);
  }
  const of = records - repeats.size;
  return { different: different.size, repeated: [...repeated], filled, of, share: different.size / of };
}

function keyRank(column: Column): number {
  const ranks = (['sku', 'id', 'position', 'component', 'product'] as const).map((concept, index) => {
    const rank = rankOf(column.label, concept);
    return rank === null ? Number.POSITIVE_INFINITY : rank + index * 10;
  });
  return Math.min(...ranks, UNNAMED);
}

function isKeyLike(column: Column): boolean {
  const { values } = column;
  return (
    values.every((value) => value.length <= KEY_LENGTH_MAX) &&
    !values.every((value) => /^\d{4}-\d\d-\d\d[T ]/.test(value)) &&
    (keyRank(column) < UNNAMED || !areAmounts(values))
  );
}

/** True if no two records have the same values in all of the columns, which every record has. */
export function isUniqueTogether(columns: readonly Column[], repeats: Records['repeats']): boolean {
  const seen = new Set<string>();
  for (const index of columns[0]?.values.keys() ?? []) {
    if (repeats.has(index)) continue;
    const values = columns.map((column) => column.values[index] ?? '').join('\u001f');
    if (seen.has(values)) return false;
    seen.add(values);
  }
  return true;
}
