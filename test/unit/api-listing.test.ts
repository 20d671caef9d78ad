import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJudge } from '../../src/api/classify.ts';
import { createCleanText } from '../../src/api/clean-text.ts';
import { readListing } from '../../src/api/listing.ts';
import { itemShape } from '../../src/api/remote-item.ts';
import type { AnswerHeaders, Exchange } from '../../src/api/transport.ts';
import type { RemoteItem } from '../../src/domain/ports/target.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createSecretStore } from '../../src/lib/secrets.ts';

const ORIGIN = 'https://dpp.example.com';
const PATH = '/api/products/';
const clean = createCleanText(createSecretStore());

const PATHS = {
  idPaths: ['id', 'data.id'],
  naturalKeyFields: ['sku', 'name'],
  itemsAt: ['results', 'data', 'items'],
  wireNames: new Map([['sku', 'sku']]),
};

type Page = { body: unknown; headers?: AnswerHeaders; status?: number };

/** Lists from a function that answers each path, in virtual time. */
async function list(serve: (path: string, url: URL) => Page, options: { prefix?: string; query?: string } = {}) {
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
    judge: createJudge({ clean, now: () => 0, unprocessed: [] }),
    clock,
    random: () => 0.5,
    shape: itemShape(PATHS, clean),
    baseUrl: { origin: ORIGIN, prefix: options.prefix ?? '' },
    endpointPath: PATH,
    query: options.query ?? '',
    pageParameter: 'page',
    onPage: (page) => items.push(...page),
  });
  const reason = result.complete || !('detail' in result.outcome) ? '' : result.outcome.detail.message;
  return { result, complete: result.complete, reason, items, ids: items.map(({ remoteId }) => remoteId), asked, waits };
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

describe.each(Object.entries(STYLES))('a listing as %s', (_name, style) => {
  it('is read to its end, each entry once', async () => {
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

describe('the next page', () => {
  it('is asked for on the configured origin, below the configured prefix', async () => {
    for (const next of [
      `https://evil.example${PATH}?page=2`,
      `//evil.example${PATH}?page=2`,
      `/gw/dpp${PATH}?page=2`,
    ]) {
      const serve = (path: string): Page => ({
        body: path.includes('page=2') ? { results: [entry(2)], next: null } : { results: [entry(1)], next },
      });
      const { complete, asked } = await list(serve, { prefix: '/gw/dpp', query: 'page_size=1' });
      expect(complete, next).toBe(true);
      expect(asked).toEqual([`/gw/dpp${PATH}?page_size=1`, `/gw/dpp${PATH}?page=2`]);
    }
  });

  it.each([
    `${ORIGIN}/api/materials/?page=2`,
    `${PATH}../api-keys/1/`,
    `${PATH}%2e%2e/api-keys/1/`,
    '/login?next=/api/products/',
    'javascript:alert(1)/',
    'http://[bad/',
  ])('outside of the listing makes it incomplete: %s', async (next) => {
    const { complete, reason, asked } = await list(() => ({ body: { results: [entry(1)], next } }));
    expect(complete).toBe(false);
    expect(reason).toBe('The listing cannot be relied on: its next page lies outside of the listing.');
    expect(asked).toHaveLength(1);
  });

  it('that was read before makes it incomplete', async () => {
    const { reason } = await list((_path, url) => ({
      body: { results: [entry(1)], next: url.searchParams.has('page') ? `${PATH}?page=2` : `${PATH}?page=2` },
    }));
    expect(reason).toMatch(/leads back/);
  });

  it('never ends a listing that goes on for ever with new links', async () => {
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

  it('when the API counted more than it gave, as unordered pages do', async () => {
    const { complete, reason } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      const results = second ? [entry(2), entry(3)] : [entry(1), entry(2)];
      return { body: { count: 4, next: second ? null : '?page=2', results } };
    });
    expect(complete).toBe(false);
    expect(reason).toMatch(/3 different items of the 4/);
  });

  it('when items were deleted on the way', async () => {
    const { reason } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      return { body: { count: second ? 2 : 3, next: second ? null : '?page=2', results: [entry(second ? 3 : 1)] } };
    });
    expect(reason).toMatch(/deleted/);
  });

  it('when a server does not know page numbers and gives its first page again', async () => {
    expect(await reasonOf({ total: 3, items: [entry(1), entry(2)] })).toMatch(/page 2 repeats/);
  });

  it('when entries carry no id, there is more without a way to it, or the body is no list', async () => {
    expect(await reasonOf([{ sku: 'A' }])).toMatch(/1 of its entries carry no id/);
    expect(await reasonOf({ data: [entry(1)], has_more: true })).toMatch(/there is more/);
    for (const body of ['<html>', '', '7', 'null', { results: 'none' }, {}]) {
      expect(await reasonOf(body)).toMatch(/it is not a list/);
    }
  });

  it('when it is refused, and then says by what', async () => {
    const { result, asked } = await list(() => ({ body: { detail: 'No.' }, status: 403 }));
    expect(result).toMatchObject({ complete: false, outcome: { kind: 'denied', by: 'scope' } });
    expect(asked).toHaveLength(1);
  });
});

describe('a listing stays complete', () => {
  it('when items are created on the way and shift the pages', async () => {
    const { complete, ids } = await list((_path, url) => {
      const second = url.searchParams.has('page');
      const results = second ? [entry(3), entry(2), entry(1)] : [entry(4), entry(3)];
      return { body: { count: second ? 5 : 4, next: second ? null : '?page=2', results } };
    });
    expect(complete).toBe(true);
    expect(new Set(ids)).toEqual(new Set([1, 2, 3, 4]));
  });

  it('when a page fails for a while, and waits as long as it is told', async () => {
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

  it('but not when a page keeps failing, or asks for a very long wait', async () => {
    const failing = await list(() => ({ body: '', status: 500 }));
    expect(failing.result).toMatchObject({ complete: false, outcome: { kind: 'ambiguous' } });
    expect(failing.asked).toHaveLength(5);
    const long = await list(() => ({ body: '', status: 429, headers: { 'retry-after': '3000' } }));
    expect(long.result).toMatchObject({ complete: false, outcome: { kind: 'throttled', retryAfterMs: 3_000_000 } });
    expect(long.asked).toHaveLength(1);
  });
});
