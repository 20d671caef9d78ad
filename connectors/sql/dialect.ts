import type { FoundRows } from './found-rows.ts';
import type { Options } from './schema.ts';

/** The kind of values in a column. All kinds except `boolean` and `json` are returned as text. */
export type ColumnKind = 'text' | 'number' | 'float' | 'time' | 'enum' | 'boolean' | 'json' | 'binary';

export interface Column {
  name: string;
  kind: ColumnKind;
  /** The name of the type in the dialect, if the dialect needs it to read values exactly. */
  type?: string;
}

/** The value of a column by which rows are compared. */
export interface KeyValue {
  column: Column;
  text: string;
}

/** SQL with placeholders, and the values that the driver binds to them. */
export interface Statement {
  text: string;
  values: readonly KeyValue[];
}

/** A connection to a database. One statement runs at a time. */
export interface Connection {
  /** Returns the columns of a statement without reading a row. */
  columns(text: string): Promise<Column[]>;
  /**
   * The first rows of a statement with these columns, with values that JSON can express exactly. At most as many rows
   * are in memory as a page has room for, but at least two: see `createRowGatherer`.
   */
  rows(statement: Statement, columns: readonly Column[]): Promise<FoundRows>;
  /** Stops the running statement at the server. */
  cancel(): Promise<void>;
  /** Ends the connection in good order. */
  end(): Promise<void>;
  /** Ends the connection at once. */
  destroy(): void;
}

/** The problem and the advice, for an error that the dialect knows. */
export interface Explanation {
  problem: string;
  cure: string;
}

/** A selection of rows of a query, for which every dialect has its own form. */
interface Selection {
  query: string;
  columns: readonly Column[];
  where: string;
  order: readonly string[];
  /** The most rows that are selected. */
  limit: number;
}

/** The code that is special to one kind of database. */
export interface Dialect {
  /** The name of the database for people. */
  title: string;
  /** The default port of servers. */
  port: number;
  /** True if the database compares several columns at once, such as `(a, b) > (x, y)`, and uses an index for it. */
  comparesRows: boolean;
  quote: (name: string) => string;
  /** The placeholder of a value; `number` counts from 1. */
  placeholder(value: KeyValue, number: number): string;
  /** An expression whose value can be read exactly. */
  exact: (expression: string, column: Column) => string;
  /**
   * A condition for rows whose value is of another type than those of the other rows, if a column can hold several
   * types.
   */
  isOdd?(column: Column, query: string): string;
  select(selection: Selection): string;
  connect(options: Options, resolvePath: (path: string) => string): Promise<Connection>;
  explain(error: unknown): Explanation | null;
}

/**
 * The form `SELECT … LIMIT` of all databases except SQL Server. The query is on separate lines, because it may end with
 * a comment.
 */
export function selectWithLimit({ quote, exact }: Pick<Dialect, 'quote' | 'exact'>): Dialect['select'] {
  return ({ query, columns, where, order, limit }) => {
    const list = columns.map((column) => exact(quote(column.name), column)).join(', ');
    const conditions = where === '' ? '' : ` WHERE ${where}`;
    const sorted = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
    return `SELECT ${list === '' ? '*' : list} FROM (\n${query}\n) AS dpp_rows${conditions}${sorted} LIMIT ${limit}`;
  };
}

/** True for a server on this machine. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('/') || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** True if the options require TLS for the connection. */
export function hasTls({ tls, host = '' }: Options): boolean {
  return tls === undefined ? !isLoopback(host) : tls === 'verify';
}
