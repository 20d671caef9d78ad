import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import { createClassifier } from '../../../src/api/answers/classify.ts';
import { readListing } from '../../../src/api/listing/listing.ts';
import { createListingPath, type KnownPaging, NOTHING_KNOWN } from '../../../src/api/listing/paging-ways.ts';
import { itemShape } from '../../../src/api/target.ts';
import type { Exchange } from '../../../src/api/transport.ts';
import type { ListOptions, RemoteItem } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { canonicalJson } from '../../../src/lib/json.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import type { AnswerHeaders } from '../../../src/lib/retry-after.ts';

const ORIGIN = 'https://dpp.example.com';
const PATH = '/api/products/';
const clean = createCleanText(createSecretStore());

const PATHS = {
  idPaths: ['id', 'data.id'],
  naturalKeyFields: ['sku', 'name'],
  itemsAt: Profile.parse({}).list.itemsAt,
  wireNames: new Map([['sku', 'sku']]),
};

type Page = { body: unknown; headers?: AnswerHeaders; status?: number };

interface Options {
  prefix?: string;
  query?: string;
  list?: z.input<typeof Profile>['list'];
  known?: KnownPaging;
  from?: ListOptions['from'];
}

/** Lists from a function that answers each path, in virtual time. */
async function list(serve: (path: string, url: URL) => Page, options: Options = {}) {
  const settings = Profile.parse({ list: options.list ?? {} }).list;
  const positions: string[] = [];
  const waits: number[] = [];
  const clock: Clock = {
    now: () => 0,
    ticks: () => 0,
    sleep: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  };
  const items: RemoteItem[] = [];
  const asked: string[] = [];
  const result = await readListing({
    read: (path) => {
      asked.push(path);
      const { body, headers = {}, status = 200 } = serve(path, new URL(ORIGIN + path));
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const exchange: Exchange = { kind: 'answer', status, headers, body: text, cut: null };
      return Promise.resolve(exchange);
    },
    classifier: createClassifier({ clean, now: () => 0, unprocessed: [] }),
    clock,
    random: () => 0.5,
    shape: itemShape({ ...PATHS, entryAt: null }, clean),
    places: settings,
    list: settings,
    path: createListingPath({
      baseUrl: { origin: ORIGIN, prefix: options.prefix ?? '' },
      endpointPath: PATH,
      query: options.query ?? '',
    }),
    holdsSecret: (path) => path.includes('the-key'),
    known: options.known ?? structuredClone(NOTHING_KNOWN),
    onPage: (page, position) => {
      items.push(...page);
      positions.push(position);
    },
    from: options.from,
  });
  const reason = result.complete || !('detail' in result.outcome) ? '' : result.outcome.detail.message;
  return {
    result,
    complete: result.complete,
    reason,
    items,
    ids: items.map(({ remoteId }) => remoteId),
    asked,
    waits,
    positions,
  };
}

const entry = (id: number | string) => ({ id, sku: `SKU-${id}`, name: 'x' });

/** Every style of paging that the design names, over a list of entries. */
const STYLES: Record<string, (all: unknown[], size: number) => (path: string, url: URL) => Page> = {
  'DRF with absolute links': (all, size) => (_path, url) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    const more = page * size < all.length;
    const next = more ? `http://internal:8000${PATH}?page=${page + 1}` : null;
    return { body: { count: all.length, next, previous: null, results: all.slice((page - 1) * size, page * size) } };
  },
  'DRF cursors': (all, size) => (_path, url) => {
    const at = Number(url.searchParams.get('cursor') ?? '0');
    const next = at + size < all.length ? `${ORIGIN}${PATH}?cursor=${at + size}` : null;
    return { body: { next, previous: null, results: all.slice(at, at + size) } };
  },
  'a bare array': (all) => () => ({ body: all }),
  'a data envelope': (all) => () => ({ body: { data: all } }),
  'an items envelope with a query as next': (all, size) => (_path, url) => {
    const at = Number(url.searchParams.get('offset') ?? '0');
    const next = at + size < all.length ? `?offset=${at + size}` : '';
    return { body: { items: all.slice(at, at + size), next } };
  },
  'a cursor token beside the items': (all, size) => (_path, url) => {
    const at = Number(url.searchParams.get('cursor')?.slice(1) ?? '0');
    const next = at + size < all.length ? `c${at + size}` : null;
    return { body: { data: all.slice(at, at + size), meta: { next_cursor: next, total: all.length } } };
  },
  'a Link header': (all, size) => (_path, url) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    const link = `<${ORIGIN}${PATH}?page=1>; rel="first", <${ORIGIN}${PATH}?page=${page + 1}>; title="a, b"; rel="next"`;
    const body = all.slice((page - 1) * size, page * size);
    return { body, headers: page * size < all.length ? { link } : {} };
  },
  'numbered pages with a count': (all, size) => (_path, url) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    return { body: { total: all.length, items: all.slice((page - 1) * size, page * size) } };
  },
  'numbered pages of so many': (all, size) => (_path, url) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    const pagination = { page, total_pages: Math.max(1, Math.ceil(all.length / size)) };
    return { body: { data: all.slice((page - 1) * size, page * size), pagination } };
  },
  'links in a member of their own': (all, size) => (_path, url) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    const links = page * size < all.length ? { next: { href: `${PATH}?page=${page + 1}` } } : { next: null };
    return { body: { data: all.slice((page - 1) * size, page * size), _links: links } };
  },
};

/** The entries of a numbered page, and whether there are more after it. */
function numbered(all: unknown[], size: number, url: URL, { name = 'page', first = 1 } = {}) {
  const number = Number(url.searchParams.get(name) ?? first);
  const at = (number - first) * size;
  return { number, rows: all.slice(at, at + size), more: at + size < all.length };
}

/** The same for a list whose pages are found by a cursor; `name` is the parameter of the cursor. */
function cut(all: unknown[], size: number, url: URL, name: string) {
  const at = Number(url.searchParams.get(name) ?? '0');
  const more = at + size < all.length;
  return { rows: all.slice(at, at + size), more, token: more ? `${at + size}` : null };
}

Object.assign(STYLES, {
  'hasMore without a way': (all, size) => (_path, url) => {
    const { rows, more } = numbered(all, size, url);
    return { body: { items: rows, hasMore: more } };
  },
  'pages from 0 that say has_more': (all, size) => (_path, url) => {
    const { rows, more } = numbered(all, size, url, { first: 0 });
    return { body: { items: rows, has_more: more } };
  },
  'offsets that say has_next': (all, size) => (_path, url) => {
    const { rows, more } = cut(all, size, url, 'offset');
    return { body: { data: rows, pagination: { has_next: more } } };
  },
  'totalPages alone': (all, size) => (_path, url) => {
    const { rows } = numbered(all, size, url);
    return { body: { items: rows, totalPages: Math.ceil(all.length / size) } };
  },
  Spring: (all, size) => (_path, url) => {
    const { rows, more, number } = numbered(all, size, url, { first: 0 });
    const totalPages = Math.ceil(all.length / size);
    return {
      body: { content: rows, number, size, totalPages, totalElements: all.length, first: number === 0, last: !more },
    };
  },
  "Spring's paged model": (all, size) => (_path, url) => {
    const { rows, number } = numbered(all, size, url, { first: 0 });
    const page = { number, size, totalPages: Math.ceil(all.length / size), totalElements: all.length };
    return { body: { content: rows, page } };
  },
  Relay: (all, size) => (_path, url) => {
    const { rows, more, token } = cut(all, size, url, 'after');
    const edges = rows.map((node, index) => ({ cursor: `${index}`, node }));
    return { body: { edges, pageInfo: { hasNextPage: more, endCursor: token ?? 'end' } } };
  },
  OData: (all, size) => (_path, url) => {
    const { rows, more, token } = cut(all, size, url, '$skiptoken');
    const next = { '@odata.nextLink': `${ORIGIN}${PATH}?$skiptoken=${token}` };
    return { body: { '@odata.context': '$metadata', '@odata.count': all.length, value: rows, ...(more && next) } };
  },
  'next_page as a number': (all, size) => (_path, url) => {
    const { rows, more, number } = numbered(all, size, url);
    return { body: { data: rows, meta: { next_page: more ? number + 1 : null } } };
  },
  'X-Next-Page': (all, size) => (_path, url) => {
    const { rows, more, number } = numbered(all, size, url);
    return { body: rows, headers: { 'x-next-page': more ? String(number + 1) : '' } };
  },
  'X-Total-Count alone': (all, size) => (_path, url) => {
    const { rows } = numbered(all, size, url);
    return { body: rows, headers: { 'x-total-count': String(all.length) } };
  },
  'a cursor in camel case under another parameter': (all, size) => (_path, url) => {
    const { rows, token } = cut(all, size, url, 'nextCursor');
    return { body: { items: rows, nextCursor: token } };
  },
  'a cursor that is absent at the end': (all, size) => (_path, url) => {
    const { rows, more, token } = cut(all, size, url, 'pageToken');
    return { body: { items: rows, ...(more && { nextPageToken: token }), count: all.length } };
  },
  'full pages and not a word': (all, size) => (_path, url) => ({ body: numbered(all, size, url).rows }),
  'not a word, pages from 0': (all, size) => (_path, url) => ({
    body: { data: numbered(all, size, url, { first: 0 }).rows },
  }),
  'not a word, and 404 past the end': (all, size) => (_path, url) => {
    const { rows, number } = numbered(all, size, url, { name: 'pageNumber' });
    return rows.length === 0 && number > 1 ? { body: {}, status: 404 } : { body: rows };
  },
  'not a word, by offset': (all, size) => (_path, url) => ({ body: cut(all, size, url, 'skip').rows }),
  'a count of each page': (all, size) => (_path, url) => {
    const { rows } = numbered(all, size, url);
    return { body: { count: rows.length, results: rows } };
  },
} satisfies typeof STYLES);

describe.each(Object.entries(STYLES))('a listing as %s', (_name, style) => {
  it('a listing is read to its end in each style of pages, each entry once', async () => {
    const catalogue = fc.uniqueArray(fc.oneof(fc.nat(), fc.uuid()), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(catalogue, fc.integer({ min: 1, max: 12 }), async (ids, size) => {
        const { complete, reason, items } = await list(style(ids.map(entry), size));
        expect(reason).toBe('');
        expect(complete).toBe(true);
        expect(items).toEqual(
          ids.map((id) => ({ remoteId: id, naturalKey: `SKU-${id}`, fields: { sku: `SKU-${id}` } })),
        );
      }),
      { numRuns: 60 },
    );
  });
});

it('a listing gives fields that canonical JSON can express, whatever the platform has put into them', async () => {
  const body = `[{"id":1,"sku":"cut \\ud83d"},{"id":2,"sku":1e999},{"id":3,"sku":${'['.repeat(5_000)}${']'.repeat(5_000)}}]`;
  const { complete, items } = await list((_path, url) => ({ body: url.searchParams.size > 1 ? [] : body }));
  expect(complete).toBe(true);
  const [cut, infinite] = items.map(({ fields }) => fields);
  expect(cut).toEqual({ sku: 'cut \ufffd' });
  expect(infinite).toEqual({ sku: null });
  expect(() => items.map(({ fields }) => canonicalJson(fields))).not.toThrow();
});

describe('the next page', () => {
  it('the next page of a listing is asked for on the configured origin, below the configured prefix', async () => {
    for (const next of [
      `https://evil.example${PATH}?page=2`,
      `//evil.example${PATH}?page=2`,
      `/gw/dpp${PATH}?page=2`,
    ]) {
      const serve = (path: string): Page => ({
        body: {
          count: 2,
          ...(path.includes('page=2') ? { results: [entry(2)], next: null } : { results: [entry(1)], next }),
        },
      });
      const { complete, asked } = await list(serve, { prefix: '/gw/dpp', query: 'page_size=1' });
      expect(complete, next).toBe(true);
      expect(asked).toEqual([`/gw/dpp${PATH}?page_size=1`, `/gw/dpp${PATH}?page=2`]);
    }
  });

  it.each([
    `${ORIGIN}/api/materials/?page=2`,
    `${PATH}../api-keys/1/`,
    `${PATH}..%2f..%2fadmin?page=2`,
    `${PATH}..%2F..%2Fadmin`,
    `${PATH}%252e%252e%252fadmin`,
    `${PATH}..\\..\\admin`,
    `${PATH}7/`,
    `${PATH};page=2`,
    `${PATH}%2e%2e/api-keys/1/`,
    '/login?next=/api/products/',
    'javascript:alert(1)/',
    'http://[bad/',
  ])('a next page outside of the listing makes it incomplete: %s', async (next) => {
    const { complete, reason, asked } = await list(() => ({ body: { results: [entry(1)], next } }));
    expect(complete).toBe(false);
    expect(reason).toMatch(/^The listing cannot be relied on: its link to the next page leads to another path/);
    expect(asked).toHaveLength(1);
  });

  it.each([{ next: `${PATH}?page=2&key=the-key` }, { next_cursor: 'x-the-key' }])(
    'a next page whose address contains a secret makes the listing incomplete, and is not stored: %j',
    async (words) => {
      const { complete, reason, asked, positions } = await list((_path, url) => ({
        body: { results: [entry(url.search === '' ? 1 : 2)], ...(url.search === '' && words) },
      }));
      expect(complete).toBe(false);
      expect(reason).toMatch(/contains the API key, or 16 characters of a secret/);
      expect(positions).toEqual([]);
      expect(asked.length).toBeLessThanOrEqual(2);
    },
  );

  it('a next page that was read before makes the listing incomplete', async () => {
    const { reason } = await list((_path, url) => ({
      body: { results: [entry(url.searchParams.get('page') ?? '1')], next: `${PATH}?page=2` },
    }));
    expect(reason).toMatch(/leads back/);
  });

  it('a listing ends where the API gives new links for ever', async () => {
    let page = 0;
    const { complete, reason } = await list(() => {
      page += 1;
      return { body: { results: [], next: `?page=${page}` } };
    });
    expect(complete).toBe(false);
    expect(reason).toMatch(/more than 100000 pages/);
  });
});

describe('a listing is incomplete', () => {
  const reasonOf = async (body: unknown, status = 200) => (await list(() => ({ body, status }))).reason;

  it('a listing is incomplete when the API counted more than it gave, as unordered pages do', async () => {
    const { complete, reason } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      const results = second ? [entry(2), entry(3)] : [entry(1), entry(2)];
      return { body: { count: 4, next: second ? null : '?page=2', results } };
    });
    expect(complete).toBe(false);
    expect(reason).toMatch(/counted 4 entries, and gave 3 different ones/);
  });

  it('a listing is incomplete when items were deleted on the way', async () => {
    const { reason } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      return { body: { count: second ? 2 : 3, next: second ? null : '?page=2', results: [entry(second ? 3 : 1)] } };
    });
    expect(reason).toMatch(/deleted/);
  });

  it('a listing is incomplete when a server does not know page numbers and gives its first page again', async () => {
    expect(await reasonOf({ total: 3, items: [entry(1), entry(2)] })).toMatch(
      /more pages, but no way of paging that was tried leads to them.*list\.paging/,
    );
  });

  it('a listing is incomplete when entries carry no id, there is more without a way to it, or the body is no list', async () => {
    expect(await reasonOf([{ sku: 'A' }])).toMatch(/1 of its entries carry no id; .*`idPaths`/);
    expect(await reasonOf({ data: [entry(1)], has_more: true })).toMatch(/there are more pages/);
    for (const body of ['<html>', '']) expect(await reasonOf(body)).toMatch(/it is not a list\./);
    for (const body of ['7', 'null', { results: 'none' }, {}]) {
      expect(await reasonOf(body)).toMatch(/it is not a list; .*`list\.itemsAt`/);
    }
  });

  it('a listing is incomplete when it is answered without a body, which is no outage', async () => {
    const { result } = await list(() => ({ body: '', status: 204 }));
    expect(result).toMatchObject({ complete: false, outcome: { kind: 'ambiguous', atWork: true } });
  });

  it('a listing is incomplete when it is refused, and then says by what', async () => {
    const { result, asked } = await list(() => ({ body: { detail: 'No.' }, status: 403 }));
    expect(result).toMatchObject({ complete: false, outcome: { kind: 'denied', by: 'scope' } });
    expect(asked).toHaveLength(1);
  });
});

describe('a listing stays complete', () => {
  it('a listing stays complete when items are created on the way and shift the pages', async () => {
    const { complete, ids } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      const results = second ? [entry(3), entry(2), entry(1)] : [entry(4), entry(3)];
      return { body: { count: second ? 5 : 4, next: second ? null : '?page=2', results } };
    });
    expect(complete).toBe(true);
    expect(new Set(ids)).toEqual(new Set([1, 2, 3, 4]));
  });

  it('a listing stays complete when a page fails for a while, and waits as long as the answer asks', async () => {
    let tries = 0;
    const { complete, waits } = await list(() => {
      tries += 1;
      if (tries === 1) return { body: '', status: 429, headers: { 'retry-after': '7' } };
      if (tries === 2) return { body: '', status: 502 };
      return { body: [entry(1)] };
    });
    expect(complete).toBe(true);
    expect(waits).toEqual([7_000, 1_000]);
  });

  it('a listing does not stay complete when a page keeps failing, or asks for a very long wait', async () => {
    const failing = await list(() => ({ body: '', status: 500 }));
    expect(failing.result).toMatchObject({ complete: false, outcome: { kind: 'ambiguous' } });
    expect(failing.asked).toHaveLength(5);
    const long = await list(() => ({ body: '', status: 429, headers: { 'retry-after': '3000' } }));
    expect(long.result).toMatchObject({ complete: false, outcome: { kind: 'throttled', retryAfterMs: 3_000_000 } });
    expect(long.asked).toHaveLength(1);
  });
});

describe('a list that says nothing of its pages', () => {
  const all = Array.from({ length: 5 }, (_, id) => entry(id));

  it('a list without pages is whole when page, offset and a larger size change nothing, which is found out once', async () => {
    const known = structuredClone(NOTHING_KNOWN);
    const first = await list(() => ({ body: all }), { known, query: 'page_size=500' });
    expect(first.complete).toBe(true);
    for (const asked of [/page=2/, /offset=5/, /page_size=1000/]) {
      expect(
        first.asked.some((path) => asked.test(path)),
        String(asked),
      ).toBe(true);
    }
    expect((await list(() => ({ body: all }), { known })).asked).toHaveLength(1);
    // A list that has grown may have come to the end of a page.
    expect((await list(() => ({ body: [...all, entry(9)] }), { known })).asked.length).toBeGreaterThan(1);
  });

  it('a list without pages is not believed where a larger page shows more, or where it refuses to be asked', async () => {
    const larger = await list((_path, url) => ({ body: all.slice(0, Number(url.searchParams.get('limit') ?? '2')) }));
    expect(larger.reason).toMatch(/a larger page shows more.*`list.sizeParameter`/);
    const strict = (path: string): Page => (path.includes('?') ? { body: {}, status: 400 } : { body: all });
    expect((await list(strict)).reason).toMatch(/whether it is complete.*`list.paging: none`/);
    const told = await list(strict, { list: { paging: 'none' } });
    expect([told.complete, told.asked.length]).toEqual([true, 1]);
  });

  it('a list that says nothing of its pages is asked for further pages until one is short, empty or missing', async () => {
    const known = structuredClone(NOTHING_KNOWN);
    const serve = (_path: string, url: URL): Page => ({ body: numbered(all, 2, url).rows });
    expect((await list(serve, { known })).ids).toEqual([0, 1, 2, 3, 4]);
    const again = await list(serve, { known });
    expect(again.asked.slice(0, 3)).toEqual([PATH, `${PATH}?page=2`, `${PATH}?page=3`]);
  });
});

describe('the profile', () => {
  const all = Array.from({ length: 5 }, (_, id) => entry(id));

  it.each<[z.input<typeof Profile>['list'], (path: string, url: URL) => Page]>([
    [
      { paging: 'page', pageParameter: 'p', firstPage: 0 },
      (_, url) => ({ body: numbered(all, 2, url, { name: 'p', first: 0 }).rows }),
    ],
    [{ paging: 'offset', offsetParameter: 'from' }, (_, url) => ({ body: cut(all, 2, url, 'from').rows })],
    [
      { paging: 'cursor', nextAt: ['scroll.id'], cursorParameter: 'scroll' },
      (_, url) => {
        const { rows, token } = cut(all, 2, url, 'scroll');
        return { body: { items: rows, scroll: { id: token } } };
      },
    ],
    [
      { nextAt: ['X-Onward'], countAt: ['hits.found'] },
      (_, url) => {
        const { rows, token } = cut(all, 2, url, 'at');
        return {
          body: { items: rows, hits: { found: 5 } },
          headers: token === null ? {} : { 'x-onward': `?at=${token}` },
        };
      },
    ],
    [
      { moreAt: ['state.unfinished'] },
      (_, url) => {
        const { rows, more } = numbered(all, 2, url);
        return { body: { items: rows, state: { unfinished: more } } };
      },
    ],
    [{ paging: 'none' }, () => ({ body: all })],
  ])('the profile says how a platform pages: %j', async (settings, serve) => {
    const { reason, complete, ids } = await list(serve, { list: settings });
    expect([reason, complete, ids]).toEqual(['', true, [0, 1, 2, 3, 4]]);
  });

  it('a profile that says there are no pages is not believed where an answer says that there are', async () => {
    const { reason } = await list(() => ({ body: { items: all, hasMore: true } }), { list: { paging: 'none' } });
    expect(reason).toMatch(/but the profile has `list.paging: none`; correct this setting/);
  });
});

describe('the page size', () => {
  it.each([400, 404, 422])('the page size is left out where the API refuses it with %i', async (status) => {
    const known = structuredClone(NOTHING_KNOWN);
    const serve = (_path: string, url: URL): Page =>
      url.searchParams.has('page_size')
        ? { body: {}, status }
        : { body: { count: 1, next: null, results: [entry(1)] } };
    const { complete, asked } = await list(serve, { known, query: 'page_size=500' });
    expect([complete, asked]).toEqual([true, [`${PATH}?page_size=500`, PATH]]);
    expect((await list(serve, { known, query: 'page_size=500' })).asked).toEqual([PATH]);
  });
});

describe('a list that moves while it is read', () => {
  /** Serves pages of two rows, in the form of DRF. `states` has the list at each request. `counts`: with a count or without. */
  const moving = (states: number[][], counts = true) => {
    let question = -1;
    return (_path: string, url: URL): Page => {
      question += 1;
      const rows = states[Math.min(question, states.length - 1)] ?? [];
      const { rows: results, more, number } = numbered(rows.map(entry), 2, url);
      return { body: { results, next: more ? `?page=${number + 1}` : null, ...(counts && { count: rows.length }) } };
    };
  };

  it('a list that moves while it is read is incomplete when a row moves behind the first count', async () => {
    // Row 1 moves to the end, so row 3 moves to a page that was read already. A new row keeps the count the same.
    const { result, reason } = await list(
      moving([
        [1, 2, 3, 4],
        [2, 3, 4, 1, 5],
        [2, 3, 4, 1, 5],
      ]),
    );
    expect(result).toMatchObject({ complete: false, moved: true });
    expect(reason).toMatch(/deleted|came twice|different ones/);
  });

  it('a list that moves while it is read is complete when it only grows', async () => {
    const { result } = await list(
      moving([
        [1, 2, 3],
        [9, 1, 2, 3],
      ]),
    );
    expect(result).toEqual({ complete: true, count: 4 });
  });

  it('a list that moves is read twice if it states no count, and both reads have to agree', async () => {
    const still = await list(moving([[1, 2, 3]], false));
    expect([still.complete, still.asked.length, still.ids]).toEqual([true, 4, [1, 2, 3]]);
    const { result, reason } = await list(
      moving(
        [
          [1, 2, 3],
          [1, 3, 2],
          [1, 3, 2],
        ],
        false,
      ),
    );
    expect(result).toMatchObject({ complete: false, moved: true });
    expect(reason).toMatch(/two reads of it differ/);
  });
});

describe('a listing that was broken off', () => {
  const all = Array.from({ length: 7 }, (_, id) => entry(id));

  it.each([
    ['DRF with absolute links', '?page=3'],
    ['full pages and not a word', '?page=3'],
    ['Relay', '?after=4'],
  ])('a listing that was broken off continues behind any page: %s', async (style, path) => {
    const serve = STYLES[style]?.(all, 2);
    if (serve === undefined) throw new Error(`There is no style ${style}.`);
    const whole = await list(serve);
    const from = { position: whole.positions[1] ?? '', ids: [0, 1, 2, 3] };
    const rest = await list(serve, { from });
    expect([rest.reason, rest.ids]).toEqual(['', [4, 5, 6]]);
    expect(rest.asked[0]).toBe(PATH + path);
    expect(rest.result).toEqual(whole.result);
  });

  it('a listing that was interrupted begins again if its position is unknown or leads to another place', async () => {
    const position = JSON.stringify({ place: null });
    const serve = () => ({ body: { count: 7, next: null, results: all } });
    expect((await list(serve, { from: { position, ids: [0, 1] } })).ids).toHaveLength(7);
    const whole = await list(STYLES['DRF with absolute links']?.(all, 2) ?? serve);
    const elsewhere = (whole.positions[0] ?? '').replace(PATH, '/api/keys/');
    expect((await list(serve, { from: { position: elsewhere, ids: [0, 1] } })).ids).toHaveLength(7);
  });
});
