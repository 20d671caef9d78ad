import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';

/** The rows of an entity set at one moment after another, as a server with delta links keeps them. */
export interface ODataSet {
  /** Adds or changes a row. */
  put(fields: JsonObject): void;
  /** Changes a row, and neither the time of its last change nor delta links show it. */
  putQuietly(fields: JsonObject): void;
  /** Removes the row with this key, and remembers that it is gone. */
  remove(key: string): void;
  get(key: string): JsonObject | undefined;
  /** All rows, in the order of their keys. */
  rows(): readonly StoredRow[];
  /** What has changed after a position, oldest first, each row once: `fields` is null for one that is gone. */
  since(position: number): { key: string; position: number; fields: JsonObject | null }[];
  /** The position after all changes until now. */
  position(): number;
}

export interface StoredRow {
  key: string;
  fields: JsonObject;
  changedAt: number;
}

/** @param keyOf the text by which a row is known and sorted */
export function createODataSet(keyOf: (fields: JsonObject) => string, now: () => number): ODataSet {
  const rows = new Map<string, StoredRow>();
  const changed = new Map<string, number>();
  let sorted: StoredRow[] | null = null;
  let position = 0;
  const note = (key: string): void => {
    position += 1;
    // A map keeps the order of insertion.
    changed.delete(key);
    changed.set(key, position);
    sorted = null;
  };
  return {
    put(fields) {
      const key = keyOf(fields);
      rows.set(key, { key, fields, changedAt: now() });
      note(key);
    },
    putQuietly(fields) {
      const row = rows.get(keyOf(fields));
      if (row === undefined) throw new Error(`There is no row ${keyOf(fields)} to change.`);
      rows.set(row.key, { ...row, fields });
      sorted = null;
    },
    remove(key) {
      if (!rows.delete(key)) throw new Error(`There is no row ${key} to remove.`);
      note(key);
    },
    get: (key) => rows.get(key)?.fields,
    rows: () => (sorted ??= [...rows.values()].sort((a, b) => (a.key < b.key ? -1 : 1))),
    since: (after) =>
      [...changed]
        .filter(([, at]) => at > after)
        .map(([key, at]) => ({ key, position: at, fields: rows.get(key)?.fields ?? null })),
    position: () => position,
  };
}

/** The rows that a `$filter` of comparisons joined by `and` leaves. @throws if the filter has another form */
export function filterOf(
  filter: string | null,
  { version, changedAt }: { version: 2 | 4; changedAt: string },
): (row: StoredRow) => boolean {
  if (filter === null) return () => true;
  const parts = filter.split(' and ').map((part) => {
    const [, member = '', operator, literal = ''] = /^(\w+) (eq|ge|gt) (.+)$/.exec(part) ?? [];
    if (operator === undefined) throw new Error(`The filter ${part} is not understood.`);
    if (member === changedAt) {
      // The literals of the versions differ, and a server refuses those of the other one.
      const [, time = ''] = (version === 2 ? /^datetimeoffset'(.+)'$/ : /^(\d{4}-.+Z)$/).exec(literal) ?? [];
      const at = Date.parse(time);
      if (Number.isNaN(at)) throw new Error(`The literal ${literal} is no time of this version.`);
      return (row: StoredRow) => (operator === 'gt' ? row.changedAt > at : row.changedAt >= at);
    }
    const value: JsonValue = /^'.*'$/.test(literal) ? literal.slice(1, -1) : JSON.parse(literal);
    return ({ fields }: StoredRow) => {
      const own = fields[member] as string;
      return operator === 'eq' ? own === value : operator === 'gt' && own > (value as string);
    };
  });
  return (row) => parts.every((holds) => holds(row));
}
