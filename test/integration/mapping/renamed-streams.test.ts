// Streams and sources that the config no longer has, or to which it has given another name.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../../src/lib/json.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const FIELDS = { sku: 'row.NR', name: 'row.NAME' };

function source(id: string, streams: Record<string, string>, more: object = {}) {
  return {
    id,
    connector: 'csv',
    streams: Object.fromEntries(Object.entries(streams).map(([name, path]) => [name, { path, key: ['NR'] }])),
    mappings: Object.keys(streams).map((stream) => ({ stream, to: 'product', key: 'row.NR', fields: FIELDS })),
    ...more,
  };
}

const rows = (...lines: string[]) => `NR,NAME\n${lines.join('\n')}\n`;
const twenty = Array.from({ length: 20 }, (_, at) => `${at},Name ${at}`);

async function given(sources: object[], files: Record<string, string>): Promise<void> {
  world = await createWorld({ config: { sources }, files });
  expect((await world.sync()).fault).toBeNull();
  world.requests();
}

function configure(...sources: object[]): void {
  const config = parse(readFileSync(world.configFile, 'utf8')) as JsonObject;
  world.write('dpp-sync.yaml', stringify({ ...config, sources }));
}

const nameOf = (sku: string) => world.contents().products.find((one) => one['sku'] === sku)?.['name'];

describe.each([
  ['a stream that was given another name', source('erp', { products: './erp.csv' })],
  ['a source that was given another id', source('sap', { default: './erp.csv' })],
])('%s', (_, renamed) => {
  it('a renamed stream keeps its items without a call to the API, and its changes are sent', async () => {
    await given([source('erp', { default: './erp.csv' })], { 'erp.csv': rows(...twenty) });
    configure(renamed);
    const report = await world.sync();
    expect(report).toMatchObject({ items: { product: { delivered: 20 } }, quarantined: 0 });
    expect(report.missing).toEqual({});
    expect(world.requests()).toEqual({});
    world.write('erp.csv', rows('0,Changed', ...twenty.slice(1)));
    expect(await world.sync()).toMatchObject({ items: { product: { delivered: 20 } }, quarantined: 0 });
    expect(nameOf('0')).toBe('Changed');
  });

  it('a renamed stream takes over an item whose row has changed at the same time', async () => {
    await given([source('erp', { default: './erp.csv' })], { 'erp.csv': rows(...twenty) });
    configure(renamed);
    world.write('erp.csv', rows('0,Changed', ...twenty.slice(1)));
    expect(await world.sync()).toMatchObject({ items: { product: { delivered: 20 } }, quarantined: 0 });
    expect(nameOf('0')).toBe('Changed');
  });
});

describe('a stream that the config has lost', () => {
  it('a stream that the config has lost is held by the guard, and its items are missing once a person accepts that', async () => {
    const files = { 'a.csv': rows(...twenty), 'b.csv': rows('B,Other') };
    await given([source('erp', { a: './a.csv', b: './b.csv' })], files);
    configure(source('erp', { b: './b.csv' }));
    const held = await world.sync();
    expect(held).toMatchObject({ guarded: [{ source: 'erp', stream: 'a', missing: 20, isLeft: true }] });
    expect(held.missing).toEqual({});
    expect((await world.sync({ accept: ['erp'] })).missing).toEqual({ product: 20 });
    expect(await world.sync()).toMatchObject({ guarded: [], missing: { product: 20 } });
  });

  it('a stream that the config has lost is shown with the config as its cure, and no export is to be written', async () => {
    await given([source('erp', { a: './a.csv', b: './b.csv' })], {
      'a.csv': rows(...twenty),
      'b.csv': rows('B,Other'),
    });
    configure(source('erp', { b: './b.csv' }));
    await world.sync();
    const { stdout } = await runHere(['status', '-c', world.configFile]);
    const [held, first, last] = stdout
      .split('\n')
      .slice(stdout.split('\n').findIndex((line) => line.includes('erp/a: ')));
    expect(held).toContain('The config no longer has this stream');
    expect(first).toMatch(/another name now, or was removed by mistake, correct the config: .* check$/);
    expect(last).toMatch(/If the stream has ended, accept .* sync --accept erp$/);
    expect(stdout).not.toContain('export');
  });

  it('a stream that the config has lost is no longer held when it is back', async () => {
    const files = { 'a.csv': rows(...twenty), 'b.csv': rows('B,Other') };
    const both = source('erp', { a: './a.csv', b: './b.csv' });
    await given([both], files);
    configure(source('erp', { b: './b.csv' }));
    await world.sync();
    configure(both);
    const report = await world.sync();
    expect(report).toMatchObject({ guarded: [], items: { product: { delivered: 21 } } });
    expect(report.missing).toEqual({});
    expect(world.requests()).toEqual({});
  });
});

describe('a source that the config has lost', () => {
  it('a source that the config has lost keeps its items, and a conflict names the source and the stream', async () => {
    const pim = source('pim', { default: './pim.csv' });
    const files = { 'erp.csv': rows(...twenty), 'pim.csv': rows('P,Own') };
    await given([source('erp', { parts: './erp.csv' }), pim], files);
    configure(pim);
    world.write('pim.csv', rows('P,Own', '0,Of the PIM'));
    for (const _ of ['first', 'second']) {
      const report = await world.sync();
      expect(report).toMatchObject({ quarantined: 1, guarded: [] });
      expect(report.missing).toEqual({});
    }
    expect(nameOf('0')).toBe('Name 0');
    const runtime = await world.open();
    const [quarantined] = await runtime.reads.quarantined({ afterId: 0, limit: 1 });
    await runtime.close();
    expect(quarantined?.issues[0]).toMatchObject({
      code: 'claim.conflict',
      message: expect.stringContaining('stream parts of the source erp.') as string,
      cure: expect.stringContaining('give it its former id again') as string,
    });
  });
});
