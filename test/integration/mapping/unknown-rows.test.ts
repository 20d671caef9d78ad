// Rows whose keys or parts are unknown may be the records that a read seems to lack. While they may be, no passport is withdrawn.

import { afterEach, describe, expect, it } from 'vitest';
import { type RestServer, startRestServer } from '../../support/rest/rest-server.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const IDS = Array.from({ length: 8 }, (_, at) => `P-${at + 1}`);
const GATES = {
  gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
};

let world: World;
let server: RestServer | null = null;
afterEach(async () => {
  await world.remove();
  await server?.close();
  server = null;
});

/** One source whose products have public passports, which are withdrawn once the product is gone. */
async function begin(source: object, files: Record<string, string> = {}): Promise<void> {
  world = await createWorld({
    config: {
      passports: { init: 'when-complete', publish: 'auto' },
      sources: [
        {
          id: 'erp',
          onMissing: 'unpublish',
          guard: { maxMissing: '50%', maxDrop: '50%' },
          mappings: [{ stream: 'rows', to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.name' } }],
          ...source,
        },
      ],
    },
    files,
    sandbox: GATES,
    profile: { list: { lagMs: 0 } },
  });
}

/** How many passports are public after a sync, and what the guard says. */
async function sync(accept: string[] = []): Promise<{ published: number; guarded: string }> {
  const { passports, guarded } = await world.sync({ accept });
  return { published: passports.published ?? 0, guarded: guarded.map(({ message }) => message).join() };
}

const csv = (rows: readonly string[]): string => `${['id;name', ...rows].join('\n')}\n`;
const CSV = {
  connector: 'csv',
  options: { delimiter: ';' },
  streams: { rows: { path: './rows.csv', key: ['id'] } },
};
const object = (id: string): string => JSON.stringify({ id, name: `Part ${id}` });
const WITH_OBJECTS = Object.fromEntries(IDS.map((id) => [`rows/${id}.json`, object(id)]));
const OBJECTS = { connector: 'json', streams: { rows: { path: './rows/*.json', format: 'object', key: ['id'] } } };

/** What a server of the table answers about the parts of one product. */
let answersOf = (id: string): { status?: number; body: unknown } => ({ body: { items: [{ id, name: id }] } });
let listOf = (id: string): unknown => [{ id, name: id }];
async function restSource(stream: object): Promise<object> {
  server = await startRestServer(({ path }) => {
    const [, child] = /\/items\/(.+)$/.exec(path) ?? [];
    if (child !== undefined) return answersOf(child);
    return { body: { items: IDS.map((id) => ({ number: id, rows: listOf(id) })), total: IDS.length } };
  });
  return {
    connector: 'rest',
    options: { base: server.base, limits: { perSecond: 1000 } },
    streams: { rows: { get: 'items', page: { by: 'none', total: '$.total' }, key: ['id'], ...stream } },
  };
}

const HOLES: [what: string, start: () => Promise<void>, spoil: () => void, repair: () => void][] = [
  [
    'a row that has lost its key',
    () => begin(CSV, { 'rows.csv': csv(IDS.map((id) => `${id};Part`)) }),
    () => world.write('rows.csv', csv(IDS.map((id) => (id === 'P-7' ? ';Part' : `${id};Part`)))),
    () => world.write('rows.csv', csv(IDS.map((id) => `${id};Part`))),
  ],
  [
    'a file that is cut off',
    () => begin(OBJECTS, WITH_OBJECTS),
    () => world.write('rows/P-7.json', object('P-7').slice(0, 12)),
    () => world.write('rows/P-7.json', object('P-7')),
  ],
  [
    'a file without content',
    () => begin(OBJECTS, WITH_OBJECTS),
    () => world.write('rows/P-7.json', ''),
    () => world.write('rows/P-7.json', object('P-7')),
  ],
  [
    'a row whose children are not known',
    async () => begin(await restSource({ rows: '$.items', each: { get: 'items/{{row.number}}', rows: '$.items' } })),
    () => {
      answersOf = (id) => (id === 'P-7' ? { status: 404, body: {} } : { body: { items: [{ id, name: id }] } });
    },
    () => {
      answersOf = (id) => ({ body: { items: [{ id, name: id }] } });
    },
  ],
  [
    'an element without its list',
    async () => begin(await restSource({ rows: '$.items[*].rows', page: { by: 'none' } })),
    () => {
      listOf = (id) => (id === 'P-7' ? null : [{ id, name: id }]);
    },
    () => {
      listOf = (id) => [{ id, name: id }];
    },
  ],
];

describe('with onMissing: unpublish', () => {
  it.each(HOLES)(
    '%s may be the record that is missing, so no passport is withdrawn until a person says so',
    async (_what, start, spoil, repair) => {
      await start();
      expect(await sync()).toEqual({ published: 8, guarded: '' });
      spoil();
      const held = { published: 8, guarded: expect.stringContaining('nobody knows which record one of its rows is') };
      expect(await sync()).toEqual(held);
      // The row is not older than the last whole read.
      expect(await sync()).toEqual(held);
      repair();
      expect(await sync()).toEqual({ published: 8, guarded: '' });
      spoil();
      await sync();
      expect(await sync(['erp'])).toEqual({ published: 7, guarded: '' });
      repair();
      await sync();
    },
  );

  it('a row that was unknown before, such as a sum, stands for no record that is gone', async () => {
    const rows = IDS.map((id) => `${id};Part`);
    await begin(CSV, { 'rows.csv': csv([...rows, ';8 parts']) });
    expect(await sync()).toEqual({ published: 8, guarded: '' });
    world.write('rows.csv', csv([...rows.slice(1), ';8 parts']));
    expect(await sync()).toEqual({ published: 7, guarded: '' });
  });
});
