import { RAW_FIELD } from '../../domain/record.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import type { Page, SourceRow } from '../connector.ts';
import { createPageBuffer } from '../page-buffer.ts';
import { damagedFields, damageIssue } from '../text-values.ts';
import type { ChildRow } from './child-rows.ts';
import { textOf } from './placeholders.ts';
import type { RestRead } from './read-pass.ts';
import { repeatedIssue } from './repeated-in-rows.ts';

const SHOWN_MAX = 1_000;

/** A row from an element of an answer. */
export function rowOf(
  { name, key }: Pick<RestRead, 'name' | 'key'>,
  { fields: value, lack, repeated }: ChildRow,
): SourceRow {
  if (!isJsonObject(value)) {
    const raw = JSON.stringify(value).slice(0, SHOWN_MAX);
    const message = `An element of the list is no object: ${raw.slice(0, 100)}.`;
    const cure = 'Correct `rows` of the stream.';
    return {
      fields: { [RAW_FIELD]: raw },
      place: { file: name, path: raw.slice(0, 100) },
      issues: [{ code: 'row.object', message, cure }],
    };
  }
  const path = key.map((column) => `${column}=${textOf(memberOf(value, column) ?? null)}`).join(', ');
  const row: SourceRow = { fields: value, place: { file: name, path } };
  const issues = damagedFields(value).map((field) => {
    const message = `Member ${field} holds text that was damaged before it was sent.`;
    return damageIssue({ field, message, cure: 'Correct the text in the source system.' }, value[field]);
  });
  if (lack !== null) issues.push({ code: 'row.parts', message: lack });
  if (repeated !== null) issues.push(repeatedIssue(repeated));
  const cut = cutListIn(value);
  if (cut !== null) {
    issues.push({
      code: 'row.parts',
      message: `The list ${cut} of this row has further elements, which the answer does not contain.`,
      cure: 'Ask for more elements in one answer, or read them as a stream of their own, or with `each`.',
    });
  }
  return issues.length === 0 ? row : { ...row, issues };
}

/**
 * The name of a list within a row that the server has cut: OData gives such a list the address of its further elements, and GraphQL
 * a `hasNextPage`. Null if there is none.
 */
function cutListIn(value: JsonValue): string | null {
  if (Array.isArray(value)) return firstOf(value, cutListIn);
  if (!isJsonObject(value)) return null;
  return firstOf(Object.entries(value), ([name, member]) => {
    const [, list] = /^(.+)@(?:odata\.)?nextLink$/.exec(name) ?? [];
    if (list !== undefined) return list;
    if (typeof member !== 'object') return null;
    return isJsonObject(member) && isCut(member) ? name : cutListIn(member);
  });
}

function isCut(list: JsonObject): boolean {
  const info = memberOf(list, 'pageInfo');
  if (info !== undefined && isJsonObject(info) && memberOf(info, 'hasNextPage') === true) return true;
  return typeof memberOf(list, '__next') === 'string' && Array.isArray(memberOf(list, 'results'));
}

function firstOf<One>(list: readonly One[], find: (one: One) => string | null): string | null {
  for (const one of list) {
    const found = find(one);
    if (found !== null) return found;
  }
  return null;
}

/** How much was read; empty if the server does not state the number of all rows. */
export type Progress = Pick<Page, 'progress'>;

/** Gathers rows into pages of bounded size. Each of them has the cursor of the read, until the end gives another one. */
export function createRowPages(cursor?: JsonValue) {
  const buffer = createPageBuffer();
  const own = cursor === undefined ? {} : { cursor };
  const taken = (): SourceRow[] => buffer.take({ done: 0, total: 0 }).rows;
  return {
    /** @param bytes how long the row is, approximately */
    *add(row: SourceRow, bytes: number, progress: Progress): Generator<Page> {
      if (buffer.add(row, bytes)) yield { rows: taken(), ...own, ...progress };
    },
    *flush(): Generator<Page> {
      if (!buffer.empty) yield { rows: taken(), ...own };
    },
    /** The last page. */
    *end(last: Pick<Page, 'cursor' | 'warnings' | 'progress'>): Generator<Page> {
      const page: Page = { rows: taken(), ...own, ...last };
      if (page.rows.length > 0 || page.cursor !== undefined || page.warnings !== undefined) yield page;
    },
  };
}
