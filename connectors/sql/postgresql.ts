import { Client, Query, type QueryArrayConfig, type QueryArrayResult, type ResultBuilder } from 'pg';
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
  LOST,
  messageOf,
  selectWithLimit,
} from './dialect.ts';
import type { Options } from './schema.ts';

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const exact = (expression: string): string => expression;

/** The numbers of types that are not text, from the catalog `pg_type`. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  17: 'binary',
  20: 'number',
  21: 'number',
  23: 'number',
  // An `oid` (26) may be above every signed integer of 32 bits, so it is no number here.
  1700: 'number',
  700: 'float',
  701: 'float',
  114: 'json',
  3802: 'json',
  1082: 'time',
  1114: 'time',
  1184: 'time',
};

/** PostgreSQL. The server writes every value as text, and this code does not convert it to a number or a time. */
export const postgresql: Dialect = {
  title: 'PostgreSQL',
  port: 5432,
  comparesRows: true,
  hasJson: true,
  quote,
  exact,
  // The server takes the type of a value from the column that it is compared with.
  placeholder: (_value, number) => `$${number}`,
  select: selectWithLimit({ quote, exact }),
  async connect(options) {
    const client = newClient(options);
    try {
      await client.connect();
      return connectionOf(client, options);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  },
  explain,
};

/**
 * Begins a transaction that is read-only, and in which times, numbers and bytes always have the same form. The settings end with
 * the transaction: a pooler such as PgBouncer gives the session to other programs, and the next transaction another session.
 */
function beginning({ statementMs, connectMs }: Options): string {
  return `BEGIN READ ONLY;
    SET LOCAL statement_timeout = ${statementMs};
    SET LOCAL lock_timeout = ${connectMs};
    SET LOCAL timezone = 'UTC';
    SET LOCAL datestyle = 'ISO';
    SET LOCAL intervalstyle = 'iso_8601';
    SET LOCAL bytea_output = 'hex';
    SET LOCAL extra_float_digits = 1;
    SELECT pg_backend_pid()`;
}

function newClient(options: Options): Client {
  const { host = '', port = 5432, user = '', database = '', password = '', ca, connectMs } = options;
  const client = new Client({
    host,
    port,
    user,
    database,
    password,
    ssl: hasTls(options) ? { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) } : false,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    application_name: 'dpp-sync',
    types: { getTypeParser: () => (text: unknown) => text },
  });
  // Without a listener, an error between two statements would end the process. The next statement reports the error.
  client.on('error', () => {});
  return client;
}

type Row = (string | null)[];

function stream(client: Client, statement: QueryArrayConfig, onRow: (row: Row) => void): Promise<ResultBuilder<Row>> {
  const { promise, resolve, reject } = Promise.withResolvers<ResultBuilder<Row>>();
  const query = new Query<Row>(statement).on('row', onRow).on('error', reject).on('end', resolve);
  client.query(query);
  return promise;
}

/** The process in the last result of the statements with which a transaction begins. */
function processIn(results: unknown): string | null {
  const last = Array.isArray(results) ? (results.at(-1) as QueryArrayResult<string[]> | undefined) : undefined;
  return last?.rows[0]?.[0] ?? null;
}

function connectionOf(client: Client, options: Options): Connection {
  const begin = beginning(options);
  /** The process of the server that runs the present statement; null while there is none. */
  let running: string | null = null;

  /** Runs one statement in a transaction of its own and passes its rows on one by one, so that the driver does not collect them. */
  async function readOnly(statement: QueryArrayConfig, onRow: (row: Row) => void): Promise<ResultBuilder<Row>> {
    // The extended protocol accepts only one statement at a time, so a query cannot add another one.
    const extended: QueryArrayConfig & { queryMode: 'extended' } = { ...statement, queryMode: 'extended' };
    try {
      running = processIn(await client.query({ text: begin, rowMode: 'array' }));
      return await stream(client, extended, onRow);
    } finally {
      running = null;
      // If the connection has ended, the transaction has ended too, and the next statement reports the problem.
      await client.query('ROLLBACK').catch(() => {});
    }
  }

  return {
    async columns(text) {
      const { fields } = await readOnly({ text, rowMode: 'array' }, () => {});
      return fields.map(({ name, dataTypeID }): Column => ({ name, kind: KINDS[dataTypeID] ?? 'text' }));
    },
    async rows({ text, values }, columns) {
      const gatherer = createRowGatherer();
      await readOnly({ text, values: values.map(boundValue), rowMode: 'array' }, (row) =>
        gatherer.add(() => row.map((value, at) => valueOf(value, columns[at]?.kind))),
      );
      return gatherer.found();
    },
    async cancel() {
      // A statement is cancelled over another connection, because this one is waiting for it. If it has ended meanwhile, there is
      // no process any more, and the server cancels nothing.
      const other = newClient(options);
      try {
        await other.connect();
        await other.query('SELECT pg_cancel_backend($1::int)', [running]);
      } finally {
        await other.end();
      }
    },
    end: () => client.end(),
    destroy: () => void client.end().catch(() => {}),
  };
}

function boundValue({ column, text }: { column: Column; text: string }): string {
  return column.kind === 'binary' ? `\\x${Buffer.from(text, 'base64').toString('hex')}` : text;
}

function valueOf(value: string | null, kind: ColumnKind | undefined): JsonValue {
  if (value === null) return null;
  if (kind === 'boolean') return value === 't';
  return kind === 'binary' ? Buffer.from(value.slice(2), 'hex').toString('base64') : value;
}

/** Explains an error by the codes of https://www.postgresql.org/docs/current/errcodes-appendix.html. */
function explain(error: unknown): Explanation | null {
  const code = codeOf(error) ?? '';
  const reason = messageOf(error).replace(/\.$/, '');
  if (code === '28P01' || code === '28000') {
    return {
      problem: `refuses the user: ${reason}`,
      cure: 'Check `user` and `password`, and pg_hba.conf of the server.',
    };
  }
  if (code === '3D000') return { problem: `is not there: ${reason}`, cure: 'Check `database`.' };
  if (code === '42501') {
    return { problem: `denies a right: ${reason}`, cure: 'Give the user this right: GRANT SELECT ON … TO … .' };
  }
  if (code === '25006') {
    return {
      problem: `refuses to write: ${reason}`,
      cure: 'Write a query that only reads: the transaction is read-only.',
    };
  }
  if (code === '57014') {
    return {
      problem: `has stopped a statement: ${reason}`,
      cure: 'Add an index on the columns of `page`, or raise `statementMs`.',
    };
  }
  if (code === '55P03') return { problem: `has locked the rows of the query: ${reason}`, cure: 'Pull again later.' };
  if (code === '53300')
    return { problem: `has no connection left: ${reason}`, cure: 'Raise max_connections, or pull later.' };
  if (code.startsWith('42')) {
    return { problem: `refuses the query: ${reason}`, cure: 'Correct the query, and try it in psql as the same user.' };
  }
  if (code.startsWith('22')) {
    return { problem: `cannot compute a value: ${reason}`, cure: 'Correct the query or the value.' };
  }
  if (
    /^(?:57P|08)/.test(code) ||
    /Connection terminated|connection error and is not queryable|Client was closed/.test(reason)
  ) {
    return reason.includes('timeout')
      ? { problem: 'does not answer in time', cure: 'Check `host` and `port`, or raise `connectMs`.' }
      : LOST;
  }
  return reason.startsWith('timeout expired')
    ? { problem: 'does not answer in time', cure: 'Check `host` and `port`, or raise `connectMs`.' }
    : null;
}
