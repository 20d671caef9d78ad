import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const PRODUCTS = 'sku;name;note;mass\nA-1;Pump;fine;1,5\nA-2;Seal;est\ufffdo;12.34,5\n';
const FIELDS = { sku: 'row.sku', name: 'row.name' };

let world: World;
afterEach(() => world.remove());

async function start(source: object, files: Record<string, string> = {}): Promise<void> {
  const options = { path: './p.csv', delimiter: ';', key: ['sku'], decimalColumns: ['mass'] };
  const sources = [{ id: 'erp', connector: 'csv', options, ...source }];
  world = await createWorld({ config: { sources }, files: { 'p.csv': PRODUCTS, ...files } });
}

const mapping = (more: object = {}) => ({ mappings: [{ to: 'product', key: 'row.sku', fields: FIELDS, ...more }] });

async function sync() {
  const result = await runHere(['sync', '-c', world.configFile]);
  return { ...result, names: world.contents().products.map(({ name }) => name) };
}

describe('a value that cannot be read, in a column that nothing uses', () => {
  it('the row is delivered, and the run warns of it', async () => {
    await start(mapping());
    const { exitCode, stderr, names } = await sync();
    expect({ exitCode, names }).toEqual({ exitCode: 0, names: ['Pump', 'Seal'] });
    expect(stderr).toContain(
      'One row has an unreadable value in a column that no mapping uses, and is used without it: note, mass, first at p.csv:3.',
    );
  });

  it('nothing of the value is stored where the column is omitted', async () => {
    await start({ ...mapping(), omit: ['note', 'mass'] });
    const { exitCode, stderr, names } = await sync();
    expect({ exitCode, names }).toEqual({ exitCode: 0, names: ['Pump', 'Seal'] });
    expect(stderr).toContain('first at p.csv:3');
    expect((await runHere(['show', 'product', 'A-2', '-c', world.configFile])).stdout).not.toContain('note');
  });

  it.each([
    ['a field uses it', mapping({ fields: { ...FIELDS, description: 'row.note' } })],
    ['`when` uses it', mapping({ when: 'row.note != ""' })],
    [
      'an expression computes the name of a column',
      mapping({ fields: { ...FIELDS, description: 'row["no" + "te"]' } }),
    ],
    ['an expression uses the whole row', mapping({ when: 'row.exists(name, row[name] == "x") || true' })],
  ])('the row is held where %s', async (_, source) => {
    await start(source);
    const { exitCode, names } = await sync();
    expect({ exitCode, names }).toEqual({ exitCode: 4, names: ['Pump'] });
  });

  it('the row is held where the column is a part of the key', async () => {
    await start({
      ...mapping(),
      options: { path: './p.csv', delimiter: ';', key: ['sku', 'note'] },
    });
    expect(await sync()).toMatchObject({ exitCode: 4, names: ['Pump'] });
  });

  it('a row of a lookup table is used unless the table takes the column', async () => {
    const lookup = (value: string) => ({
      options: { delimiter: ';' },
      streams: { p: { path: './p.csv', key: ['sku'] }, t: { path: './t.csv', key: ['id'] } },
      lookups: { names: { stream: 't', key: 'id', value } },
      mappings: [
        { stream: 'p', to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'lookup("names", row.sku)' } },
        { stream: 't', to: 'material', key: 'row.id', fields: { name: 'row.id' } },
      ],
    });
    const files = { 't.csv': 'id;name;other\nA-1;One;x\nA-2;Two;\ufffd\n' };
    await start(lookup('name'), files);
    expect(await sync()).toMatchObject({ exitCode: 0, names: ['One', 'Two'] });
    await world.remove();
    await start(lookup('other'), files);
    expect(await sync()).toMatchObject({ exitCode: 4, names: ['x'] });
  });
});
