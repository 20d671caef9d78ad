import { afterEach, describe, expect, it } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import { readRest } from '../../support/rest/read-rest.ts';
import { type RestCall, type RestReply, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';

const ROWS = Array.from({ length: 25 }, (_, at) => ({ id: at + 1, name: `Part ${at + 1}` }));

let server: RestServer;
afterEach(() => server.close());

async function read(answer: (call: RestCall) => RestReply, stream: object, options: object = {}) {
  server = await startRestServer(answer);
  const settings = { options: { base: server.base, limits: { perSecond: 1000 }, ...options }, stream };
  return await readRest(rest, settings);
}

const ids = (rows: readonly { fields: Record<string, unknown> }[]) => rows.map(({ fields }) => fields['id']);
const ALL = ids(ROWS.map((fields) => ({ fields })));

const OFFSET = {
  get: 'items',
  query: { offset: '{{offset}}', limit: '{{size}}' },
  rows: '$.items',
  page: { by: 'offset', size: 10, total: '$.total' },
};
const slice = ({ query }: RestCall, rows: readonly object[] = ROWS) => {
  const offset = Number(query.get('offset'));
  return { items: rows.slice(offset, offset + Number(query.get('limit'))), total: rows.length };
};

describe('the rest connector', () => {
  it('reads all pages by offset, which overlap by one row', async () => {
    const { rows, error } = await read((call) => ({ body: slice(call) }), OFFSET);
    expect(error).toBeNull();
    expect(ids(rows)).toEqual(ALL);
    expect(server.calls.map(({ query }) => query.get('offset'))).toEqual(['0', '9', '18', '24']);
  });

  it('reads again if a row disappears before the page that is read, so that none is skipped', async () => {
    let rows = ROWS;
    const result = await read(
      (call) => {
        const body = slice(call, rows);
        // A row of the first page is deleted after that page.
        if (server.calls.length === 1) rows = ROWS.filter(({ id }) => id !== 3);
        return { body };
      },
      { ...OFFSET, page: { by: 'offset', size: 10 } },
    );
    expect(result.error).toBeNull();
    expect(new Set(ids(result.rows))).toEqual(new Set(ALL));
    expect(result.warnings.join()).toContain('was read again from its first page');
  });

  it('goes on if a row is added before the page that is read', async () => {
    let rows: { id: number; name: string }[] = ROWS;
    const result = await read((call) => {
      const body = slice(call, rows);
      if (server.calls.length === 1) rows = [{ id: 0, name: 'New' }, ...ROWS];
      return { body };
    }, OFFSET);
    expect(result.error).toBeNull();
    expect(ids(result.rows)).toEqual(ALL);
    expect(result.warnings).toEqual([]);
  });

  it('fails as incomplete if the total stays another one than the number of rows', async () => {
    const { error, pages } = await read((call) => ({ body: { ...slice(call), total: 26 } }), OFFSET);
    expect(error).toMatchObject({
      code: 'source.unreadable',
      message: expect.stringContaining('the server states 26'),
    });
    expect(pages.every((page) => page.cursor === undefined)).toBe(true);
  });
});
