import {
  createPageBuffer,
  damagedFields,
  damageIssue,
  type JsonObject,
  type JsonValue,
  type OwnIssue,
  PAGE_BYTES_MAX,
  PAGE_ROWS_MAX,
  type Page,
  type SourceRow,
  sourceFault,
  withoutTextFormula,
} from '../../src/sdk/index.ts';
import { bytesOf, type Column, jsonOf, textOf } from './dialect.ts';
import type { Plan } from './plan.ts';
import type { Session } from './session.ts';
import { assertOneZone, type Cursor, cursorOf, earlierBy } from './watermark.ts';

interface Read {
  stream: string;
  plan: Plan;
  session: Session;
  signal: AbortSignal;
  /** How far before the last watermark a read of changes begins. */
  overlap: number;
}

/** The number of rows in the first request. It is small, because the size of the rows is not known yet. */
const FIRST_ROWS = 8;

/** A row, with its values in the columns that determine the order of the read. */
interface OrderedRow {
  row: SourceRow;
  at: string[];
  bytes: number;
}

/**
 * Reads all rows. With a watermark, the last page has the cursor from which changes are read. The watermark is taken
 * before the first row, so that rows which change during the read are read again.
 */
export async function* readSnapshot(read: Read): AsyncGenerator<Page> {
  const { plan } = read;
  await assertOrdered(read, null);
  const end = plan.watermark === null ? null : await greatest(read, plan.watermark);
  const cursor = plan.watermark === null ? {} : { cursor: cursorFrom(end, read) };
  for await (const { rows, isLast } of pagesOf(read, { by: plan.key })) {
    assertComparable(read, rows, end);
    yield isLast ? { rows, ...cursor } : { rows };
    if (isLast) return;
  }
  // The last page is empty if there are no rows, or if the last row was deleted meanwhile.
  if (plan.watermark !== null) yield { rows: [], ...cursor };
}

/** Reads the rows whose watermark has grown. Each page has the cursor after its last row. */
export async function* readChanges(
  read: Read,
  { watermark, from }: { watermark: Column; from: JsonValue | null },
): AsyncGenerator<Page> {
  const { plan, stream, overlap } = read;
  const by = [watermark, ...plan.key];
  const cursor = cursorOf(from, namesOf(by), stream);
  const after = cursor?.after;
  // A read that continues after an interruption keeps the watermark with which it began.
  const end = after === undefined ? await greatest(read, watermark) : (cursor?.watermark ?? null);
  const since = cursor?.watermark ?? null;
  const start: Start =
    after !== undefined ? { after } : since === null ? {} : { from: earlierBy(since, overlap, watermark.kind) };
  const last: Cursor = { by: namesOf(by), watermark: end ?? since };
  if (after === undefined && since !== null && (await isNewestGone(read, by, since))) {
    yield { rows: [], beginAgain: newestIsGone(read, { watermark, since }) };
    return;
  }
  await assertOrdered(read, start.from ?? null);
  for await (const { rows, at, isLast } of pagesOf(read, { by, ...start })) {
    assertComparable(read, rows, end);
    // The next read may begin after the last row of any page. Then another row at the same position would be lost.
    if (!isLast) await assertAlone(read, by, at);
    yield { rows, cursor: isLast ? last : { ...last, after: at } };
    if (isLast) return;
  }
  yield { rows: [], cursor: last };
}

/**
 * True if no row has the greatest watermark of the read before or a later one. Then this row is gone or has an earlier watermark, as
 * after a clock was set right or a backup was restored, and other changes may be earlier than the watermark too.
 */
async function isNewestGone({ plan, session, signal }: Read, by: readonly Column[], since: string): Promise<boolean> {
  const { rows } = await session.rows(plan.statements.page({ by, from: since, limit: 1 }), plan.columns, signal);
  return rows.length === 0;
}

function newestIsGone({ stream }: Read, { watermark, since }: { watermark: Column; since: string | null }): string {
  return `No row of the stream ${stream} is as new any more as the newest one of the last read (${watermark.name}=${since}), so earlier changes may be unknown.`;
}

function cursorFrom(watermark: string | null, { plan }: Read): Cursor {
  return { by: namesOf([...(plan.watermark === null ? [] : [plan.watermark]), ...plan.key]), watermark };
}

function namesOf(columns: readonly Column[]): string[] {
  return columns.map(({ name }) => name);
}

async function greatest({ plan, session, signal, overlap }: Read, column: Column): Promise<string | null> {
  const { rows } = await session.rows(plan.statements.greatest(column), [column], signal);
  const [row] = rows;
  const value = row?.[0] ?? null;
  if (value === null) return null;
  // The next read begins a little before this watermark. If that position cannot be computed, this read fails before
  // its first row.
  earlierBy(textOf(value), overlap, column.kind);
  return textOf(value);
}

/** @throws a `sourceFault` if the watermarks of these rows cannot be compared with the greatest one */
function assertComparable({ plan, stream }: Read, rows: readonly SourceRow[], end: string | null): void {
  const column = plan.watermark;
  if (column === null) return;
  assertOneZone(
    rows.map(({ fields }) => fields[column.name]),
    { greatest: end, column, stream },
  );
}

interface PartOfRead {
  rows: SourceRow[];
  /** The position of the last row in the order. */
  at: string[];
  isLast: boolean;
}

/** The beginning of the pages of a read: after a row, or from a first value of the first column. */
interface Start {
  after?: readonly string[];
  from?: string;
}

/**
 * Repeatedly requests the rows after the last row. The number of requested rows depends on the size of the earlier
 * rows. If rows are larger than expected, the answer is cut (`createRowGatherer`), and the next page begins there.
 */
async function* pagesOf(
  read: Read,
  { by, after, from }: Start & { by: readonly Column[] },
): AsyncGenerator<PartOfRead> {
  const { plan, session, signal } = read;
  let limit = FIRST_ROWS;
  let place = after;
  /** The first row that was not passed on. It has to be the first row of the next page. */
  let next: OrderedRow | undefined;
  for (;;) {
    const start = place === undefined ? (from === undefined ? {} : { from }) : { after: place };
    // One row more than the page needs: it shows whether there are more rows, and which row comes next.
    const statement = plan.statements.page({ by, ...start, limit: limit + 1 });
    const { rows, isCut } = await session.rows(statement, plan.columns, signal);
    const found = rows.map((values) => orderedRow(read, by, values));
    const isEnd = !isCut && found.length <= limit;
    await assertFound(read, by, found);
    assertDistinct(read, found);
    if (next !== undefined && !found.some((row) => isSame(row, next))) await assertGone(read, by, next);
    next = isEnd ? undefined : found.at(-1);
    const given = isEnd ? found : found.slice(0, -1);
    yield* inBytes(given, isEnd);
    if (isEnd) return;
    place = given.at(-1)?.at;
    const bytes = given.reduce((sum, row) => sum + row.bytes, 0);
    const count = given.length;
    limit = Math.max(1, Math.min(PAGE_ROWS_MAX, 4 * count, Math.floor((count * PAGE_BYTES_MAX) / Math.max(1, bytes))));
  }
}

function* inBytes(rows: readonly OrderedRow[], isEnd: boolean): Generator<PartOfRead> {
  const buffer = createPageBuffer();
  for (const [index, { row, at, bytes }] of rows.entries()) {
    const isFull = buffer.add(row, bytes);
    const isLast = index === rows.length - 1;
    // The table may grow while it is read, so the progress is unknown.
    if (isFull || isLast) yield { rows: buffer.take({ done: 0, total: 0 }).rows, at, isLast: isLast && isEnd };
  }
}

function orderedRow({ stream, plan }: Read, by: readonly Column[], values: readonly JsonValue[]): OrderedRow {
  const fields: JsonObject = { ...plan.empty };
  const issues: OwnIssue[] = [];
  let bytes = bytesOf(values);
  for (const [at, { name }] of plan.columns.entries()) {
    const value = values[at] ?? null;
    bytes += name.length;
    if (typeof value !== 'string') fields[name] = value;
    else if (plan.json.has(name)) {
      const json = jsonOf(value);
      fields[name] = json.value;
      if (json.repeated !== undefined) issues.push(repeatedIssue(name, json.repeated));
    } else fields[name] = withoutTextFormula(value);
  }
  const placeOf = (columns: readonly Column[]): string[] =>
    columns.map((column) => textOf(values[plan.columns.indexOf(column)] ?? ''));
  const path = placeOf(plan.key).map((text, at) => `${plan.key[at]?.name}=${text}`);
  const row: SourceRow = { fields, place: { file: stream, path: path.join(', ') } };
  issues.push(...damagedFields(fields).map((name) => issueOf(name, fields)));
  if (issues.length > 0) row.issues = issues;
  return { row, at: placeOf(by), bytes };
}

function repeatedIssue(field: string, name: string): OwnIssue {
  return {
    code: 'row.duplicate',
    message: `An object in the JSON of the column ${field} has the name ${JSON.stringify(name)} twice, so the value of this name is not certain.`,
    field,
    cure: 'Correct the JSON in the database. PostgreSQL keeps the last value in the type `jsonb`.',
  };
}

function issueOf(field: string, fields: JsonObject): OwnIssue {
  const message = `Column ${field} holds text that is not valid in the encoding of the database, or was damaged before it was stored.`;
  const cure = 'Correct the text in the database, or convert the column in the query.';
  return damageIssue({ field, message, cure }, textOf(fields[field]));
}

/**
 * The driver gives U+FFFD for a character that is not valid. The next page would then begin at another text than that of
 * the row, and rows would be lost or read twice.
 *
 * @throws a `sourceFault` if the database does not find a row by the text that the driver gave
 */
async function assertFound(
  { plan, session, signal, stream }: Read,
  by: readonly Column[],
  rows: readonly OrderedRow[],
): Promise<void> {
  for (const { row, at } of rows) {
    if (row.issues === undefined || !at.some((text) => text.includes('\uFFFD'))) continue;
    const { rows: found } = await session.rows(plan.statements.same(by, at), by, signal);
    if (found.length > 0) continue;
    const names = by.filter((_, index) => at[index]?.includes('\uFFFD')).map(({ name }) => name);
    throw sourceFault(
      `The column ${names.join(' and ')}, by which the stream ${stream} is read, has text that is not valid in the encoding of the database: ${row.place.path}.`,
      { suggestion: 'Correct the text, or name other columns in `page`, such as those of the primary key.' },
    );
  }
}

/** @throws a `sourceFault` if a row has no position in the order of the columns that identify it */
async function assertOrdered({ plan, session, signal, stream }: Read, from: string | null): Promise<void> {
  const { key, watermark } = plan;
  const compared = watermark === null ? key : [...key, watermark];
  const { rows } = await session.rows(plan.statements.unordered(key, watermark, from), compared, signal);
  const [row] = rows;
  if (row === undefined) return;
  const names = plan.key.filter((_, at) => row[at] === null).map(({ name }) => name);
  if (names.length > 0) {
    throw sourceFault(`The column ${names.join(' and ')} of the stream ${stream} is NULL in some rows.`, {
      suggestion: 'Name columns in `page` that are never NULL, or give NULL a value in the query with COALESCE.',
    });
  }
  const values = compared.map(({ name }, at) => `${name}=${textOf(row[at] ?? '')}`);
  throw sourceFault(
    `The columns by which the stream ${stream} is read have values of several types, or a value with a part that is NULL: ${values.join(', ')}.`,
    {
      suggestion: 'Give these columns one type in the query, for example CAST(id AS TEXT) AS id.',
    },
  );
}

/** @throws a `sourceFault` if two rows have the same values in the columns that identify them */
function assertDistinct({ stream }: Read, rows: readonly OrderedRow[]): void {
  const same = rows.find((row, index) => index > 0 && isSame(row, rows[index - 1]));
  if (same !== undefined) throw notDistinct(stream, same.row.place.path);
}

/** @throws a `sourceFault` if the database treats another row as equal to the row at this position */
async function assertAlone(
  { plan, session, signal, stream }: Read,
  by: readonly Column[],
  at: readonly string[],
): Promise<void> {
  const { rows } = await session.rows(plan.statements.same(by, at), by, signal);
  if (rows.length > 1) throw notDistinct(stream, by.map(({ name }, index) => `${name}=${at[index]}`).join(', '));
}

/**
 * Checks a row that came after the last page but is not in this page. It may have been deleted or changed meanwhile.
 *
 * @throws a `sourceFault` if the row still exists. Then the database sorts rows in another order than it compares them,
 *   or treats two rows as equal, and rows would be lost
 */
async function assertGone(
  { plan, session, signal, stream }: Read,
  by: readonly Column[],
  row: OrderedRow,
): Promise<void> {
  const { rows } = await session.rows(plan.statements.same(by, row.at), by, signal);
  if (rows.length === 0) return;
  if (rows.length > 1) throw notDistinct(stream, row.row.place.path);
  throw sourceFault(
    `The database sorts the rows of the stream ${stream} in one order and compares them in another order, at ${row.row.place.path}.`,
    { suggestion: 'Name other columns in `page`, such as those of the primary key, or cast them in the query.' },
  );
}

function notDistinct(stream: string, place: string | undefined): Error {
  return sourceFault(`Several rows of the stream ${stream} have the same values in \`page\`: ${place}.`, {
    suggestion: 'Name columns in `page` that identify a row together, such as those of the primary key.',
  });
}

function isSame(a: OrderedRow, b: OrderedRow | undefined): boolean {
  return b !== undefined && a.at.every((text, at) => text === b.at[at]);
}
