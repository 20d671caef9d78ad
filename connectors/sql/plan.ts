import { type JsonObject, sourceFault } from '../../src/sdk/index.ts';
import type { Column, ColumnKind, Dialect } from './dialect.ts';
import type { StreamOptions } from './schema.ts';
import type { Session } from './session.ts';
import { createStatements, type Statements } from './statements.ts';

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
  /** Columns of text that hold JSON. */
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
  return {
    statements: createStatements(dialect, query, columns),
    columns,
    empty: JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`) as JsonObject,
    // The watermark is left out of the order of a snapshot. It changes with its row, and a row that moves within the
    // order would be read twice.
    key: options.page.filter((name) => name !== options.watermark).map((name) => compared(name, 'page')),
    watermark,
    json: new Set(options.json),
  };
}

/**
 * Removes the semicolon at the end of a query, with comments after it. A query that is a part of another statement must
 * not have one.
 */
function withoutEnd(query: string): string {
  return query.trim().replace(/;(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*$/, '');
}
