import mssql from 'mssql';
import type { JsonValue } from '../../src/sdk/index.ts';
import {
  type Column,
  type Connection,
  codeOf,
  createRowGatherer,
  type Dialect,
  type Explanation,
  hasTls,
  type KeyValue,
  LOST,
  messageOf,
  type Statement,
  textOf,
} from './dialect.ts';
import type { Options } from './schema.ts';

const quote = (name: string): string => `[${name.replaceAll(']', ']]')}]`;

/** SQL Server. Its driver would convert decimals and times to numbers and dates, so the server writes them as text. */
export const sqlserver: Dialect = {
  title: 'SQL Server',
  port: 1433,
  comparesRows: false,
  hasJson: false,
  quote,
  exact,
  placeholder: boundAs,
  select({ query, columns, where, order, limit }) {
    const list = columns.map((column) => `${exact(quote(column.name), column)} AS ${quote(column.name)}`).join(', ');
    const conditions = where === '' ? '' : ` WHERE ${where}`;
    const sorted = order.length === 0 ? '' : ` ORDER BY ${order.map((name) => `dpp_rows.${name}`).join(', ')}`;
    return `SELECT TOP (${limit}) ${list === '' ? '*' : list} FROM (\n${query}\n) AS dpp_rows${conditions}${sorted}`;
  },
  async connect(options) {
    const pool = newPool(options);
    try {
      await pool.connect();
      return connectionOf(pool);
    } catch (error) {
      await pool.close().catch(() => {});
      throw networkErrorOf(error);
    }
  },
  explain,
};

/** The driver puts its own error around the error of the network, whose code says more. */
function networkErrorOf(error: unknown): unknown {
  const wrapped: unknown = error instanceof Error && 'originalError' in error ? error.originalError : undefined;
  const cause = wrapped instanceof Error ? wrapped.cause : undefined;
  if (cause instanceof AggregateError) return cause.errors[0];
  return cause instanceof Error ? cause : error;
}

const TYPES_AS_TEXT: Readonly<Record<string, (expression: string) => string>> = {
  decimal: (expression) => `CONVERT(varchar(41), ${expression})`,
  numeric: (expression) => `CONVERT(varchar(41), ${expression})`,
  // Style 2 has all four digits with which the server stores such a value.
  money: (expression) => `CONVERT(varchar(41), ${expression}, 2)`,
  smallmoney: (expression) => `CONVERT(varchar(41), ${expression}, 2)`,
  // Style 3 has every digit.
  float: (expression) => `CONVERT(varchar(41), ${expression}, 3)`,
  real: (expression) => `CONVERT(varchar(41), ${expression}, 3)`,
  date: (expression) => `CONVERT(varchar(10), ${expression}, 23)`,
  time: (expression) => `CONVERT(varchar(16), ${expression}, 121)`,
  // Style 121 has every digit of the seconds, and a zone if the type has one.
  datetime: (expression) => `CONVERT(varchar(27), ${expression}, 121)`,
  datetime2: (expression) => `CONVERT(varchar(27), ${expression}, 121)`,
  smalldatetime: (expression) => `CONVERT(varchar(27), ${expression}, 121)`,
  datetimeoffset: (expression) => `CONVERT(varchar(34), ${expression}, 121)`,
};

function exact(expression: string, { type = '' }: Column): string {
  return TYPES_AS_TEXT[type]?.(expression) ?? expression;
}

/** Converts a value back to the type of its column, so that it is compared by its value and not as text. */
function boundAs({ column: { kind, type = '' }, text }: KeyValue, number: number): string {
  const name = `@p${number}`;
  if (kind === 'binary') return name;
  if (kind === 'number') return `CONVERT(decimal(38, ${text.split('.')[1]?.length ?? 0}), ${name})`;
  if (kind !== 'time') return name;
  const exactType = type === 'datetime2' || type === 'datetimeoffset' ? `${type}(7)` : type;
  return `CONVERT(${exactType}, ${name}, 121)`;
}

function newPool(options: Options): mssql.ConnectionPool {
  const { host = '', port = 1433, user = '', database = '', password = '', ca, connectMs, statementMs } = options;
  const pool = new mssql.ConnectionPool({
    server: host,
    port,
    user,
    database,
    password,
    connectionTimeout: connectMs,
    requestTimeout: statementMs,
    pool: { max: 1, min: 0 },
    arrayRowMode: true,
    options: {
      encrypt: hasTls(options),
      trustServerCertificate: false,
      // With this intent the server may connect a reader to a copy of the database.
      readOnlyIntent: true,
      appName: 'dpp-sync',
      enableArithAbort: true,
      ...(ca === undefined ? {} : { cryptoCredentialsDetails: { ca } }),
    },
  });
  pool.on('error', () => {});
  return pool;
}

function connectionOf(pool: mssql.ConnectionPool): Connection {
  let running: mssql.Request | null = null;
  /** @param onRow called with each row; then the result has no rows */
  const ask = async ({ text, values }: Statement, onRow?: (row: unknown[]) => void) => {
    const request = new mssql.Request(pool);
    const errors: unknown[] = [];
    if (onRow !== undefined) {
      request.stream = true;
      request.on('row', onRow);
      request.on('error', (error) => errors.push(error));
    }
    for (const [at, value] of values.entries()) bind(request, `p${at + 1}`, value);
    running = request;
    try {
      const result = await request.query<unknown[]>(text);
      // With a listener for rows the driver reports errors as events, and does not reject the promise.
      if (errors.length > 0) throw errors[0];
      return result;
    } finally {
      running = null;
    }
  };
  return {
    async columns(text) {
      const { columns } = (await ask({ text, values: [] })) as unknown as { columns: DriverColumn[][] };
      return (columns[0] ?? []).map((column) => ({ name: column.name, ...typeOf(column) }));
    },
    async rows(statement, columns) {
      const gatherer = createRowGatherer();
      await ask(statement, (row) => gatherer.add(() => row.map((value, at) => valueOf(value, columns[at]))));
      return gatherer.found();
    },
    async cancel() {
      running?.cancel();
    },
    end: () => pool.close(),
    destroy: () => void pool.close().catch(() => {}),
  };
}

function bind(request: mssql.Request, name: string, { column, text }: KeyValue): void {
  if (column.kind === 'binary') request.input(name, mssql.VarBinary, Buffer.from(text, 'base64'));
  else if (column.type === 'varchar' || column.type === 'char') request.input(name, mssql.VarChar, text);
  else request.input(name, mssql.NVarChar, text);
}

interface DriverColumn {
  name: string;
  type: unknown;
}

const NUMBERS = ['int', 'bigint', 'smallint', 'tinyint', 'decimal', 'numeric', 'money', 'smallmoney'];
const TIMES = ['date', 'datetime', 'datetime2', 'smalldatetime', 'datetimeoffset'];
const BYTES = ['binary', 'varbinary', 'image', 'udt'];

function typeOf({ type }: DriverColumn): Omit<Column, 'name'> {
  const declaration = typeof type === 'function' ? type.name : '';
  const name = declaration.toLowerCase();
  if (NUMBERS.includes(name)) return { kind: 'number', type: name };
  if (TIMES.includes(name)) return { kind: 'time', type: name };
  if (BYTES.includes(name)) return { kind: 'binary', type: name };
  if (name === 'float' || name === 'real') return { kind: 'float', type: name };
  return { kind: name === 'bit' ? 'boolean' : 'text', type: name };
}

function valueOf(value: unknown, column: Column | undefined): JsonValue {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (column?.kind === 'boolean') return value === true;
  return textOf(value);
}

/** Explains an error by the numbers of `sys.messages` and the codes of the driver. */
function explain(error: unknown): Explanation | null {
  const code = codeOf(error) ?? '';
  const number = typeof error === 'object' && error !== null && 'number' in error ? error.number : null;
  const reason = messageOf(error).replace(/\.$/, '');
  if (code === 'ELOGIN')
    return { problem: `refuses the user: ${reason}`, cure: 'Check `database`, `user` and `password`.' };
  if (code === 'ETIMEOUT') {
    return {
      problem: `does not answer in time: ${reason}`,
      cure: 'Check `host`, or raise `connectMs` or `statementMs`.',
    };
  }
  if (code === 'ECONNCLOSED' || code === 'ENOTOPEN') return LOST;
  if (number === 229 || number === 230) {
    return { problem: `denies a right: ${reason}`, cure: 'Give the user this right: GRANT SELECT ON … TO … .' };
  }
  if (code === 'EREQUEST') {
    return {
      problem: `refuses the query: ${reason}`,
      cure: 'Correct the query, and try it as the same user. A query that begins with WITH has to become a view.',
    };
  }
  return null;
}
