import { type JsonObject, sourceFault } from '../../src/sdk/index.ts';
import type { Column, ColumnKind, Dialect, KeyValue, Statement } from './dialect.ts';
import type { StreamOptions } from './schema.ts';
import type { Session } from './session.ts';

/** A stream with the columns that its query has. */
export interface Plan {
  statements: Statements;
  columns: readonly Column[];
  /** A row without values: it has each column as a member of its own, even `__proto__`. */
  empty: JsonObject;
  /** The columns that identify a row. A snapshot is read in the order of these columns. */
  key: readonly Column[];
  /** The watermark; null if the stream has none. */
  watermark: Column | null;
  /** The columns whose text is JSON. */
  json: ReadonlySet<string>;
}

/** Why a value cannot be the position from which a read continues. */
const WITHOUT_PLACE: Readonly<Partial<Record<ColumnKind, string>>> = {
  float: 'has numbers that are approximate',
  boolean: 'has boolean values',
  json: 'has JSON',
  enum: 'is an ENUM or a SET, which the database puts in order by number and compares as text',
};

/**
 * Asks the database for the columns of a query, and finds those in it that the options name.
 *
 * @throws a `sourceFault` if the query is refused, or a column is missing, occurs twice or cannot be compared
 */
export async function planStream(
  stream: { name: string; options: StreamOptions; signal: AbortSignal },
  { dialect, session }: { dialect: Dialect; session: Session },
): Promise<Plan> {
  const { options, signal } = stream;
  const query = withoutEnd(options.query);
  const columns = await session.columns(createStatements(dialect, query, []).shape(), signal);
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) {
    throw sourceFault(`The query of the stream ${stream.name} has the column ${twice} twice.`, {
      suggestion: `Give one of them another name: SELECT a.${twice}, b.${twice} AS other_${twice}.`,
    });
  }
  const unnamed = names.indexOf('');
  if (unnamed >= 0) {
    throw sourceFault(`The column ${unnamed + 1} of the query of the stream ${stream.name} has no name.`, {
      suggestion: 'Name the column with AS.',
    });
  }
  const find = (name: string, option: string): Column => {
    const column = columns.find((one) => one.name === name);
    if (column !== undefined) return column;
    const close = names.find((one) => one.toLowerCase() === name.toLowerCase());
    throw sourceFault(
      `The query of the stream ${stream.name} has no column ${name}, which \`${option}\` names. It has ${names.join(', ')}.`,
      {
        suggestion:
          close === undefined ? `Add the column to the query, or correct \`${option}\`.` : `Write it as ${close}.`,
      },
    );
  };
  const compared = (name: string, option: string): Column => {
    const column = find(name, option);
    const reason = WITHOUT_PLACE[column.kind];
    if (reason === undefined) return column;
    throw sourceFault(
      `The column ${name} of the stream ${stream.name} ${reason}, so dpp-sync cannot use it to continue a read.`,
      {
        suggestion: `Name another column in \`${option}\`, or cast the column in the query: CAST(${name} AS …) AS ${name}.`,
      },
    );
  };
  const watermark = options.watermark === undefined ? null : compared(options.watermark, 'watermark');
  for (const name of options.json) find(name, 'json');
  const isJson = (kind: Column['kind']) => dialect.hasJson && kind === 'json';
  return {
    statements: createStatements(dialect, query, columns),
    columns,
    empty: JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`) as JsonObject,
    // The watermark is left out of the order of a snapshot. It changes with its row, and a row that moves within the
    // order would be read twice.
    key: options.page.filter((name) => name !== options.watermark).map((name) => compared(name, 'page')),
    watermark,
    json: new Set([...options.json, ...columns.flatMap(({ name, kind }) => (isJson(kind) ? [name] : []))]),
  };
}

/**
 * Removes the semicolon at the end of a query, with comments after it. A query that is a part of another statement must
 * not have one.
 */
function withoutEnd(query: string): string {
  return query.trim().replace(/;(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*$/, '');
}

/** Makes the statements of one stream. Values are bound, and names are quoted. */
function createStatements(dialect: Dialect, query: string, columns: readonly Column[]) {
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
    /** A statement without rows, which shows the columns. */
    shape: (): string => dialect.select({ ...base, columns: [], limit: 0 }),
    /** The next rows in the order of these columns: after a row, or from a first value of the first column. */
    page({
      by,
      after,
      from,
      limit,
    }: {
      by: readonly Column[];
      after?: readonly string[];
      from?: string;
      limit: number;
    }): Statement {
      const { values, bind } = bindings();
      const where = conditionOf({ by, after, from, dialect }, bind);
      const order = by.map(({ name }) => quote(name));
      return { text: dialect.select({ ...base, where, order, limit }), values };
    },
    /** The greatest value of a column, as one row. */
    greatest(column: Column): Statement {
      const text = `SELECT ${exact(`MAX(${quote(column.name)})`, column)} FROM (\n${query}\n) AS dpp_rows`;
      return { text, values: [] };
    },
    /**
     * Selects the key of a row that has no position in the order; no row if all rows have a position. In such a row a
     * column of the key is NULL, or the key or the watermark has another type than in other rows. With `from` only rows
     * with this watermark or a later one count.
     */
    unordered(key: readonly Column[], watermark: Column | null, from: string | null): Statement {
      const { values, bind } = bindings();
      const compared = watermark === null ? key : [...key, watermark];
      const conditions = [
        // In PostgreSQL a composite value with a part that is NULL is neither `IS NULL` nor `IS NOT NULL`.
        ...key.map(({ name }) => `NOT (${quote(name)} IS NOT NULL)`),
        ...(dialect.isOdd === undefined ? [] : compared.map((column) => dialect.isOdd?.(column, query))),
      ];
      const odd = `(${conditions.join(' OR ')})`;
      const since =
        watermark === null || from === null
          ? ''
          : `${quote(watermark.name)} >= ${bind({ column: watermark, text: from })} AND `;
      return { text: dialect.select({ ...base, columns: compared, where: `${since}${odd}` }), values };
    },
    /** Selects up to two rows that the database treats as equal to a row. */
    same(by: readonly Column[], row: readonly string[]): Statement {
      const { values, bind } = bindings();
      const where = keyValues(by, row)
        .map((value) => `${quote(value.column.name)} = ${bind(value)}`)
        .join(' AND ');
      return { text: dialect.select({ ...base, columns: by, where, limit: 2 }), values };
    },
  };
}

type Statements = ReturnType<typeof createStatements>;

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
