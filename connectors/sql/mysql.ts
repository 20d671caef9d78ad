import { createConnection, type Connection as Driver, type FieldPacket } from 'mysql2';
import type { JsonValue } from '../../src/sdk/index.ts';
import {
  type Column,
  type ColumnKind,
  type Connection,
  codeOf,
  createRowGatherer,
  type Dialect,
  type Explanation,
  hasTls,
  type KeyValue,
  LOST,
  messageOf,
  selectWithLimit,
  singleText,
  textOf,
} from './dialect.ts';
import type { Options } from './schema.ts';

const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** Numbers of a ZEROFILL column are numbers to the driver, and text with their zeros only to the server. */
const exact = (expression: string, { type }: Column): string =>
  type === 'zerofill' ? `CONCAT(${expression})` : expression;

/** The character set of columns that hold bytes. */
const BINARY = 63;

/** The numbers of types in the protocol of MySQL, by the kind of their values. All other types are text or bytes. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  0: 'number',
  1: 'number',
  2: 'number',
  3: 'number',
  4: 'float',
  5: 'float',
  7: 'time',
  8: 'number',
  9: 'number',
  10: 'time',
  12: 'time',
  11: 'text',
  13: 'number',
  245: 'json',
  246: 'number',
};
const BIT = 16;
const SINGLE = 4;
const ZEROFILL = 64;

/** The flags of columns whose values are sorted by their numbers but compared by their names. */
const ENUM_OR_SET = 256 | 2048;

/** MySQL and MariaDB, with prepared statements. */
export const mysql: Dialect = {
  title: 'MySQL or MariaDB',
  port: 3306,
  comparesRows: false,
  hasJson: true,
  quote,
  exact,
  placeholder: boundAs,
  select: selectWithLimit({ quote, exact }),
  async connect(options) {
    const driver = newDriver(options);
    try {
      await connected(driver);
      const [version] = await ask(driver, 'SELECT VERSION()');
      const isMariaDb = String(version).includes('MariaDB');
      const limit = isMariaDb
        ? `max_statement_time = ${options.statementMs / 1000}`
        : `max_execution_time = ${options.statementMs}`;
      for (const text of [
        'SET SESSION TRANSACTION READ ONLY',
        `SET SESSION ${limit}`,
        `SET SESSION lock_wait_timeout = ${Math.max(1, Math.ceil(options.connectMs / 1000))}`,
        "SET SESSION time_zone = '+00:00'",
        // With these modes no comparison with the date 0000-00-00 is true, so a read would find no rows after this
        // date.
        "SET SESSION sql_mode = REPLACE(REPLACE(@@SESSION.sql_mode, 'NO_ZERO_IN_DATE', ''), 'NO_ZERO_DATE', '')",
      ]) {
        await ask(driver, text);
      }
      return connectionOf(driver, options);
    } catch (error) {
      driver.destroy();
      throw error;
    }
  },
  explain,
};

/**
 * Numbers are compared as numbers and times as times. MySQL compares a number or a time with text as approximate
 * numbers, and then different large numbers would be equal.
 */
function boundAs({ column: { kind }, text }: KeyValue): string {
  if (kind === 'time') return text.includes(':') ? 'CAST(? AS DATETIME(6))' : 'CAST(? AS DATE)';
  if (kind !== 'number') return '?';
  const [, fraction] = text.split('.');
  return `CAST(? AS DECIMAL(65, ${Math.min(30, fraction?.length ?? 0)}))`;
}

function newDriver(options: Options): Driver {
  const { host = '', port = 3306, user = '', database = '', password = '', ca, connectMs } = options;
  const driver = createConnection({
    ...(host.startsWith('/') ? { socketPath: host } : { host, port }),
    user,
    database,
    password,
    connectTimeout: connectMs,
    charset: 'utf8mb4',
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    jsonStrings: true,
    rowsAsArray: true,
    enableKeepAlive: true,
    // The server must not be able to read files of this machine.
    flags: ['-LOCAL_FILES'],
    ...(hasTls(options)
      ? { ssl: { rejectUnauthorized: true, verifyIdentity: true, ...(ca === undefined ? {} : { ca }) } }
      : {}),
  });
  // Without a listener, an error between two statements would end the process. The next statement reports the error.
  driver.on('error', () => {});
  return driver;
}

function connected(driver: Driver): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  driver.connect((error) => (error === null ? resolve() : reject(error)));
  return promise;
}

function fieldsOf(driver: Driver, text: string): Promise<FieldPacket[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FieldPacket[]>();
  driver.execute({ sql: text, rowsAsArray: true }, (error, _rows, fields) => {
    if (error === null) resolve(fields);
    else reject(error);
  });
  return promise;
}

/** Runs a statement and passes its rows on one by one, so that the driver does not collect them in memory. */
async function stream(
  driver: Driver,
  { text, values }: { text: string; values: readonly (string | Buffer)[] },
  onRow: (row: unknown[]) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Without a callback, an error of the statement is an event of the command, and a lost connection is an error event
  // of the driver.
  driver.on('error', reject);
  try {
    driver
      .execute({ sql: text, rowsAsArray: true }, [...values])
      .on('result', (row: unknown[]) => onRow(row))
      .on('error', reject)
      .on('end', resolve);
    await promise;
  } finally {
    driver.off('error', reject);
  }
}

/** The first row of a statement without values. */
async function ask(driver: Driver, text: string): Promise<unknown[]> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  driver.query({ sql: text, rowsAsArray: true }, (error, rows) => (error === null ? resolve(rows) : reject(error)));
  const rows = await promise;
  return Array.isArray(rows) && Array.isArray(rows[0]) ? rows[0] : [];
}

function connectionOf(driver: Driver, options: Options): Connection {
  return {
    async columns(text) {
      const fields = await fieldsOf(driver, text);
      return fields.map((field) => ({ name: field.name, ...typeOf(field) }));
    },
    async rows({ text, values }, columns) {
      const gatherer = createRowGatherer();
      await stream(driver, { text, values: values.map(boundValue) }, (row) =>
        gatherer.add(() => row.map((value, at) => valueOf(value, columns[at]))),
      );
      return gatherer.found();
    },
    async cancel() {
      // A statement is cancelled over another connection, because this one is waiting for it.
      const other = newDriver(options);
      try {
        await connected(other);
        await ask(other, `KILL QUERY ${driver.threadId}`);
      } finally {
        other.destroy();
      }
    },
    async end() {
      const { promise, resolve } = Promise.withResolvers<void>();
      driver.end(() => resolve());
      await promise;
    },
    destroy: () => driver.destroy(),
  };
}

function typeOf({
  columnType: type = -1,
  columnLength,
  characterSet,
  flags,
}: FieldPacket & { characterSet?: number }): Omit<Column, 'name'> {
  // One bit is a truth value, and several are a number.
  if (type === BIT) return columnLength === 1 ? { kind: 'boolean' } : { kind: 'number' };
  if ((Number(flags ?? 0) & ENUM_OR_SET) !== 0) return { kind: 'enum' };
  if (type === SINGLE) return { kind: 'float', type: 'single' };
  const kind = KINDS[type];
  if (kind === 'number' && (Number(flags ?? 0) & ZEROFILL) !== 0) return { kind, type: 'zerofill' };
  return { kind: kind ?? (characterSet === BINARY ? 'binary' : 'text') };
}

function boundValue({ column, text }: KeyValue): string | Buffer {
  return column.kind === 'binary' ? Buffer.from(text, 'base64') : text;
}

function valueOf(value: unknown, column: Column | undefined): JsonValue {
  if (value === null || value === undefined) return null;
  if (column?.kind === 'boolean' && Buffer.isBuffer(value)) return value[0] === 1;
  if (column?.kind === 'number' && Buffer.isBuffer(value)) return BigInt(`0x${value.toString('hex')}`).toString();
  if (Buffer.isBuffer(value)) return value.toString(column?.kind === 'binary' ? 'base64' : 'utf8');
  return typeof value === 'number' && column?.type === 'single' ? singleText(value) : textOf(value);
}

/** Explains an error by the codes of https://mariadb.com/kb/en/mariadb-error-code-reference/. */
function explain(error: unknown): Explanation | null {
  const code = codeOf(error) ?? '';
  const reason = messageOf(error).replace(/\.$/, '');
  if (isTimeout(error)) {
    return {
      problem: `has stopped a statement: ${reason}`,
      cure: 'Add an index on the columns of `page`, or raise `statementMs`.',
    };
  }
  switch (code) {
    case 'ER_ACCESS_DENIED_ERROR':
    case 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR':
    case 'ER_HOST_NOT_PRIVILEGED':
      return {
        problem: `refuses the user: ${reason}`,
        cure: 'Check `user` and `password`, and from which hosts the user may log in.',
      };
    case 'ER_BAD_DB_ERROR':
      return { problem: `is not there: ${reason}`, cure: 'Check `database`.' };
    case 'ER_DBACCESS_DENIED_ERROR':
    case 'ER_TABLEACCESS_DENIED_ERROR':
    case 'ER_COLUMNACCESS_DENIED_ERROR':
    case 'ER_SPECIFIC_ACCESS_DENIED_ERROR':
      return { problem: `denies a right: ${reason}`, cure: 'Give the user this right: GRANT SELECT ON … TO … .' };
    case 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION':
      return {
        problem: `refuses to write: ${reason}`,
        cure: 'Write a query that only reads: the session is read-only.',
      };
    case 'ER_LOCK_WAIT_TIMEOUT':
      return { problem: `has locked the rows of the query: ${reason}`, cure: 'Pull again later.' };
    case 'ER_CON_COUNT_ERROR':
      return { problem: `has no connection left: ${reason}`, cure: 'Raise max_connections, or pull later.' };
    case 'PROTOCOL_CONNECTION_LOST':
    case 'ER_CONNECTION_KILLED':
    case 'ER_SERVER_SHUTDOWN':
      return LOST;
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return {
        problem: 'has no TLS',
        cure: 'Set up TLS at the server, or set `tls: off` if the network can be trusted.',
      };
    case 'ER_NO_SUCH_TABLE':
    case 'ER_BAD_FIELD_ERROR':
    case 'ER_PARSE_ERROR':
    case 'ER_DUP_FIELDNAME':
    case 'ER_NON_UNIQ_ERROR':
    case 'ER_SYNTAX_ERROR':
      return {
        problem: `refuses the query: ${reason}`,
        cure: 'Correct the query, and try it in the client of the database as the same user.',
      };
    default:
      return /closed state|Connection lost|has gone away|EPIPE/.test(reason) ? LOST : null;
  }
}

/**
 * True for the error of a timeout. The driver only has names for MySQL's codes. The code of a timeout is 3024 in MySQL
 * and 1969 in MariaDB, and 1317 if the statement was stopped.
 */
function isTimeout(error: unknown): boolean {
  const number = typeof error === 'object' && error !== null && 'errno' in error ? error.errno : null;
  return number === 3024 || number === 1969 || number === 1317;
}
