// Reads of OData services: what a server may send, and what must not pass for a complete read.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import type { JsonValue } from '../../../src/lib/json.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';
import { type ODataServer, type ODataServerOptions, startODataServer } from '../../support/rest/odata-server.ts';
import { type RestReadResult, readRest } from '../../support/rest/read-rest.ts';
import { type RestCall, type RestReply, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';

const PAGED = {
  get: 'items',
  query: { $count: 'true' },
  rows: '$.value',
  page: { by: 'nextLink', next: '$["@odata.nextLink"]', total: '$["@odata.count"]' },
};
const TRACKED = {
  ...PAGED,
  headers: { Prefer: 'odata.track-changes' },
  changes: {
    deltaLink: '$["@odata.deltaLink"]',
    gone: { at: '$["@odata.context"]', contains: '$deletedEntity', key: { id: '$.id' }, entityId: true },
  },
};
const FILTERED = {
  ...PAGED,
  changes: { by: '$.changedAt', query: { $filter: 'changedAt ge {{since}}' } },
  reconcile: '7d',
};

let service: ODataServer;
let answered: number;
/** Called before the answer with this number. */
let before: ((call: RestCall, number: number) => RestReply | null) | null;

async function start(more: Partial<ODataServerOptions> = {}, delta: 'link' | 'none' | 'refused' = 'link') {
  answered = 0;
  before = null;
  service = await startODataServer({
    pageRows: 3,
    before: (call) => {
      answered += 1;
      return before?.(call, answered) ?? null;
    },
    sets: { items: { version: 4, key: ['id'], changedAt: 'changedAt', delta } },
    ...more,
  });
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) service.set('items').put({ id, name: id });
}

const read = (stream: object, cursor?: JsonValue): Promise<RestReadResult> =>
  readRest(
    rest,
    { options: { base: service.server.base, limits: { perSecond: 1_000, attempts: 1 } }, stream },
    cursor === undefined ? {} : { mode: 'changes', cursor },
  );
const ids = ({ rows }: RestReadResult) =>
  rows.map(({ fields, isGone }) => `${isGone === true ? '-' : ''}${fields['id'] as string}`);
const again = ({ pages }: RestReadResult) => pages.flatMap(({ beginAgain = [] }) => beginAgain).join();

afterEach(() => service.server.close());

describe('a complete read over OData', () => {
  beforeEach(() => start());

  it('reads all pages, and fails if one of their links is lost', async () => {
    expect(ids(await read(TRACKED))).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    before = () => ({ body: { '@odata.count': 8, value: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } });
    const { error, cursor } = await read(TRACKED);
    expect(error?.message).toContain('3 different rows came, and the server states 8');
    expect(cursor).toBeUndefined();
  });

  it('takes a number of rows that only the first page states', async () => {
    before = (_, number) =>
      number === 1
        ? { body: { '@odata.count': 2, value: [{ id: 'a' }], '@odata.nextLink': 'items?$skiptoken=a' } }
        : { body: { value: [{ id: 'b' }] } };
    expect(await read({ ...PAGED })).toMatchObject({ error: null, rows: [{}, {}] });
    before = () => ({ body: { value: [{ id: 'a' }] } });
    expect((await read({ ...PAGED })).error?.message).toContain('do not state the number of all rows');
  });

  it('reads the changes during a pass that it gave up by the filter of the next read', async () => {
    before = ({ query }, number) => {
      if (number === 2) {
        // The row was read already. The pass is given up because another one disappears.
        service.set('items').put({ id: 'a', name: 'changed' });
        service.set('items').remove('h');
        service.advance(3_600_000);
      }
      return query.has('never') ? {} : null;
    };
    const { cursor, warnings, error } = await read(FILTERED);
    expect(error).toBeNull();
    expect(warnings.join()).toContain('was read again from its first page');
    const changes = await read(FILTERED, cursor);
    expect(changes.rows.map(({ fields }) => fields)).toContainEqual(expect.objectContaining({ name: 'changed' }));
  });

  it('skips no row while others come and go, although the server counts rows in its addresses', async () => {
    await service.server.close();
    await start({ token: 'offset' });
    before = (_, number) => {
      if (number !== 2) return null;
      // The rows after the first page move forward, and the number of rows stays the same.
      service.set('items').remove('a');
      service.set('items').put({ id: 'z', name: 'z' });
      return null;
    };
    const counted = { ...PAGED, page: { ...PAGED.page, countsRows: true } };
    const result = await read(counted);
    expect(result.error).toBeNull();
    expect(new Set(ids(result))).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'z']));
  });

  it('stores no delta link of a later pass, because rows of an earlier one were used', async () => {
    before = (_, number) => {
      if (number === 2) service.set('items').remove('a');
      return null;
    };
    const { cursor, warnings, error } = await read(TRACKED);
    expect(error).toBeNull();
    expect(cursor).toBeUndefined();
    expect(warnings.join(' ')).toContain('The next read is complete again.');
  });

  it('says that an entity may have no delta links when the server cannot answer a request for them', async () => {
    await service.server.close();
    await start({}, 'refused');
    const { error } = await read(TRACKED);
    expect(error?.message).toContain('Entity does not support delta requests');
    expect(error?.suggestion).toContain('replace `changes` of the stream by a filter');
    expect((await read(FILTERED)).error).toBeNull();
  });
});

describe('changes over OData', () => {
  beforeEach(() => start());

  it('reads changed and added rows, and tombstones, with the pages behind a delta link', async () => {
    const { cursor } = await read(TRACKED);
    for (const id of ['b', 'c', 'z']) service.set('items').put({ id, name: 'new' });
    service.set('items').remove('d');
    const changes = await read(TRACKED, cursor);
    expect(ids(changes)).toEqual(['b', 'c', 'z', '-d']);
    expect(ids(await read(TRACKED, changes.cursor))).toEqual([]);
  });

  it.each([
    ['an address', "https://api.example.com/items('d')", 'd'],
    ['an address relative to the service', 'items(id=%27d%27)', 'd'],
    ['an address with a quote', "items('d''s')", "d's"],
    ['an address with parentheses in the key', "companies(7)/items('d%2F(1)')", 'd/(1)'],
    ['an address with a key of several columns', "items(plant='1',id='d,e',version=2)", 'd,e'],
    ['the key alone', '55e545bc-f6f9-ef11-9344-6045bdc8c234', '55e545bc-f6f9-ef11-9344-6045bdc8c234'],
  ])('reads the key of a tombstone from %s', async (_, id, key) => {
    const { cursor } = await read(TRACKED);
    const link = { '@odata.deltaLink': `${service.server.base}/items?$deltatoken=9` };
    before = () => ({
      body: { value: [{ '@odata.context': '#items/$deletedEntity', id, reason: 'deleted' }], ...link },
    });
    expect((await read(TRACKED, cursor)).rows).toMatchObject([{ fields: { id: key }, isGone: true }]);
  });

  it('begins again when the server has forgotten the delta link', async () => {
    const { cursor } = await read(TRACKED);
    service.set('items').put({ id: 'z', name: 'z' });
    service.forgetDeltaLinks();
    const changes = await read(TRACKED, cursor);
    expect(again(changes)).toContain('no longer knows the address of the changes of items (410)');
    expect(changes.error).toBeNull();
  });

  it('begins again when the changes have no new delta link, so that no full read stays unnoticed', async () => {
    const { cursor } = await read(TRACKED);
    before = () => ({ body: { value: [{ id: 'a' }] } });
    const changes = await read(TRACKED, cursor);
    expect(again(changes)).toContain('has no delta link, so it is unknown where the next read would begin');
    expect(changes.pages.at(-1)?.cursor).toBeUndefined();
    before = null;
    await service.server.close();
    await start({}, 'none');
    const without = await read(TRACKED);
    expect(without.cursor).toBeUndefined();
    expect(without.warnings.join()).toContain('has no delta link, so the next read is complete again');
  });
});

describe('the parts of a row over OData', () => {
  beforeEach(() => start());

  it.each([
    ['version 4', { 'lines@odata.nextLink': 'items(1)/lines?$skip=1', lines: [{}] }],
    ['version 2', { lines: { results: [{}], __next: 'items(1)/lines?$skip=1' } }],
    ['version 2, deeper', { plants: [{ lines: { results: [{}], __next: 'items(1)/lines?$skip=1' } }] }],
    ['GraphQL', { lines: { nodes: [{}], pageInfo: { hasNextPage: true } } }],
  ])('marks a row whose list the server has cut: %s', async (_, parts) => {
    before = () => ({
      body: {
        '@odata.count': 2,
        value: [
          { id: 'a', ...parts },
          { id: 'b', lines: [{}] },
        ],
      },
    });
    const { rows } = await read(PAGED);
    expect(rows[0]?.issues).toMatchObject([{ code: 'row.parts', message: expect.stringContaining('The list lines') }]);
    expect(rows[1]?.issues).toBeUndefined();
  });

  it('fails if an answer to a request for parts has another page', async () => {
    before = ({ path }) => (path === '/items' ? null : { body: { value: [{}], '@odata.nextLink': 'lines?$skip=1' } });
    const { error } = await read({
      ...PAGED,
      each: { get: 'items({{row.id}})/lines', rows: '$.value', into: 'lines' },
    });
    expect(error?.message).toContain('has another page in `@odata.nextLink`, and `each` reads one');
  });
});

describeRealExport('rest/business-central', 'recorded answers of Business Central', (folder) => {
  const recorded = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { value: JsonValue[] };
  let recordings: RestServer;
  afterEach(() => recordings.close());
  beforeEach(() => start());

  it('reads the recorded pages of Business Central', async () => {
    const [first, last] = ['customers-1-first-page.json', 'customers-2-last-page.json'].map(recorded);
    recordings = await startRestServer(({ query, base, path }) => ({
      body: {
        ...(query.has('$skip') ? last : { ...first, '@odata.nextLink': `${base}${path}?$count=true&$skip=3` }),
        '@odata.count': first?.value.length,
      },
    }));
    const stream = { ...PAGED, get: 'companies(70c0c603-f4f9-ef11-9344-6045bdc8c234)/customers' };
    const { rows, error } = await readRest(rest, { options: { base: recordings.base }, stream });
    expect(error).toBeNull();
    expect(rows.map(({ fields }) => fields)).toEqual(first?.value);
  });

  it('shows what Business Central says about an entity that has no time of the last change', async () => {
    const refusal = recorded('balance-sheets-error-since.json');
    recordings = await startRestServer(() => ({ status: 400, body: refusal }));
    const settings = { options: { base: recordings.base }, stream: FILTERED };
    const { error } = await readRest(rest, settings, { mode: 'snapshot' });
    expect(error?.message).toContain("Could not find a property named 'lastModifiedDateTime'");
  });
});
