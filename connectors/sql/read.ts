import {
  createPageBuffer,
  type JsonObject,
  type JsonValue,
  PAGE_BYTES_MAX,
  PAGE_ROWS_MAX,
  type Page,
  type SourceRow,
  sourceFault,
} from '../../src/sdk/index.ts';
import { type Cursor, cursorOf } from './cursor.ts';
import type { Column } from './dialect.ts';
import type { Plan } from './plan.ts';
import type { Session } from './session.ts';
import { jsonOf, textOf } from './values.ts';
import { earlierBy } from './watermark.ts';

export interface Read {
  stream: string;
  plan: Plan;
  session: Session;
  signal: AbortSignal;
}

/** Few at first, because nobody knows yet how large the rows are. */
const FIRST_ROWS = 100;

/** A row with its values in the columns that the read is ordered by. */
interface OrderedRow {
  row: SourceRow;
  at: string[];
  bytes: number;
}

/**
 * Reads everything. With a watermark, the last page has the cursor from which changes are read. It was taken before the
 * first row, so that what changes in the meantime is read again.
 */
export async function* readSnapshot(read: Read): AsyncGenerator<Page> {
  const { plan, session, signal, stream } = read;
  const nulls = await session.rows(plan.statements.withNull(plan.key), plan.key, signal);
  if (nulls.length > 0) {
    const names = plan.key.filter((_, at) => nulls[0]?.[at] === null).map(({ name }) => name);
    throw sourceFault(`The column ${names.join(' and ')} of the stream ${stream} is NULL in some rows.`, {
      suggestion: 'Name columns in `page` that are never NULL, or give NULL a value in the query with COALESCE.',
    });
  }
  const cursor = plan.watermark === null ? {} : { cursor: cursorFrom(await greatest(read, plan.watermark), read) };
  for await (const { rows, isLast } of pagesOf(read, { by: plan.key })) {
    yield isLast ? { rows, ...cursor } : { rows };
    if (isLast) return;
  }
  // Without rows, or where the last one has gone in the meantime.
  if (plan.watermark !== null) yield { rows: [], ...cursor };
}

/** Reads the rows whose watermark has grown. Each page has the cursor behind its last row. */
export async function* readChanges(
  read: Read,
  { watermark, overlap, from }: { watermark: Column; overlap: number; from: JsonValue | null },
): AsyncGenerator<Page> {
  const { plan, stream } = read;
  const by = [watermark, ...plan.key];
  const cursor = cursorOf(from, namesOf(by), stream);
  const after = cursor?.after;
  // A read that goes on after an interruption keeps the watermark that it began with.
  const end = after === undefined ? await greatest(read, watermark) : (cursor?.watermark ?? null);
  const since = cursor?.watermark ?? null;
  const start = after !== undefined ? { after } : since === null ? {} : { from: earlierBy(since, overlap) };
  const last: Cursor = { by: namesOf(by), watermark: end ?? since };
  for await (const { rows, at, isLast } of pagesOf(read, { by, ...start })) {
    yield { rows, cursor: isLast ? last : { ...last, after: at } };
    if (isLast) return;
  }
  yield { rows: [], cursor: last };
}

function cursorFrom(watermark: string | null, { plan }: Read): Cursor {
  return { by: namesOf([...(plan.watermark === null ? [] : [plan.watermark]), ...plan.key]), watermark };
}

function namesOf(columns: readonly Column[]): string[] {
  return columns.map(({ name }) => name);
}

async function greatest({ plan, session, signal }: Read, column: Column): Promise<string | null> {
  const [row] = await session.rows(plan.statements.greatest(column), [column], signal);
  const value = row?.[0] ?? null;
  return value === null ? null : textOf(value);
}

interface PartOfRead {
  rows: SourceRow[];
  /** The place of the last row in the order. */
  at: string[];
  isLast: boolean;
}

/** Asks for the rows behind the last one, again and again. The number of rows fits their size, so that a page fits into memory. */
async function* pagesOf(
  read: Read,
  { by, after, from }: { by: readonly Column[]; after?: readonly string[]; from?: string },
): AsyncGenerator<PartOfRead> {
  const { plan, session, signal } = read;
  let limit = FIRST_ROWS;
  let place = after;
  for (;;) {
    const start = place === undefined ? (from === undefined ? {} : { from }) : { after: place };
    // One more than the page has: it shows that there are more, and whether two rows share the place between the pages.
    const statement = plan.statements.page({ by, ...start, limit: limit + 1 });
    const found = (await session.rows(statement, plan.columns, signal)).map((values) => orderedRow(read, by, values));
    const isEnd = found.length <= limit;
    await assertDistinct(read, by, found, { isEnd });
    const given = isEnd ? found : found.slice(0, -1);
    yield* inBytes(given, isEnd);
    if (isEnd) return;
    place = given.at(-1)?.at;
    const bytes = given.reduce((sum, row) => sum + row.bytes, 0);
    limit = Math.max(1, Math.min(PAGE_ROWS_MAX, 4 * limit, Math.floor((limit * PAGE_BYTES_MAX) / Math.max(1, bytes))));
  }
}

function* inBytes(rows: readonly OrderedRow[], isEnd: boolean): Generator<PartOfRead> {
  const buffer = createPageBuffer();
  for (const [index, { row, at, bytes }] of rows.entries()) {
    const isFull = buffer.add(row, bytes);
    const isLast = index === rows.length - 1;
    // The table grows while it is read, so that nobody knows the progress.
    if (isFull || isLast) yield { rows: buffer.take({ done: 0, total: 0 }).rows, at, isLast: isLast && isEnd };
  }
}

function orderedRow({ stream, plan }: Read, by: readonly Column[], values: readonly JsonValue[]): OrderedRow {
  const fields: JsonObject = {};
  let bytes = 0;
  for (const [at, { name }] of plan.columns.entries()) {
    const value = values[at] ?? null;
    bytes +=
      name.length + (typeof value === 'string' ? value.length : value === null ? 4 : JSON.stringify(value).length);
    fields[name] = typeof value === 'string' && plan.json.has(name) ? jsonOf(value) : value;
  }
  const placeOf = (columns: readonly Column[]): string[] =>
    columns.map((column) => textOf(values[plan.columns.indexOf(column)] ?? ''));
  const path = placeOf(plan.key).map((text, at) => `${plan.key[at]?.name}=${text}`);
  return { row: { fields, place: { file: stream, path: path.join(', ') } }, at: placeOf(by), bytes };
}

/** Finds more than a collation does: upper and lower case, accents and blanks at the end do not count. */
const loosely = new Intl.Collator('en', { sensitivity: 'base' });

/**
 * The next page begins behind the last row of this one. Were there another row in the same place, it would be lost.
 *
 * @throws a `sourceFault` if two rows have the same values in the columns that identify them
 */
async function assertDistinct(
  { plan, session, signal, stream }: Read,
  by: readonly Column[],
  rows: readonly OrderedRow[],
  { isEnd }: { isEnd: boolean },
): Promise<void> {
  let same: OrderedRow | undefined = rows.find(({ at }, index) => index > 0 && isSame(at, rows[index - 1]?.at ?? []));
  const [last, next] = rows.slice(-2);
  if (same === undefined && !isEnd && last !== undefined && next !== undefined && isLooselySame(last.at, next.at)) {
    // What is equal is for the database to say, by its collations.
    const equal = await session.rows(plan.statements.same(by, last.at), by, signal);
    if (equal.length > 1) same = last;
  }
  if (same === undefined) return;
  throw sourceFault(`Several rows of the stream ${stream} have the same values in \`page\`: ${same.row.place.path}.`, {
    suggestion: 'Name columns in `page` that identify a row together, such as those of the primary key.',
  });
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.every((text, at) => text === b[at]);
}

function isLooselySame(a: readonly string[], b: readonly string[]): boolean {
  return a.every((text, at) => loosely.compare(text.trimEnd(), (b[at] ?? '').trimEnd()) === 0);
}
