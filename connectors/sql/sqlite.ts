import Database from 'better-sqlite3';
import type { JsonValue } from '../../src/sdk/index.ts';
import {
  type ColumnKind,
  type Connection,
  codeOf,
  createRowGatherer,
  type Dialect,
  type KeyValue,
  messageOf,
  selectWithLimit,
  textOf,
} from './dialect.ts';

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const exact = (expression: string): string => expression;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** SQLite files. A statement runs within this process and cannot be stopped, so its time is not limited. */
export const sqlite: Dialect = {
  title: 'SQLite',
  port: 0,
  comparesRows: true,
  hasJson: false,
  quote,
  exact,
  placeholder: () => '?',
  isOdd: (column, query) => {
    const name = quote(column.name);
    const first = `(SELECT ${classOf(name)} FROM (\n${query}\n) WHERE ${name} IS NOT NULL LIMIT 1)`;
    const isOther = `${classOf(name)} <> ${first} OR (typeof(${name}) = 'blob') <> ${column.kind === 'binary' ? 1 : 0}`;
    return `(${name} IS NOT NULL AND (${isOther}))`;
  },
  select: selectWithLimit({ quote, exact }),
  async connect({ file = '', statementMs }, resolvePath) {
    const path = resolvePath(file);
    return connectionOf(new Database(path, { readonly: true, fileMustExist: true, timeout: statementMs }));
  },
  explain(error) {
    const reason = messageOf(error).replace(/\.$/, '');
    const code = codeOf(error) ?? '';
    if (code.startsWith('SQLITE_CANTOPEN') || reason.startsWith('Cannot open database')) {
      return { problem: 'cannot be opened', cure: 'Check the path in `file`, and whether the file may be read.' };
    }
    if (code === 'SQLITE_NOTADB') {
      return { problem: 'is not an SQLite database', cure: 'Check the path in `file`.' };
    }
    if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
      return { problem: 'is locked by another program', cure: 'Pull again when the other program has ended.' };
    }
    if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_IOERR')) {
      return { problem: `cannot be read: ${reason}`, cure: 'Check the file with PRAGMA integrity_check.' };
    }
    if (!/^(?:no such|near|ambiguous|incomplete|unrecognized|The supplied SQL)/.test(reason)) return null;
    return { problem: `refuses the query: ${reason}`, cure: 'Correct the query, and try it in the sqlite3 shell.' };
  },
};

/**
 * Whether a value is a number, text or bytes: a column may have values of all three kinds, and SQLite sorts them by
 * kind.
 */
function classOf(name: string): string {
  return `CASE typeof(${name}) WHEN 'real' THEN 'integer' ELSE typeof(${name}) END`;
}

function connectionOf(database: Database.Database): Connection {
  return {
    async columns(text) {
      const columns = database.prepare(text).columns();
      const untyped = columns.filter(({ type }) => type === null).map(({ name }) => name);
      const first = untyped.length === 0 ? {} : firstTypes(database, text, untyped);
      return columns.map(({ name, type }) => ({ name, kind: type === null ? kindOf(first[name]) : kindByName(type) }));
    },
    async rows({ text, values }) {
      const statement = database.prepare(text).raw().safeIntegers();
      const gatherer = createRowGatherer();
      for (const row of statement.iterate(...values.map(boundValue))) {
        gatherer.add(() => (row as unknown[]).map(valueOf));
        if (gatherer.isCut) break;
      }
      return gatherer.found();
    },
    cancel: async () => {},
    end: async () => void database.close(),
    destroy: () => void database.close(),
  };
}

/** The types of expressions, which are known from the values of a first row. */
function firstTypes(database: Database.Database, shape: string, names: readonly string[]): Record<string, string> {
  const list = names.map((name, at) => `typeof(${quote(name)}) AS t${at}`).join(', ');
  const first = database
    .prepare(`SELECT ${list} FROM (\n${shape.replace(/LIMIT 0$/, 'LIMIT 1')}\n)`)
    .raw()
    .get();
  const types = Array.isArray(first) ? first.map(String) : [];
  return Object.fromEntries(names.map((name, at) => [name, types[at] ?? 'null']));
}

function kindOf(type: string | undefined): ColumnKind {
  if (type === 'integer' || type === 'real') return 'number';
  return type === 'blob' ? 'binary' : 'text';
}

/** The kind of a declared type, by SQLite's rules of affinity. */
function kindByName(type: string): ColumnKind {
  if (/INT/i.test(type)) return 'number';
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'text';
  if (/JSON/i.test(type)) return 'json';
  return /BLOB/i.test(type) ? 'binary' : 'number';
}

/**
 * Converts the text of a key to the type of its column, because comparison depends on the type: a number is less than
 * every text.
 */
function boundValue({ column: { kind }, text }: KeyValue): string | bigint | number | Buffer {
  if (kind === 'binary') return Buffer.from(text, 'base64');
  if (kind !== 'number' || !NUMBER.test(text)) return text;
  const whole = /^-?\d+$/.test(text) ? BigInt(text) : null;
  // A number that SQLite cannot hold as an integer is bound as a floating-point number.
  return whole !== null && BigInt.asIntN(64, whole) === whole ? whole : Number(text);
}

function valueOf(value: unknown): JsonValue {
  if (value === null) return null;
  return Buffer.isBuffer(value) ? value.toString('base64') : textOf(value);
}
