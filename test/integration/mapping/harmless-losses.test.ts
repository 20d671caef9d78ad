import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const CUPS = ['C1;Cup 1;DE', 'C2;Cup 2;DE', 'C3;Cup 3;PL', 'C4;Cup 4;DE', 'C4;Cup 4;DE'];
const PRODUCTS = {
  stream: 'cups',
  to: 'product',
  key: 'row.SKU',
  fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.COUNTRY)' },
};

let world: World;
afterEach(() => world.remove());

const csv = (rows: readonly string[]) => `SKU;NAME;COUNTRY\n${rows.join('\n')}\n`;
const write = (rows: readonly string[]) => world.write('cups.csv', csv(rows));

async function start({ rows, mapping = {}, key = ['SKU'], more = {} }: Start): Promise<void> {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { delimiter: ';' },
          streams: { cups: { path: './cups.csv', key } },
          mappings: [{ ...PRODUCTS, ...mapping }],
          ...more,
        },
      ],
    },
    files: { 'cups.csv': csv(rows), 'countries.csv': 'NAME;CODE\nGermany;DE\nPoland;PL\nPoland;PL\n' },
  });
  await synced();
}

interface Start {
  rows: readonly string[];
  mapping?: object;
  key?: readonly string[];
  more?: object;
}

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
/** Runs a sync. Returns the message of the guard, and how many products are missing afterwards. */
async function synced() {
  const { guarded, missing } = (await run('sync', '--json')).json() as {
    guarded: { message: string }[];
    missing: Record<string, number>;
  };
  return { guard: guarded.map(({ message }) => message).join(), missing };
}

const NOTHING = { guard: '', missing: {} };

describe('an export without a row from which nothing came', () => {
  it('is whole where one of two rows with one key was removed', async () => {
    await start({ rows: CUPS });
    write(CUPS.slice(0, 4));
    expect(await synced()).toEqual(NOTHING);
    expect((await run('status')).stdout).not.toContain('repeats');
  });

  it('is whole where one of two rows with other values was removed, and the other row counts', async () => {
    await start({ rows: [...CUPS.slice(0, 4), 'C4;Cup 4a;DE'] });
    write([...CUPS.slice(0, 3), 'C4;Cup 4a;DE']);
    expect(await synced()).toEqual(NOTHING);
    expect((await run('items', '--search', 'C4', '--json')).stdout).toContain('Cup 4a');
  });

  it('is whole where a row without a key was corrected, and where a quarantined or excluded row was removed', async () => {
    await start({ rows: [...CUPS, ';Cup 5;DE', 'C6;Cup 6;Utopia', 'C7;-;DE'], mapping: { when: 'row.NAME != "-"' } });
    write([...CUPS, 'C5;Cup 5;DE']);
    expect(await synced()).toEqual(NOTHING);
    expect((await run('status', '--json')).json()).toMatchObject({ ok: true, quarantined: 0 });
  });

  it('is whole where another row makes the item of the row that was removed', async () => {
    await start({ rows: ['1;C1;DE', '2;C1;DE', '3;C2;DE'], mapping: { key: 'row.NAME' } });
    write(['2;C1;DE', '3;C2;DE']);
    expect(await synced()).toEqual(NOTHING);
    expect((await run('why', 'C1')).stdout).toContain('cups.csv:2');
  });
});

describe('an export without a row from which something came', () => {
  it('is measured by the records with items, however many rows repeat them', async () => {
    await start({ rows: [...CUPS, ...CUPS, ...CUPS] });
    write([...CUPS.slice(1), ...CUPS.slice(1)]);
    const { guard, missing } = await synced();
    expect(guard).toMatch(/^1 of 4 records with items is missing from this export \(25 %/);
    expect(missing).toEqual({});
  });

  it('keeps no removed or corrected row among the repeated and quarantined ones while the guard holds', async () => {
    await start({ rows: [...CUPS, ';Cup 5;DE'] });
    write([...CUPS.slice(1, 4), 'C5;Cup 5;DE']);
    expect((await synced()).guard).toContain('1 of 4 records');
    const { stdout } = await run('status');
    expect(stdout).toContain('The guard holds erp/cups');
    expect(stdout).not.toMatch(/repeats|quarantined/);
    write([...CUPS, ';Cup 5;DE', 'C5;Cup 5;DE']);
    expect(await synced()).toEqual(NOTHING);
    expect((await run('status')).stdout).toMatch(/1 row has an error[^]*1 row repeats/);
  });

  it('is broken where mappings look up the row, and whole where another row has its key', async () => {
    const countries = { path: './countries.csv', key: ['NAME'] };
    const fields = { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'lookup("countries", row.COUNTRY)' };
    await start({
      rows: ['C1;Cup 1;Germany', 'C2;Cup 2;Poland'],
      mapping: { fields },
      more: {
        streams: { cups: { path: './cups.csv', key: ['SKU'] }, countries },
        lookups: { countries: { stream: 'countries', key: ['NAME'], value: 'CODE' } },
      },
    });
    world.write('countries.csv', 'NAME;CODE\nGermany;DE\nPoland;PL\n');
    expect(await synced()).toEqual(NOTHING);
    world.write('countries.csv', 'NAME;CODE\nGermany;DE\n');
    expect((await synced()).guard).toContain('1 of 2 records with items or lookup entries is missing');
  });
});
