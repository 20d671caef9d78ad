import type { Column, Dialect, KeyValue, Statement } from './dialect.ts';

/** Makes the statements of one stream. Values are bound, and names are quoted. */
export interface Statements {
  /** A statement without rows, which shows the columns. */
  shape(): string;
  /** The next rows in the order of these columns: after a row, or from a first value of the first column. */
  page(request: { by: readonly Column[]; after?: readonly string[]; from?: string; limit: number }): Statement;
  /** The greatest value of a column, as one row. */
  greatest(column: Column): Statement;
  /**
   * Selects the key of a row that has no position in the order; no row if all rows have a position. In such a row a
   * column of the key is NULL, or the key or the watermark has another type than in other rows. With `from` only rows
   * with this watermark or a later one count.
   */
  unordered(key: readonly Column[], watermark: Column | null, from: string | null): Statement;
  /** Selects up to two rows that the database treats as equal to a row. */
  same(by: readonly Column[], row: readonly string[]): Statement;
}

export function createStatements(dialect: Dialect, query: string, columns: readonly Column[]): Statements {
  const { quote, exact } = dialect;
  const bindings = () => {
    const values: KeyValue[] = [];
    const bind = (value: KeyValue): string => {
      values.push(value);
      return dialect.placeholder(value, values.length);
    };
    return { values, bind };
  };
  const base = { query, columns, where: '', order: [], limit: 1 };
  return {
    shape: () => dialect.select({ ...base, columns: [], limit: 0 }),
    page({ by, after, from, limit }) {
      const { values, bind } = bindings();
      const where = conditionOf({ by, after, from, dialect }, bind);
      const order = by.map(({ name }) => quote(name));
      return { text: dialect.select({ ...base, where, order, limit }), values };
    },
    greatest(column) {
      const text = `SELECT ${exact(`MAX(${quote(column.name)})`, column)} FROM (\n${query}\n) AS dpp_rows`;
      return { text, values: [] };
    },
    unordered(key, watermark, from) {
      const { values, bind } = bindings();
      const compared = watermark === null ? key : [...key, watermark];
      const conditions = [
        ...key.map(({ name }) => `${quote(name)} IS NULL`),
        ...(dialect.isOdd === undefined ? [] : compared.map((column) => dialect.isOdd?.(column, query))),
      ];
      const odd = `(${conditions.join(' OR ')})`;
      const since =
        watermark === null || from === null
          ? ''
          : `${quote(watermark.name)} >= ${bind({ column: watermark, text: from })} AND `;
      return { text: dialect.select({ ...base, columns: compared, where: `${since}${odd}` }), values };
    },
    same(by, row) {
      const { values, bind } = bindings();
      const where = keyValues(by, row)
        .map((value) => `${quote(value.column.name)} = ${bind(value)}`)
        .join(' AND ');
      return { text: dialect.select({ ...base, columns: by, where, limit: 2 }), values };
    },
  };
}

function keyValues(by: readonly Column[], row: readonly string[]): KeyValue[] {
  return by.map((column, at) => ({ column, text: row[at] ?? '' }));
}

interface Range {
  by: readonly Column[];
  after: readonly string[] | undefined;
  from: string | undefined;
  dialect: Dialect;
}

function conditionOf({ by, after, from, dialect }: Range, bind: (value: KeyValue) => string): string {
  const { quote, comparesRows } = dialect;
  const [first] = by;
  if (first === undefined) return '';
  if (after === undefined) {
    // NULL is excluded, because some databases sort it before all values and others after them.
    if (from === undefined) return `${quote(first.name)} IS NOT NULL`;
    return `${quote(first.name)} >= ${bind({ column: first, text: from })}`;
  }
  const values = keyValues(by, after);
  if (comparesRows) {
    const names = values.map(({ column }) => quote(column.name)).join(', ');
    return `(${names}) > (${values.map(bind).join(', ')})`;
  }
  // One range for each column: this column is greater, and the columns before it are equal. Databases without row
  // comparison can use an index for such ranges.
  const ranges = values.map((value, at) => {
    const equal = values.slice(0, at).map((one) => `${quote(one.column.name)} = ${bind(one)}`);
    return `(${[...equal, `${quote(value.column.name)} > ${bind(value)}`].join(' AND ')})`;
  });
  return `(${ranges.join(' OR ')})`;
}
