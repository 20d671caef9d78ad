// Which records a held read lacks: named by the guard, by `items --state held`, and by `why`.

import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const ROWS = Array.from({ length: 12 }, (_, at) => `C${at + 1};Cup ${at + 1};DE`);
const csv = (rows: readonly string[]) => `SKU;NAME;COUNTRY\n${rows.join('\n')}\n`;
const write = (rows: readonly string[]) => world.write('cups.csv', csv(rows));
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const heldKeys = async () =>
  [...(await run('items', '--state', 'held', '--json')).stdout.matchAll(/"key":"([^"]*)"/g)].map(([, key]) => key);

const answer = async (sku: string) => {
  const { exitCode, stdout } = await run('why', sku);
  return { exitCode, first: stdout.split('\n')[0], stdout };
};

interface Guarded {
  message: string;
  missing: number;
  released: number;
  gone: string[];
}
async function guarded(): Promise<Guarded | undefined> {
  const { guarded } = (await run('sync', '--json')).json() as { guarded: Guarded[] };
  return guarded[0];
}

/** Mappings that make the source one that gives parts, so that passports wait for it. */
const PARTS = [
  {
    stream: 'cups',
    to: 'material',
    key: '"M" + row.SKU',
    fields: { code: '"M" + row.SKU', name: 'row.NAME', origin_country: '"DE"' },
  },
  {
    stream: 'cups',
    to: 'bom_item',
    key: 'row.SKU + "/1"',
    refs: { product: 'row.SKU', material: '"M" + row.SKU' },
    fields: { quantity: '"1"' },
  },
];
const PASSPORTS = { init: 'when-complete', publish: 'auto' };

async function start(
  mapping: object = {},
  { more = [], ...config }: { more?: object[]; passports?: object } = {},
): Promise<void> {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { delimiter: ';' },
          streams: { cups: { path: './cups.csv', key: ['SKU'] } },
          mappings: [
            {
              stream: 'cups',
              to: 'product',
              key: 'row.SKU',
              fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.COUNTRY)' },
              ...mapping,
            },
            ...more,
          ],
        },
      ],
      ...config,
    },
    files: { 'cups.csv': csv(ROWS) },
  });
  await run('sync');
}

describe('a read that the guard holds', () => {
  it('names the one record that is missing, in the message, in the document and in the list', async () => {
    await start();
    write(ROWS.toSpliced(6, 1));
    expect(await guarded()).toMatchObject({
      message: expect.stringMatching(/^1 of 12 records with items is missing .* as missing\. Missing: C7\.$/),
      gone: ['C7'],
    });
    expect((await run('status')).stdout).toContain('Missing: C7.');
    expect(await heldKeys()).toEqual(['C7']);
    write(ROWS);
    expect(await guarded()).toBeUndefined();
    expect(await heldKeys()).toEqual([]);
  });

  it('names the first of many, and the command that lists all', async () => {
    await start();
    write(ROWS.slice(0, 4));
    const { message, gone, missing } = (await guarded()) ?? {};
    expect(message).toContain('Missing: C5, C6, C7, C8, C9 and 3 more. To list them: `dpp-sync items --state held`.');
    expect({ gone: gone?.length, missing }).toEqual({ gone: 8, missing: 8 });
    expect(await heldKeys()).toEqual(gone);
  });

  it('names the items that rows no longer make', async () => {
    await start({ when: 'row.NAME != "-"' });
    write(['C1;-;DE', ...ROWS.slice(1)]);
    expect(await guarded()).toMatchObject({
      released: 1,
      gone: ['C1'],
      message: expect.stringContaining('Missing: C1.'),
    });
    expect(await heldKeys()).toEqual(['C1']);
  });

  it('is no reason for a product whose row was read, and is the reason for a product that it lacks', async () => {
    await start({}, { more: PARTS, passports: PASSPORTS });
    expect((await answer('C1')).first).toBe('The passport of C1 is published.');
    write(['C1;Cup 1;Deutschlnd', ...ROWS.slice(1, 6), ...ROWS.slice(7), 'C13;Cup 13;DE', 'C14;Cup 14;Utopia']);
    await run('sync');
    const [misspelt, read, lacked, unpublished] = [
      await answer('C1'),
      await answer('C2'),
      await answer('C7'),
      await answer('C13'),
    ];
    expect(misspelt.first).toMatch(/^The passport of C1 is published, .* because its row has an error .*Deutschlnd/);
    expect([read.exitCode, read.first]).toEqual([0, 'The passport of C2 is published.']);
    expect([lacked.exitCode, lacked.first]).toEqual([
      4,
      'The passport of C7 is published, although the read that the guard holds does not have its row; it was at erp/cups, cups.csv:8.',
    ]);
    expect(lacked.stdout).not.toContain('was read (');
    expect((await answer('C14')).first).toMatch(/is not published, because the row of C14 has an error .*Utopia/);
    expect(unpublished.first).toContain('is not published, because the guard holds the last read of its source erp');
  });
});
