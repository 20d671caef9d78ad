// How the options of a stream have to fit together.

import type { z } from 'zod';
import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { placeholdersIn } from './placeholders.ts';
import { hasPositions } from './request-parts.ts';
import type { RestStream } from './rest-options.ts';

/** Checks that the parts of a stream fit together. */
export function checkStream(stream: RestStream, context: z.core.$RefinementCtx): void {
  const add = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { page, changes, reconcile, each } = stream;
  if (changes !== undefined && changes.gone === undefined && reconcile === undefined) {
    add(['reconcile'], 'a time such as 7d, because `changes` do not show which records are gone');
  }
  if (changes === undefined && reconcile !== undefined)
    add(['reconcile'], 'only with `changes`: every other read is complete');
  if (page.by === 'bulkJob' && (each !== undefined || (changes !== undefined && 'deltaLink' in changes))) {
    add(['page'], '`bulkJob` without `each` and `deltaLink`');
  }
  const ofRow = placeholdersIn({ ...each } as unknown as JsonValue).find((name) => !name.startsWith('row.'));
  if (ofRow !== undefined)
    add(['each'], `only placeholders with values of the row, such as {{row.id}}, in place of {{${ofRow}}}`);
  checkRequest(stream, add);
  const own = changes !== undefined && 'by' in changes ? changes.page : undefined;
  if (own === undefined) return;
  // Changes have the request of the stream with another kind of pages, so its parts have to fit both.
  checkRequest({ ...stream, page: own }, (path, message) =>
    add(path[0] === 'page' ? ['changes', ...path] : path, message),
  );
}

/** What stands for the place of a page in its request. */
const PLACE_OF: Readonly<Record<string, string>> = {
  offset: 'offset',
  page: 'page',
  cursor: 'cursor',
  keyset: 'after',
};

/** Checks that each part of a request has only placeholders that have a value there, and the one without which it would not go on. */
function checkRequest({ get, query, body, headers, page, changes }: RestStream, add: Add): void {
  const size = 'size' in page && page.size !== undefined ? ['size'] : [];
  const place = PLACE_OF[page.by];
  const isCounted = page.by === 'offset' || page.by === 'page';
  const own = place === undefined ? [] : [place];
  checkPlaceholders(get, [], ['get'], add);
  const parts = { query, body };
  for (const [part, value] of Object.entries(parts))
    checkPlaceholders(value, isCounted ? [...own, ...size] : size, [part], add);
  checkPlaceholders(headers, size, ['headers'], add);
  const later = (page.by === 'cursor' || page.by === 'keyset' ? page : {}) as Pick<
    RestStream,
    'query' | 'body' | 'headers'
  >;
  const since: Pick<RestStream, 'query' | 'body' | 'headers'> = changes !== undefined && 'by' in changes ? changes : {};
  for (const part of ['query', 'body', 'headers'] as const) {
    checkPlaceholders(later[part], [...own, ...size], ['page', part], add);
    checkPlaceholders(since[part], ['since', ...size], ['changes', part], add);
  }
  for (const [name, { body: added }] of Object.entries({ page: later, changes: since }))
    checkPositions(body, added, [name, 'body'], add);
  const used = placeholdersIn([isCounted ? parts : later] as unknown as JsonValue);
  if (place !== undefined && !used.includes(place)) {
    add(
      [isCounted ? 'query' : 'page'],
      `{{${place}}} in ${isCounted ? '`query` or `body`' : '`query`, `body` or `headers` of `page`'}, which asks for the next page`,
    );
  }
  if (changes !== undefined && 'by' in changes && !placeholdersIn(since as unknown as JsonValue).includes('since')) {
    add(['changes'], '{{since}} in `query`, `body` or `headers` of `changes`, which asks for the changes');
  }
}

/** Checks that parts which are added to a list by position have an element there. A misplaced filter would be no filter. */
function checkPositions(value: JsonValue | undefined, added: JsonValue | undefined, path: string[], add: Add): void {
  if (value === undefined || added === undefined || !isJsonObject(added)) return;
  const isByPosition = Array.isArray(value) && hasPositions(added);
  for (const [name, member] of Object.entries(added)) {
    const own = isByPosition ? value[Number(name)] : isJsonObject(value) ? memberOf(value, name) : undefined;
    if (isByPosition && own === undefined)
      add([...path, name], `a position from 0 to ${value.length - 1} of the list in \`body\` of the stream`);
    checkPositions(own, member, [...path, name], add);
  }
}

type Add = (path: (string | number)[], message: string) => void;

function checkPlaceholders(value: JsonValue | undefined, names: readonly string[], path: string[], add: Add): void {
  for (const name of placeholdersIn(value ?? null)) {
    if (names.includes(name)) continue;
    const allowed = names.length === 0 ? 'no placeholder' : names.map((one) => `{{${one}}}`).join(', ');
    add(path, `${allowed} in place of {{${name}}}`);
  }
}
