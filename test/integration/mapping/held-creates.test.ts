// The creates of a stream most of whose items vanish: held for the decision of a person, in syncs, `status`, `show` and `why`.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 60;
const numbers = Array.from({ length: COUNT }, (_, at) => at + 1);
const padded = (n: number) => `A-${String(n).padStart(6, '0')}`;

const source = (more: object = {}) => ({
  id: 'erp',
  connector: 'csv',
  options: { delimiter: ';' },
  streams: { products: { path: './products.csv', key: ['ID'] }, boms: { path: './boms.csv', key: ['NO'] } },
  mappings: [
    { stream: 'products', to: 'product', key: 'row.ID', fields: { sku: 'row.ID', name: '"Product " + row.NAME' } },
    { stream: 'products', to: 'material', key: '"M" + row.ID', fields: { code: '"M" + row.ID', name: 'row.NAME' } },
    {
      stream: 'boms',
      to: 'bom_item',
      key: 'row.NO',
      refs: { product: 'row.ID', material: '"M" + row.ID' },
      fields: { quantity: '"1"' },
    },
  ],
  ...more,
});

let world: World;
afterEach(() => world.remove());

const write = (ids: readonly string[], lines: readonly string[] = ids): void => {
  world.write('products.csv', `ID;NAME\n${ids.map((id, at) => `${id};${at}\n`).join('')}`);
  world.write('boms.csv', `NO;ID\n${lines.map((no, at) => `${no};${ids[at % Math.max(1, ids.length)]}\n`).join('')}`);
};

async function given(more: object = {}, ids: readonly string[] = numbers.map(padded)): Promise<void> {
  world = await createWorld({
    config: { sources: [source(more)] },
    profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
  write(ids);
  expect(exitCodeOf(await world.sync())).toBe(0);
  world.requests();
}
const look = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const counts = () => {
  const { products, materials, bomItems } = world.contents();
  return [products.length, materials.length, bomItems.length];
};
const WRITES = ['product.create', 'product.import', 'material.create', 'bom_item.create'];
const writes = () => Object.keys(world.requests()).filter((name) => WRITES.includes(name));

describe('an export in which all keys have another form', () => {
  it.each<[string, (id: string) => string, RegExp]>([
    ['lost leading zeros', (id) => id.replace(/0+(?=\d)/, ''), /Without leading zeros, 60 of 60/],
    ['a prefix', (id) => `DE${id}`, /Without the prefix "DE", 60 of 60/],
    ['a lost prefix', (id) => id.slice(2), /Without the prefix "A-", 60 of 60/],
    ['a suffix', (id) => `${id}.1`, /Without the suffix "\.1", 60 of 60/],
    ['lower case', (id) => id.toLowerCase(), /Without upper and lower case, 60 of 60/],
    ['other separators', (id) => id.replace('-', ' / '), /Without spaces and separators, 60 of 60/],
    [
      'another case and lost zeros',
      (id) => id.toLowerCase().replace(/0+(?=\d)/, ''),
      /Without leading zeros, case, spaces and separators, 60 of 60/,
    ],
    ['other keys', (id) => id.split('').toReversed().join('x'), /is created\. Missing: .* and 55 more\./],
  ])('an export with %s creates nothing, and its message counts both sides', async (_name, change, hint) => {
    await given();
    write(numbers.map(padded).map(change));
    for (let times = 0; times < 2; times += 1) {
      const report = await world.sync();
      expect(exitCodeOf(report)).toBe(4);
      expect(report.guarded.map(({ stream }) => stream)).toEqual(['products', 'boms']);
      expect(report.guarded[0]?.message).toMatch(/^60 of 60 records with items are missing .*, and 60 are new\. /);
      expect(report.guarded[0]?.message).toMatch(hint);
      expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
    }
    const key = change(padded(1));
    expect((await look('status')).stdout).toContain('60 are new');
    expect((await look('show', 'product', key)).stdout).toContain('its stream had other items before');
    expect((await look('why', key)).stdout).toContain(
      'it is not created before the guard has decided about its stream',
    );
    expect((await look('ledger', 'verify')).exitCode).toBe(0);
  });

  it('BOM items that refer to other keys are left to the decision about the guard, and to no settling by hand', async () => {
    await given();
    write(
      numbers.map((n) => `B${n}`),
      numbers.map(padded),
    );
    const report = await world.sync();
    expect([exitCodeOf(report), report.guarded.map(({ stream }) => stream)]).toEqual([4, ['products']]);
    const status = (await look('status')).stdout;
    const shown = (await look('show', 'bom_item', padded(1))).stdout;
    const why = (await look('why', 'B1')).stdout;
    expect(status).toContain('60 items need a person');
    expect(status).toContain('\n    59 more have the same reason.\n');
    for (const text of [status, shown, why]) expect(text).not.toMatch(/settle[^\n]*--delivered/);
    expect(status).toContain('Decide about that read first');
    expect(shown).toContain('Decide about that read first');
  });

  it('an accepted export with other keys creates what was held, and nothing twice', async () => {
    await given();
    write(numbers.map((n) => `B${n}`));
    await world.sync();
    expect(counts()).toEqual([60, 60, 60]);
    const report = await world.sync({ accept: ['erp'] });
    expect([report.guarded, report.fault]).toEqual([[], null]);
    expect(counts()).toEqual([120, 120, 120]);
    await world.sync();
    expect(counts()).toEqual([120, 120, 120]);
  });

  it('the next whole export with the former keys drops what was held', async () => {
    await given();
    write(numbers.map((n) => `B${n}`));
    await world.sync();
    write(numbers.map(padded));
    const report = await world.sync();
    expect([exitCodeOf(report), report.guarded, report.missing, report.waitingFor]).toEqual([0, [], {}, []]);
    expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
    expect((await look('show', 'product', 'B1')).exitCode).toBe(2);
    write([...numbers.map(padded), 'A-000061']);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()).toEqual([61, 61, 61]);
  });

  it('a mapping that renames all keys creates nothing before a person has decided', async () => {
    await given();
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replaceAll(/(key|sku): row\.ID$/gm, '$1: \'"X" + row.ID\''));
    for (let times = 0; times < 2; times += 1) {
      const report = await world.sync();
      expect(exitCodeOf(report)).toBe(4);
      expect(report.guarded[0]?.message).toMatch(/no longer make 60 of 60 products \(100 %, allowed are 5 %\)/);
      expect(report.guarded[0]?.message).toMatch(
        /New are 60 products, and none of them is created\. Without the prefix "X", 60 of 60/,
      );
      expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
    }
    world.write('dpp-sync.yaml', config);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
  });
});

describe('the limits of the guard', () => {
  it('a read that loses more records than maxMissingCount is held, although its share is allowed', async () => {
    await given({ guard: { maxMissing: '50%', maxMissingCount: 5, maxDrop: '50%' } });
    write([...numbers.slice(6).map(padded), 'NEW']);
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.guarded[0]?.message).toContain(
      '6 of 60 records with items are missing from this export (10 %, allowed are 5)',
    );
    // Few are gone, so what is new is created.
    expect(counts()[0]).toBe(61);
    write([...numbers.slice(5).map(padded), 'NEW']);
    expect((await world.sync()).guarded).toEqual([]);
  });

  it('an ordinary export with few losses and many new rows is created at once', async () => {
    await given();
    write([...numbers.slice(2).map(padded), ...numbers.map((n) => `N${n}`)]);
    const report = await world.sync();
    expect(report.guarded).toEqual([]);
    expect(counts()).toEqual([120 - 2 + 2, 118 + 2, 118 + 2]);
  });
});

describe('a read that ends before the guard could decide', () => {
  it('a stopped read creates nothing that is new, and the next whole read decides', async () => {
    await given();
    const renamed = numbers.map((n) => `B${n}`);
    write(renamed);
    const runtime = await world.open();
    const stop = new AbortController();
    runtime.bus.subscribe((event) => {
      if (event.type === 'page') stop.abort();
    });
    await sync(runtime, { sources: [], waitMs: 10_000, abort: stop.signal }, systemClock);
    await runtime.close();
    // Without a decision nothing is due for another process either.
    const again = await world.open();
    await sync(again, { sources: [], waitMs: 10_000, abort: new AbortController().signal, pull: false }, systemClock);
    await again.close();
    expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
    expect(exitCodeOf(await world.sync())).toBe(4);
    expect([counts(), writes()]).toEqual([[60, 60, 60], []]);
  });
});
