import type { FoundRows } from './found-rows.ts';
import type { Options } from './schema.ts';

/** What a column holds. Everything but `boolean` and `json` is given as text. */
export type ColumnKind = 'text' | 'number' | 'float' | 'time' | 'enum' | 'boolean' | 'json' | 'binary';

export interface Column {
  name: string;
  kind: ColumnKind;
  /** The type in the words of the dialect, where it needs it to read values exactly. */
  type?: string;
}

/** The value of a column by which rows are compared, as it was read. */
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
  /** The columns of a statement, of which no row is read. */
  columns(text: string): Promise<Column[]>;
  /**
   * The first rows of a statement that gives these columns, with values that JSON can hold exactly. No more are held than a page has
   * room for, and at least two: see `createRowGatherer`.
   */
  rows(statement: Statement, columns: readonly Column[]): Promise<FoundRows>;
  /** Stops the statement that is running, at the server. */
  cancel(): Promise<void>;
  /** Ends the connection in good order. */
  end(): Promise<void>;
  /** Ends the connection at once. */
  destroy(): void;
}

/** What went wrong and what to do, where the dialect knows the error. */
export interface Explanation {
  problem: string;
  cure: string;
}

/** Rows of a query, in the form that every dialect writes in its own way. */
export interface Selection {
  query: string;
  columns: readonly Column[];
  where: string;
  order: readonly string[];
  /** The most rows. */
  limit: number;
}

/** How one kind of database is spoken to. */
export interface Dialect {
  /** As people call it. */
  title: string;
  /** The port that servers listen on by default. */
  port: number;
  /** True if the database compares several columns at once, as `(a, b) > (x, y)`, and uses an index for it. */
  comparesRows: boolean;
  quote: (name: string) => string;
  /** The placeholder of a value; `number` counts from 1. */
  placeholder(value: KeyValue, number: number): string;
  /** An expression whose value can be read exactly. */
  exact: (expression: string, column: Column) => string;
  /** A condition for rows whose value is of another type than those of the other rows, where a column can hold several. */
  isOdd?(column: Column, query: string): string;
  select(selection: Selection): string;
  connect(options: Options, resolvePath: (path: string) => string): Promise<Connection>;
  explain(error: unknown): Explanation | null;
}

/** `SELECT … LIMIT`, as all but SQL Server have it. The query stands on lines of its own, because it may end with a comment. */
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

/** Whether the connection has TLS, by the options. */
export function hasTls({ tls, host = '' }: Options): boolean {
  return tls === undefined ? !isLoopback(host) : tls === 'verify';
}
