import type { Issue } from '../../domain/issue.ts';
import type { Page, ReadMode, SourceRow } from '../../domain/ports/source.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../../sdk/connector.ts';

/** The deepest nesting of a value. Values of real exports are less deep. */
const DEPTH_MAX = 100;
/** How long a connector may take to stop after the signal. */
const STOP_WITHIN_MS = 5_000;
/** The most empty pages in a row. A connector that gives more counts as endless. */
const EMPTY_PAGES_MAX = 10_000;

/**
 * Passes on the pages of a connector of another author, and checks that they fulfil the contract of `Page`. A row with
 * a value that JSON does not have is quarantined. The read fails at a page of another shape, after too many empty
 * pages, and when the connector does not stop after the signal.
 *
 * @throws a `sourceFault`
 */
export async function* checkedPages(
  pages: AsyncIterable<Page>,
  { connector, stream, mode, signal }: { connector: string; stream: string; mode: ReadMode; signal: AbortSignal },
): AsyncGenerator<Page> {
  const wrong = (what: string): Error =>
    sourceFault(`The connector ${connector} gave ${what} for the stream ${stream}.`, {
      suggestion: 'Correct the connector: the conformance kit of dpp-sync/sdk/testing finds such mistakes.',
    });
  let count = 0;
  let empty = 0;
  const overdue = (): Error =>
    sourceFault(`The connector ${connector} did not stop within ${STOP_WITHIN_MS / 1000} s.`, {
      suggestion: 'Correct the connector: it has to pass its signal to each call that it waits for.',
    });
  for await (const page of untilStopped(pages, signal, overdue)) {
    if (!isJsonObject(page as unknown as JsonValue) || !Array.isArray(page.rows)) throw wrong('a page without rows');
    count += 1;
    empty = page.rows.length === 0 ? empty + 1 : 0;
    if (empty > EMPTY_PAGES_MAX) throw wrong(`${EMPTY_PAGES_MAX} successive pages without a row`);
    if (page.nothingNew === true && (count > 1 || page.rows.length > 0)) {
      throw wrong('rows together with `nothingNew: true`');
    }
    const { beginAgain } = page;
    if (beginAgain !== undefined && (typeof beginAgain !== 'string' || beginAgain === '' || page.rows.length > 0)) {
      throw wrong('`beginAgain` that is no sentence, or rows together with it');
    }
    if (page.warnings !== undefined && !isTexts(page.warnings)) throw wrong('warnings that are no list of texts');
    if (!isProgress(page.progress)) throw wrong('progress that is not `{ done, total }` with two numbers');
    if (page.cursor !== undefined && faultIn(page.cursor, 0) !== null) throw wrong('a cursor that is not a JSON value');
    if (mode === 'changes' && page.cursor === undefined && page.nothingNew !== true && beginAgain === undefined) {
      throw wrong('changes without a cursor');
    }
    yield {
      ...page,
      rows: page.rows.map((row, at) => checkedRow(row, (what) => wrong(`${what} at place ${at + 1}`))),
    };
  }
}

function checkedRow(row: SourceRow, wrong: (what: string) => Error): SourceRow {
  const { fields, place, issues, isGone } = (row as SourceRow | null) ?? ({} as Partial<SourceRow>);
  if (!isObject(fields)) throw wrong('a row without an object `fields`');
  if (!isObject(place) || faultIn(place as unknown, 0) !== null)
    throw wrong('a row without an object `place`, such as `{ file, line }` or `{ path }`,');
  if (!isIssues(issues)) throw wrong('a row whose `issues` are not objects with the texts `code` and `message`');
  if (isGone !== undefined && typeof isGone !== 'boolean') throw wrong('a row whose `isGone` is not true or false');
  const found = Object.entries(fields).flatMap(([name, value]) => {
    const what = faultIn(value, 0);
    return what === null ? [] : [issueOf(name, what)];
  });
  if (found.length === 0) return row;
  // The values are stored as text, so that the row keeps its key and a person can see the given values.
  const kept = found.map(({ field = '' }): [string, string] => [
    field,
    textOf((fields as Record<string, unknown>)[field]),
  ]);
  return { ...row, fields: { ...fields, ...Object.fromEntries(kept) }, issues: [...(issues ?? []), ...found] };
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');

function isProgress(value: unknown): boolean {
  if (value === undefined) return true;
  return isObject(value) && Number.isFinite(value['done']) && Number.isFinite(value['total']);
}

function isIssues(value: unknown): boolean {
  const isTextOr = (one: unknown): boolean => one === undefined || typeof one === 'string';
  const isIssue = (one: unknown): boolean =>
    isObject(one) &&
    [one['code'], one['message']].every((text) => typeof text === 'string') &&
    [one['field'], one['cure']].every(isTextOr);
  return value === undefined || (Array.isArray(value) && value.every(isIssue));
}

function issueOf(field: string, what: string): Issue {
  return {
    code: 'row.value',
    message: `The connector gave ${what} for ${field}, but no export can have such a value.`,
    field,
    onlyField: true,
    cure: 'Correct the connector: it has to give text, a number, true, false, null, a list or a plain object.',
  };
}

/** Describes the first part of a value that JSON does not have; null if all of it is JSON. */
function faultIn(value: unknown, depth: number): string | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null;
    case 'number':
      return Number.isFinite(value) ? null : String(value);
    case 'object': {
      if (value === null) return null;
      if (depth > DEPTH_MAX) return `objects more than ${DEPTH_MAX} levels deep`;
      const prototype: unknown = Object.getPrototypeOf(value);
      if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
        return `a ${value.constructor?.name ?? 'special object'}`;
      }
      for (const inner of Object.values(value)) {
        const fault = faultIn(inner, depth + 1);
        if (fault !== null) return fault;
      }
      return null;
    }
    case 'undefined':
      return 'undefined';
    case 'bigint':
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
  }
}

function textOf(value: unknown): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  return typeof value === 'object' && value !== null ? `a ${value.constructor?.name ?? 'object'}` : String(value);
}

/** Gives the values of an iterable. After the signal it waits for the next value for a limited time only. */
async function* untilStopped<Value>(
  values: AsyncIterable<Value>,
  signal: AbortSignal,
  overdue: () => Error,
): AsyncGenerator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const stop = (): void => {
    timer = setTimeout(() => {
      isLate = true;
      reject(overdue());
    }, STOP_WITHIN_MS);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), late]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    // If the connector never answers, `return` would never resolve either.
    if (!isLate) await iterator.return?.();
  }
}
