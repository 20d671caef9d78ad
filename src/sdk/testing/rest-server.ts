// A server that takes the place of a system: it has rows, and gives them as the API of the system does. A trap makes it do what real
// systems do to a reader.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type JsonObject, type JsonValue, parseIfJson } from '../../lib/json.ts';
import { textOf } from '../rest/placeholders.ts';
import type { ApiPaging, ApiRequest, RestApi } from './rest-api.ts';
import { inRequest, isAsked } from './rest-api.ts';
import { type ApiReply, type Behaviour, EXACT, EXACT_MARK } from './rest-behaviour.ts';
import { asksState, type BulkPaging, bulkAnswer, isFile } from './rest-bulk.ts';
import {
  answerOf,
  BadRequest,
  createTokens,
  LINK_AT,
  LINK_SINCE,
  type ListPaging,
  type PageParts,
  sizeAsked,
  startOf,
  tokenAt,
} from './rest-paging.ts';
import { type ApiRow, createApiRows } from './rest-rows.ts';

/** The clock of the server is behind ours, so that a reader which asks by its own clock misses changes. */
const BEHIND_MS = 1_000 * 86_400_000;
/** Each request takes so long by the clock of the server, so that a reader which asks from the end of its last read misses changes. */
const REQUEST_MS = 3_600_000;

/** A request of the server, in the words of its address. */
interface Incoming {
  request: ApiRequest;
  url: URL;
  identity: string;
}

export interface ApiServerSetup {
  api: RestApi;
  rows: readonly JsonObject[];
  document: JsonValue;
  /** Answers requests that are not for the list. */
  answer: (request: ApiRequest) => JsonValue | undefined;
}

export async function startApiServer({ api, rows: all, document, answer }: ApiServerSetup) {
  const now = (): number => Date.now() - BEHIND_MS + clock * REQUEST_MS;
  const rows = createApiRows(all, now);
  let behaviour: Behaviour = {};
  let tokens = createTokens();
  let logins = 0;
  let jobRows: JsonObject[] = [];
  let lastRows = 0;
  let requests = 0;
  let clock = 0;
  let former: ApiReply | null = null;
  let current: { page: number; reply: ApiReply } | null = null;
  const pages = new Map<string, { page: number; attempts: number }>();
  let fault: Error | null = null;

  function listAnswer({ request, url }: Incoming, page: number, attempt: number): ApiReply {
    const paging = pagingOf(request) as ListPaging;
    const since = sinceOf(request);
    const given = rowsSince(since).filter((row) => shownIn(request, [row]).length > 0);
    const list = since === null && behaviour.cap !== undefined ? given.slice(0, behaviour.cap) : given;
    const isOrdered = api.order === undefined || isAsked(api.order, request);
    const asked = sizeAsked(paging, request);
    const size = behaviour.size?.(page, asked) ?? asked;
    const own = startOf(paging, request, { list, all: rows, tokens, size: asked });
    const start = behaviour.start?.(page, attempt, own, size) ?? own;
    const found = (isOrdered ? list : turned(list, page)).slice(start, start + size);
    const isLast = start + size >= list.length;
    const isChanges = since !== null;
    const isCounted = api.totalAsked === undefined || isAsked(api.totalAsked, request);
    const parts: PageParts = {
      rows: shownIn(
        request,
        found.filter(({ isHidden }) => !isHidden),
      ),
      next: isLast ? null : tokenAt(paging, start + found.length, { list, tokens, isNew: found.length === 0 }),
      more: !isLast,
      total: isCounted ? list.filter(({ isHidden }) => !isHidden).length : undefined,
      deltaSince: isLast && api.changes?.deltaLink !== undefined ? opened(request, isChanges) : null,
    };
    behaviour.edit?.(parts, page);
    if (paging.by === 'none' || paging.by === 'keyset') parts.next = behaviour.edit === undefined ? null : parts.next;
    lastRows = parts.rows.length;
    const link = (name: string, value: string): string => {
      const to = new URL(url);
      to.searchParams.delete(LINK_AT);
      to.searchParams.set(name, value);
      return to.href;
    };
    return answerOf(api, paging, parts, { document, link });
  }

  function bulkReply(request: ApiRequest, page: number): ApiReply {
    const paging = api.page as BulkPaging;
    // The file has the rows of the time at which the job began.
    if (!isFile(request) && !asksState(paging, request)) jobRows = shownIn(request, rowsSince(sinceOf(request)));
    const of = { base: base(), rows: jobRows, page, edit: behaviour.edit };
    return bulkAnswer(paging, request, of);
  }

  /** Changes may have pages of their own. */
  const pagingOf = (request: ApiRequest): ApiPaging =>
    (api.changes?.page !== undefined && sinceOf(request) !== null ? api.changes.page : null) ?? api.page;

  /** When the read began to which a delta link belongs. */
  const begins = new Map<string, number>();
  function opened(request: ApiRequest, isChanges: boolean): number {
    return begins.get(isChanges ? textOf(request.query[LINK_SINCE] ?? '') : '') ?? now();
  }

  const rowsSince = (since: number | null): ApiRow[] => (since === null ? rows.there() : rows.changedSince(since));
  /** Rows as an answer to the request has them. */
  function shownIn(request: ApiRequest, list: readonly ApiRow[]): JsonObject[] {
    return list
      .map(({ isGone, fields }) => {
        if (isGone) return api.changes?.gone?.(fields) ?? null;
        return api.given === undefined ? fields : api.given(fields, request);
      })
      .filter((fields) => fields !== null);
  }

  /** The time since which a request asks for changes; null if it asks for everything. */
  function sinceOf(request: ApiRequest): number | null {
    const link = request.query[LINK_SINCE];
    if (link !== undefined) return Number(link);
    const { since, timeOf = timeIn } = api.changes ?? {};
    const text = since === undefined ? undefined : inRequest(request, since);
    return text === undefined || text === null ? null : timeOf(textOf(text));
  }

  function answered(incoming: Incoming): ApiReply {
    const { request, identity } = incoming;
    const { login } = api;
    if (login !== undefined && request.path === login.path) {
      logins += 1;
      return { document: login.answer(tokenOf(logins)) };
    }
    const paging = pagingOf(request);
    const isOfJob = paging.by === 'bulkJob' && (isFile(request) || asksState(paging, request));
    if (request.path !== api.path && !isOfJob) {
      const other = answer(request);
      return other === undefined ? { status: 404, document: { error: `no ${request.path}` } } : { document: other };
    }
    const known = pages.get(identity) ?? { page: pages.size + 1, attempts: 0 };
    known.attempts += 1;
    pages.set(identity, known);
    const { page, attempts } = known;
    if (attempts === 1) behaviour.before?.(page, rows, paging.by === 'bulkJob' ? 1 : sizeAsked(paging, request));
    if (behaviour.loginEndsAt === page && attempts === 1) {
      if (login === undefined) behaviour = { ...behaviour, reply: () => ({ status: 401, document: {} }) };
      else logins += 1;
    }
    const header = request.headers[login?.header ?? 'authorization'];
    const isLoggedIn = login === undefined || textOf(header ?? '').includes(tokenOf(logins));
    if (!isLoggedIn && !isFile(request)) return { status: 401, document: {} };
    if (request.query[LINK_SINCE] !== undefined && behaviour.changesStatus !== undefined)
      return { status: behaviour.changesStatus, document: {} };
    if (page === 1 && attempts === 1) begins.set(textOf(request.query[LINK_SINCE] ?? ''), now());
    const own = paging.by === 'bulkJob' ? bulkReply(request, page) : listAnswer(incoming, page, attempts);
    if (current !== null && current.page !== page) former = current.reply;
    const reply = behaviour.reply?.(page, attempts, { answer: own, former, rows: lastRows }) ?? own;
    current = { page, reply };
    return reply;
  }

  const server = createServer((request, response) => {
    requests += 1;
    clock += 1;
    incomingOf(request, base()).then(
      (incoming) => {
        let reply: ApiReply;
        try {
          reply = answered(incoming);
        } catch (error) {
          if (!(error instanceof BadRequest)) fault ??= error as Error;
          reply = { status: 400, document: { error: String(error) } };
        }
        send(response, reply, new Date(now()));
      },
      () => request.socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    base: base(),
    rows,
    /** When the last read began, by the clock of the server. */
    begun: (): number => begins.get('') ?? now(),
    /** Counts pages from the beginning again, and behaves like this. */
    behave(as: Behaviour): void {
      behaviour = as;
      tokens = createTokens(as.tokens);
      pages.clear();
      former = null;
      current = null;
      requests = 0;
    },
    requests: (): number => requests,
    /** How many different requests for pages came. */
    pages: (): number => pages.size,
    /** @throws what has failed in the server itself, such as a path of `api` that leads nowhere */
    assertSound(): void {
      if (fault !== null) throw fault;
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type ApiServer = Awaited<ReturnType<typeof startApiServer>>;

/** Rows in an order that differs from page to page, as databases give rows that nobody has sorted. */
function turned(list: readonly ApiRow[], page: number): ApiRow[] {
  const first = (page * 7) % Math.max(list.length, 1);
  return [...list.slice(first), ...list.slice(0, first)];
}

const tokenOf = (number: number): string => `a-token-of-the-kit-${number}`;

async function incomingOf(request: IncomingMessage, base: string): Promise<Incoming> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const url = new URL(request.url ?? '/', base);
  const method = request.method ?? 'GET';
  const query: JsonObject = {};
  for (const [name, value] of url.searchParams)
    query[name] = /^[[{]/.test(value) ? (parseIfJson(value) ?? value) : value;
  return {
    url,
    identity: `${method} ${url.href}\n${text}`,
    request: {
      method,
      path: decodeURIComponent(url.pathname),
      query,
      body: text === '' ? null : (parseIfJson(text) ?? text),
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
      ),
    },
  };
}

function send(
  response: ServerResponse,
  { status = 200, headers = {}, document = null, text, isCut }: ApiReply,
  date: Date,
): void {
  const bytes = Buffer.from((text ?? JSON.stringify(document)).replaceAll(`"${EXACT_MARK}"`, EXACT));
  const type = text === undefined ? 'application/json' : 'application/jsonl';
  const all = { 'content-type': type, 'content-length': bytes.length, date: date.toUTCString() };
  response.writeHead(status, { ...all, ...headers });
  if (isCut !== true) response.end(bytes);
  else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

/** The first time in a text, in milliseconds since the epoch. A time without a zone is in UTC. */
function timeIn(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * (text.length > 11 ? 1 : 1_000);
  const [, day = '', time = '00:00', zone = 'Z'] =
    /(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?/.exec(text) ?? [];
  const at = Date.parse(`${day}T${time}${zone}`);
  if (Number.isNaN(at)) throw new BadRequest(`There is no time in ${text}. Give \`timeOf\`.`);
  return at;
}
