// An OData server of the test, version 2 or 4, which behaves as the protocol and the systems that speak it say: pages that the server
// cuts, `$filter` on the time of the last change, counts, `$expand`, and delta links with tombstones.

import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { createODataSet, filterOf, type ODataSet, type StoredRow } from './odata-set.ts';
import { type RestCall, type RestReply, startRestServer } from './rest-server.ts';

export interface ODataSetOptions {
  version: 2 | 4;
  key: readonly string[];
  /** The member with the time of the last change, which the server writes. */
  changedAt: string;
  /** Members that only `$expand` shows. */
  parts?: readonly string[];
  /** What follows if a request asks for delta links: a link, nothing, or the refusal of Business Central. */
  delta?: 'link' | 'none' | 'refused';
  /** The address by which a tombstone names its entity. Without it the tombstone has the key alone. */
  entityId?: (key: string) => string;
}

export interface ODataServerOptions {
  /** The entity sets, by their paths. */
  sets: Record<string, ODataSetOptions>;
  /** The most rows of a page. */
  pageRows: number;
  /** What the server counts from in the address of the next page: the key of the last row, or the number of rows. */
  token?: 'key' | 'offset';
  /** The answer to a request before it is read, such as the refusal of a login; null lets it pass. */
  before?: (call: RestCall) => RestReply | null;
}

const START = Date.parse('2026-03-01T08:00:00Z');

export async function startODataServer(options: ODataServerOptions) {
  const { pageRows, token = 'key' } = options;
  const clock = { now: START };
  /** Delta links with an older position are forgotten. */
  let oldest = 0;
  const sets = new Map<string, ODataSet>();
  for (const [path, { version, key, changedAt }] of Object.entries(options.sets)) {
    const set = createODataSet(
      (fields) => key.map((column) => fields[column] as string).join('/'),
      () => clock.now,
    );
    const put = (fields: JsonObject): void => set.put({ ...fields, [changedAt]: timeOf(version, clock.now) });
    sets.set(path, { ...set, put });
  }
  const timeOf = (version: 2 | 4, at: number): string =>
    version === 2 ? `/Date(${at}+0000)/` : new Date(at).toISOString().replace('.000Z', 'Z');

  function setAt(path: string): ODataSet {
    const set = sets.get(path);
    if (set === undefined) throw new Error(`The test has no entity set ${path}.`);
    return set;
  }

  function envelope(
    { version }: ODataSetOptions,
    value: JsonValue[],
    { count, next, delta }: { count?: number; next?: string; delta?: string },
  ) {
    if (version === 2) {
      const stated = count === undefined ? {} : { __count: String(count) };
      return { d: { results: value, ...stated, ...(next && { __next: next }) } };
    }
    const stated = count === undefined ? {} : { '@odata.count': count };
    return {
      ...stated,
      value,
      ...(next && { '@odata.nextLink': next }),
      ...(delta && { '@odata.deltaLink': delta }),
    };
  }

  /** A row without the parts that the request does not expand. */
  function shown(
    fields: JsonObject,
    { version, parts = [] }: ODataSetOptions,
    expanded: readonly string[],
  ): JsonObject {
    const row = { ...fields };
    for (const part of parts.filter((name) => !expanded.includes(name))) {
      if (version === 2) row[part] = { __deferred: { uri: `${server.base}/deferred` } };
      else delete row[part];
    }
    return row;
  }

  function answer(call: RestCall): RestReply {
    const early = options.before?.(call) ?? null;
    if (early !== null) return early;
    const { query, base } = call;
    const path = call.path.slice(1);
    const own = options.sets[path];
    const set = sets.get(path);
    if (own === undefined || set === undefined) return refused(404, `Resource not found for the segment '${path}'.`);
    const prefer = String(call.headers['prefer'] ?? '');
    const isTracked = prefer.includes('odata.track-changes');
    if (isTracked && own.delta === 'refused') return refused(500, 'Entity does not support delta requests');
    const size = Math.min(Number(/maxpagesize=(\d+)/.exec(prefer)?.[1] ?? pageRows), pageRows);
    const address = (changes: Record<string, string>): string => {
      const kept = new URLSearchParams(query);
      for (const [name, value] of Object.entries(changes)) kept.set(name, value);
      return `${base}${call.path}?${kept.toString()}`;
    };
    const deltaToken = query.get('$deltatoken');
    if (deltaToken !== null) return changesAfter(set, deltaToken, { own, size, call, address });

    const rows = set.rows().filter(filterOf(query.get('$filter'), own));
    if (query.has('$skip') && !query.has('$orderby'))
      throw new Error('Without $orderby the order is another each time.');
    const from = Number(query.get('$skip') ?? 0);
    const top = Number(query.get('$top') ?? Number.POSITIVE_INFINITY);
    // The changes that a delta link leads to are those after the first request.
    const [after, position = String(set.position())] = (query.get('$skiptoken') ?? '').split('~');
    const begin = after === '' || after === undefined ? from : token === 'offset' ? Number(after) : behind(rows, after);
    const page = rows.slice(begin, begin + Math.min(size, top));
    const hasMore = top === Number.POSITIVE_INFINITY && begin + page.length < rows.length;
    const last = token === 'offset' ? String(begin + page.length) : (page.at(-1)?.key ?? '');
    const isCounted = query.get('$count') === 'true' || query.get('$inlinecount') === 'allpages';
    const expanded = query.get('$expand')?.split(',') ?? [];
    const hasDelta = !hasMore && isTracked && own.delta === 'link';
    return reply(
      envelope(
        own,
        page.map(({ fields }) => shown(fields, own, expanded)),
        {
          ...(isCounted ? { count: rows.length } : {}),
          ...(hasMore ? { next: address({ $skiptoken: `${last}~${position}` }) } : {}),
          ...(hasDelta ? { delta: `${base}${call.path}?$deltatoken=${position}` } : {}),
        },
      ),
    );
  }

  function changesAfter(
    set: ODataSet,
    deltaToken: string,
    {
      own,
      size,
      call,
      address,
    }: { own: ODataSetOptions; size: number; call: RestCall; address: (changes: Record<string, string>) => string },
  ): RestReply {
    const [from = 0, end = set.position()] = deltaToken.split('~').map(Number);
    if (from < oldest) {
      return {
        ...refused(410, 'The delta token is no longer valid.'),
        headers: { location: `${call.base}${call.path}` },
      };
    }
    const all = set.since(from);
    const page = all.slice(0, size);
    const expanded = own.parts ?? [];
    const hasMore = page.length < all.length;
    const rows = page.map(({ key, fields }): JsonObject => {
      if (fields !== null) return shown(fields, own, expanded);
      const context = `${call.base}/$metadata#${call.path.slice(1)}/$deletedEntity`;
      return { '@odata.context': context, id: own.entityId?.(key) ?? key, reason: 'deleted' };
    });
    const next = address({ $deltatoken: `${page.at(-1)?.position ?? from}~${end}` });
    const delta = `${call.base}${call.path}?$deltatoken=${end}`;
    return reply(envelope(own, rows, hasMore ? { next } : own.delta === 'link' ? { delta } : {}));
  }

  const reply = (body: unknown): RestReply => ({ body, headers: { date: new Date(clock.now).toUTCString() } });
  const refused = (status: number, message: string): RestReply => ({
    status,
    body: { error: { code: String(status), message } },
  });

  const server = await startRestServer((call) => {
    try {
      return answer(call);
    } catch (error) {
      return refused(400, (error as Error).message);
    }
  });
  return {
    server,
    set: setAt,
    /** The time of the server goes on. */
    advance(ms: number): void {
      clock.now += ms;
    },
    /** From now on the delta links that were given until now are answered with 410. */
    forgetDeltaLinks(): void {
      oldest = Math.max(...[...sets.values()].map((set) => set.position()), 0);
    },
  };
}

export type ODataServer = Awaited<ReturnType<typeof startODataServer>>;

/** The number of rows until the one with this key, which may be gone. */
function behind(rows: readonly StoredRow[], key: string): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.key ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
