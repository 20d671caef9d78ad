import { type JsonValue, PAGE_BYTES_MAX, parseExactly, repeatedNames, sourceFault } from '../../src/sdk/index.ts';
import type { Options } from './schema.ts';

/** The kind of values in a column. All kinds except `boolean` are returned as text. */
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
  /** True if the database only has valid JSON in columns of the kind `json`. */
  hasJson: boolean;
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

/** The first rows of an answer. */
export interface FoundRows {
  rows: JsonValue[][];
  /** True if there are more rows than these in the answer. */
  isCut: boolean;
}

/** At least two rows are kept, because the second one shows where the next page begins. */
const ROWS_MIN = 2;

/**
 * Keeps the rows of an answer up to the size of a page, because the size of the rows is unknown before they arrive
 * (I9).
 */
export function createRowGatherer(bytesMax = PAGE_BYTES_MAX) {
  const rows: JsonValue[][] = [];
  let bytes = 0;
  let isCut = false;
  let failure: { error: unknown } | null = null;
  return {
    get isCut() {
      return isCut;
    },
    /**
     * Adds the next row of the answer. Rows after the last one that is kept are dropped. Never throws, because drivers
     * call it from events, where an error would end the process.
     */
    add(read: () => JsonValue[]): void {
      isCut ||= rows.length >= ROWS_MIN && bytes >= bytesMax;
      if (isCut) return;
      try {
        const row = read();
        rows.push(row);
        bytes += bytesOf(row);
      } catch (error) {
        failure = { error };
        isCut = true;
      }
    },
    /** @throws the error of a row that could not be read */
    found(): FoundRows {
      if (failure !== null) throw failure.error;
      return { rows, isCut };
    },
  };
}

/** The approximate size of a row in bytes. A boolean or NULL counts as four. */
export function bytesOf(row: readonly JsonValue[]): number {
  let bytes = 0;
  for (const value of row) {
    if (typeof value === 'string') bytes += value.length;
    else bytes += typeof value === 'object' && value !== null ? JSON.stringify(value).length : 4;
  }
  return bytes;
}

/** Parses the JSON of a column; see `parseExactly`. Text that is not JSON stays text. `repeated` is a name that an object has twice. */
export function jsonOf(text: string): { value: JsonValue; repeated: string | undefined } {
  try {
    const value = parseExactly(text);
    return { value, repeated: repeatedNames(text, value)[0]?.name };
  } catch {
    return { value: text, repeated: undefined };
  }
}

/** The shortest decimal that is this number in single precision: 0.1 and not 0.10000000149011612. */
export function singleText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return String(short);
  }
  return String(value);
}

/** The text of a value from a driver, which is text or an exact number. */
export function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : String(value as string | number | bigint);
}

/** The name of the database for people, without secrets. */
export function nameOf({ title }: Pick<Dialect, 'title'>, { host, port, database, file }: Options): string {
  if (file !== undefined) return `The ${title} database ${file}`;
  return `The ${title} database ${database} at ${host}${port === undefined ? '' : `:${port}`}`;
}

/** The explanation if the server has closed the connection during a statement. */
export const LOST: Explanation = {
  problem: 'has ended the connection',
  cure: 'Check whether the server runs, read its log, and pull again.',
};

const NETWORK: Readonly<Record<string, Explanation>> = {
  ENOTFOUND: { problem: 'has no address: its host name is not known', cure: 'Check `host`.' },
  EAI_AGAIN: { problem: 'has no address: its host name is not known', cure: 'Check `host` and the name server.' },
  ECONNREFUSED: {
    problem: 'does not take connections',
    cure: 'Check `host` and `port`, and whether the server runs.',
  },
  EHOSTUNREACH: {
    problem: 'cannot be reached',
    cure: 'Check `host`, and the network and the firewalls on the way to the server.',
  },
  ENETUNREACH: {
    problem: 'cannot be reached',
    cure: 'Check `host`, and the network and the firewalls on the way to the server.',
  },
  ETIMEDOUT: {
    problem: 'does not answer in time',
    cure: 'Check `host`, `port` and firewalls, or raise `connectMs`.',
  },
  ECONNRESET: LOST,
  EPIPE: LOST,
};

const TLS = /certificate|self[- ]signed|altnames|SSL|TLS|wrong version number/i;

/** The explanation of a network error, for all dialects; null for another error. */
function networkProblem(error: unknown): Explanation | null {
  const code = codeOf(error);
  if (code !== null && Object.hasOwn(NETWORK, code)) return NETWORK[code] ?? null;
  const message = messageOf(error);
  if (!TLS.test(message)) return null;
  return {
    problem: `cannot be reached with TLS: ${message.replace(/\.$/, '')}`,
    cure: 'Set `ca` to the certificates that have signed the certificate of the server, and `host` to the name in that certificate. Or set `tls: off` if the network can be trusted.',
  };
}

/**
 * Converts the error of a driver to a fault that a person can act on. The driver's own error is not passed on, because
 * it may contain sent values.
 */
export function databaseFault(error: unknown, dialect: Dialect, options: Options): Error {
  const known = dialect.explain(error) ?? networkProblem(error);
  const problem = known?.problem ?? `reports: ${messageOf(error).replace(/\.$/, '')}`;
  const cure = known?.cure ?? 'Check the query and the options of the source.';
  const text = `${nameOf(dialect, options)} ${problem}.`.replaceAll(/\s*\n\s*/g, ' ');
  return sourceFault(withoutSecret(text, options.password), { suggestion: cure });
}

function withoutSecret(text: string, password: string | undefined): string {
  return password === undefined ? text : text.replaceAll(password, '…');
}

/** The code that drivers and Node give their errors. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
