// What a recording shows of an API: its rows, the form of its answers, and its other answers.

import assert from 'node:assert/strict';
import { isJsonObject, type JsonObject, type JsonValue, parseExactly } from '../../lib/json.ts';
import { listAt, valueAt } from '../document-path.ts';
import { type Exchange, RECORDED_ORIGIN } from '../rest/exchange.ts';
import { type ApiRequest, type RestApi, type RestFixtures, stepsOf, withoutMember } from './rest-api.ts';
import { asksState } from './rest-bulk.ts';
import type { ConnectorCheck } from './source-under-test.ts';

export interface RecordedParts {
  rows: readonly JsonObject[];
  document: JsonValue;
  answer: (request: ApiRequest) => JsonValue | undefined;
  /** True if a recording has answers to requests that are not for the list. */
  hasOtherAnswers: boolean;
}

/** The rows, the form of an answer, and the other answers for a server of the kit. */
export function recordedParts({ records, api, settings }: RestFixtures): RecordedParts {
  const { answer = () => undefined, document } = api;
  if (!('snapshot' in records)) return { rows: records, document: document ?? null, answer, hasOtherAnswers: false };
  const lists = listExchanges(records.snapshot, api);
  const key = settings('http://127.0.0.1:1').key ?? [];
  const rows = new Map<string, JsonObject>();
  for (const exchange of lists) {
    for (const row of rowsIn(exchange, api)) {
      rows.set(JSON.stringify(key.length === 0 ? row : key.map((column) => row[column] ?? null)), row);
    }
  }
  assert.ok(rows.size > 0, `The recording has no rows at ${api.rows} in answers of ${api.path}.`);
  const others = new Map(
    records.snapshot.filter((exchange) => !lists.includes(exchange)).map((one) => [identityOf(one.request), one]),
  );
  const first = lists[0] === undefined || api.page.by === 'bulkJob' ? null : documentOf(lists[0]);
  return {
    rows: [...rows.values()],
    hasOtherAnswers: api.page.by !== 'bulkJob' && others.size > 0,
    document: document ?? withoutDelta(first, api),
    answer: (request) => {
      const found = others.get(
        identityOf({
          method: request.method,
          origin: RECORDED_ORIGIN,
          path: pathOf(request),
          body: request.body === null ? '' : JSON.stringify(request.body),
        }),
      );
      return found === undefined ? answer(request) : documentOf(found);
    },
  };
}

/** Checks that `api` describes the recorded API. */
export function recordingChecks({ records, api }: RestFixtures): ConnectorCheck[] {
  if (!('snapshot' in records)) return [];
  return [
    {
      name: 'describes the API that was recorded',
      async run() {
        const lists = listExchanges(records.snapshot, api);
        assert.ok(lists.length > 0, `The recording has no answer of ${api.path}.`);
        for (const [at, exchange] of lists.entries()) {
          const what = `The recorded answer ${at + 1} of ${api.path}`;
          rowsIn(exchange, api);
          const document = documentOf(exchange);
          const { total, page } = api;
          if (typeof total === 'string') {
            assert.notEqual(
              valueAt(document, stepsOf(total)),
              undefined,
              `${what} has no number of all rows at ${total}.`,
            );
          } else if (total !== undefined) {
            assert.ok(total.header.toLowerCase() in exchange.answer.headers, `${what} has no header ${total.header}.`);
          }
          if (at === lists.length - 1) continue;
          const way = wayOn(page, document, exchange);
          assert.ok(
            way !== null && way !== undefined && way !== false,
            `${what} leads to no other page, and another one follows.`,
          );
        }
      },
    },
  ];
}

/** What leads to the next page. A kind without such a thing gives true. */
function wayOn(page: RestApi['page'], document: JsonValue, { answer }: Exchange): JsonValue | undefined {
  switch (page.by) {
    case 'nextLink':
    case 'cursor':
      return valueAt(document, stepsOf(page.next));
    case 'graphql':
      return valueAt(document, stepsOf(`${page.connection}.pageInfo.endCursor`));
    case 'header':
      return /rel="?next/.test(answer.headers['link'] ?? '');
    case 'none':
    case 'keyset':
    case 'offset':
    case 'page':
    case 'bulkJob':
      return true;
  }
}

function listExchanges(exchanges: readonly Exchange[], api: RestApi): Exchange[] {
  const { page, path } = api;
  // The rows of a job are in its file, whose address only the answers know.
  const isList = ({ request }: Exchange): boolean => {
    const at = new URL(request.path, RECORDED_ORIGIN).pathname;
    if (page.by !== 'bulkJob') return at === path;
    return at !== path && !asksState(page, { path: at, body: request.body === '' ? null : parseExactly(request.body) });
  };
  return exchanges.filter((exchange) => exchange.answer.status === 200 && isList(exchange));
}

function rowsIn(exchange: Exchange, api: RestApi): JsonObject[] {
  if (api.page.by === 'bulkJob') {
    const lines = exchange.answer.body.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => parseExactly(line)).filter(isJsonObject);
  }
  const at = api.page.by === 'graphql' && api.rows === '$' ? `${api.page.connection}.nodes` : api.rows;
  const list = listAt(documentOf(exchange), stepsOf(at));
  assert.ok(list !== undefined, `The recorded answer of ${exchange.request.path} has no list at ${at}.`);
  return list.filter(isJsonObject);
}

function withoutDelta(document: JsonValue, { changes }: RestApi): JsonValue {
  return changes?.deltaLink === undefined ? document : withoutMember(document, changes.deltaLink);
}

function documentOf({ answer }: Exchange): JsonValue {
  return parseExactly(answer.body);
}

function pathOf({ path, query }: ApiRequest): string {
  const url = new URL(path, RECORDED_ORIGIN);
  for (const [name, value] of Object.entries(query)) {
    url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return `${url.pathname}${url.search}`;
}

/** What distinguishes a request. The order and the encoding of parameters do not. */
function identityOf({ method, path, body }: Exchange['request']): string {
  const url = new URL(path, RECORDED_ORIGIN);
  url.searchParams.sort();
  return JSON.stringify([
    method,
    decodeURIComponent(url.pathname),
    [...url.searchParams],
    body === '' ? '' : parseExactly(body),
  ]);
}
