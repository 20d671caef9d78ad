import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const source = (id: string, delimiter: string) => ({
  id,
  connector: 'csv',
  options: { delimiter },
  streams: { cups: { path: `./${id}.csv`, key: ['SKU'] } },
  mappings: [
    {
      stream: 'cups',
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', gtin: 'gtin(row.EAN)' },
    },
  ],
});

let world: World;
beforeAll(async () => {
  world = await createWorld({
    config: { sources: [source('shop', ';'), source('mail', ',')] },
    files: { 'shop.csv': 'SKU;NAME;EAN\nC1;"Cup; red, small";1\n', 'mail.csv': 'SKU,NAME,EAN\nM1,"Mug; blue",1\n' },
  });
  await runHere(['sync', '-c', world.configFile]);
});
afterAll(() => world.remove());

async function written(...args: string[]): Promise<string[]> {
  const file = join(world.folder, 'wrong.csv');
  await runHere(['quarantine', '--out', file, ...args, '-c', world.configFile]);
  return readFileSync(file, 'utf8').replace('\ufeff', '').split('\r\n');
}

describe('the file of quarantined rows', () => {
  it('has the delimiter of the source, so that the same spreadsheet opens both', async () => {
    const [header, row] = await written('--source', 'shop');
    expect(header).toBe('SKU;NAME;EAN;file;line;issues');
    expect(row).toMatch(/^C1;"Cup; red, small";1;shop\.csv;2;/);
    expect((await written('--source', 'mail'))[1]).toMatch(/^M1,Mug; blue,1,mail\.csv,2,/);
  });

  it('has commas where the rows come from files with several delimiters', async () => {
    const lines = await written();
    expect(lines[0]).toBe('SKU,NAME,EAN,file,line,issues');
    expect(lines.slice(1)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^C1,"Cup; red, small",1,shop\.csv,2,/)]),
    );
  });
});
