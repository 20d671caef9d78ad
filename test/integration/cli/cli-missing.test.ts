import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

/** The passport of P1 is public, and P1 has left the export. */
async function loseP1(onMissing: 'flag' | 'ignore' | 'unpublish' = 'flag'): ReturnType<typeof runHere> {
  const guard = { maxMissing: '100%', maxDrop: '100%' };
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES.map((source) => ({ ...source, guard, onMissing })) },
    files: smallFiles(SMALL),
    sandbox: { gates: { materialData: { enabled: false } } },
  });
  await world.sync();
  expect((await run('publish', 'SKU-P1')).exitCode).toBe(0);
  const products = SMALL.products.filter(({ id }) => id !== 'P1');
  world.write('exports/products.csv', smallFiles({ ...SMALL, products })['exports/products.csv'] ?? '');
  return run('sync');
}

describe('a product that is gone from its source', () => {
  it.each([
    { decision: 'its passport is withdrawn by hand', words: [['unpublish', 'SKU-P1']] },
    { decision: 'a person accepts it', words: [['settle', 'SKU-P1', '--ignore']] },
    {
      decision: 'its passport is withdrawn, and a person accepts it',
      words: [
        ['unpublish', 'SKU-P1'],
        ['settle', 'SKU-P1', '--ignore'],
      ],
    },
    { decision: 'the config withdraws its passport', words: [], onMissing: 'unpublish' as const },
  ])(
    'one decision about a missing product is enough, and a second one is accepted: $decision',
    async ({ words, onMissing }) => {
      await loseP1(onMissing);
      if (words.length > 0) {
        const { stdout } = await run('show', 'product', 'SKU-P1');
        expect(stdout).toMatch(/one command is enough: `.* settle --ignore P1` [^]* unpublish SKU-P1\n/);
        const asked = await run('why', 'SKU-P1');
        expect(asked.stdout).toMatch(
          /rightly gone, one command is enough: `.* settle --ignore P1` [^]* unpublish SKU-P1\n/,
        );
      }
      for (const word of words) expect((await run(...word)).exitCode).toBe(0);
      expect((await run('status', '--json')).json()).toMatchObject({ missing: {} });
      const shown = await run('show', 'product', 'SKU-P1');
      expect(shown.stdout).toContain('missing from its source, whose row is gone');
      expect(shown.stdout).toMatch(/next step .* nothing has to be done\./);
      expect(shown.stdout).not.toMatch(/ unpublish | settle /);
      const told = await run('why', 'SKU-P1');
      expect(told.stdout).toContain('If it is rightly gone, nothing has to be done');
      expect(told.stdout).not.toMatch(/ publish SKU| unpublish | settle /);

      const again = await run('settle', 'SKU-P1', '--ignore');
      expect(again.exitCode).toBe(0);
      expect(again.stdout).toContain('Noted. The product P1 may be missing from its source.');
    },
  );
});

describe('what was done with missing items is said where people look', () => {
  const UNPUBLISHED = 'Missing from their sources, with nothing to decide: 1 product unpublished.';

  it('`unpublish`: sync, status and the list of missing items say that the passport is unpublished', async () => {
    const { stdout } = await loseP1('unpublish');
    expect(stdout).toContain(UNPUBLISHED);
    expect(stdout).not.toContain('No item is missing.');
    expect((await run('status')).stdout).toContain(UNPUBLISHED);
    expect((await run('items', '--state', 'missing')).stderr).toContain(UNPUBLISHED);
    expect((await run('items', '--state', 'missing_decided', '--json')).stdout).toContain('"naturalKey":"SKU-P1"');
    for (const command of ['sync', 'status']) {
      expect((await run(command, '--json')).json()).toMatchObject({
        missing: {},
        missingOutcomes: [{ kind: 'product', outcome: 'unpublished', count: 1 }],
      });
    }
  });

  it('`unpublish`: a passport that cannot be withdrawn yet is to be unpublished, and its product counts as missing', async () => {
    await loseP1();
    const config = readFileSync(world.configFile, 'utf8');
    const { key } = world.sandbox.issueKey({ organization: 'acme', name: 'writer', scopes: ['read', 'write'] });
    world.write('dpp-sync.yaml', config.replaceAll('onMissing: flag', 'onMissing: unpublish').replace(API_KEY, key));
    const { stdout } = await run('sync');
    expect(stdout).toContain('with nothing to decide: 1 product to be unpublished.');
    expect(stdout).not.toMatch(/kept at the platform|No item is missing/);
    expect((await run('items', '--state', 'missing')).stdout).toContain('SKU-P1');
  });

  it('`ignore`: sync says that the items of missing rows are kept, and no item counts as missing', async () => {
    const { stdout } = await loseP1('ignore');
    expect(stdout).toContain('Missing items: 1 product kept at the platform as they are (onMissing: ignore).');
    expect(stdout).not.toContain('No item is missing.');
    expect((await run('status')).stdout).not.toContain('issing');
    expect((await run('status', '--json')).json()).toMatchObject({ missing: {} });
  });

  it('`flag`: sync says what a person has to decide, and afterwards what was decided', async () => {
    expect((await loseP1()).stdout).toContain('Missing from their sources, and kept at the platform: 1 product.');
    await run('settle', 'SKU-P1', '--ignore');
    const accepted = 'with nothing to decide: 1 product accepted as missing by a person.';
    for (const command of ['sync', 'status']) expect((await run(command)).stdout).toContain(accepted);
  });
});

describe('a source that the config no longer has', () => {
  const SHOP = {
    id: 'shop',
    connector: 'csv',
    options: { path: './exports/shop.csv', key: ['ID'] },
    mappings: [{ to: 'product', key: 'row.ID', fields: { sku: 'row.ID', name: 'row.NAME', status: '"DRAFT"' } }],
  };
  const HEAD = 'ID,NAME\n';
  const FORMER = 'The source shop is no longer in the config. Its items stay at the platform as they are';

  const configure = (sources: readonly object[]) =>
    world.write('dpp-sync.yaml', stringify({ ...(parse(readFileSync(world.configFile, 'utf8')) as object), sources }));

  async function isNamed(): Promise<boolean[]> {
    const shown = await Promise.all(['sync', 'status'].map((command) => run(command)));
    const documents = await Promise.all(['sync', 'status'].map((command) => run(command, '--json')));
    const found = documents.map((document) => document.json() as { warnings: string[] });
    return [
      ...shown.map(({ stdout, stderr }) => `${stdout}${stderr}`.includes(FORMER)),
      ...found.map(({ warnings }) => warnings.some((warning) => warning.startsWith(FORMER))),
    ];
  }

  it('`sync` and `status` name it, until it is back or was ended by an empty export', async () => {
    world = await createWorld({
      queue: queue(),
      config: { sources: [...SMALL_SOURCES, SHOP] },
      files: { ...smallFiles(SMALL), 'exports/shop.csv': `${HEAD}S1,Pump\nS2,Motor\n` },
    });
    await world.sync();
    configure(SMALL_SOURCES);
    expect(await isNamed()).toEqual([true, true, true, true]);
    expect((await run('status', '--json')).json()).toMatchObject({ formerSources: ['shop'] });
    configure([...SMALL_SOURCES, SHOP]);
    expect(await isNamed()).toEqual([false, false, false, false]);
    world.write('exports/shop.csv', HEAD);
    await run('sync');
    await run('sync', '--accept', 'shop');
    configure(SMALL_SOURCES);
    expect(await isNamed()).toEqual([false, false, false, false]);
    // Its products are missing, and nobody has decided about them.
    expect((await run('status')).stdout).toContain('Missing from their sources, and kept at the platform: 2 products.');
    expect((await run('sync', '--json')).json()).toMatchObject({ missing: { product: 2 } });
    await run('settle', '--state', 'missing', '--ignore', '--yes');
    expect((await run('status')).stdout).not.toContain('kept at the platform');
  });
});

describe('an item that the platform never got', () => {
  const guard = { maxMissing: '100%', maxDrop: '100%' };
  const line = { id: '5', product: 'P1', material: 'M9', quantity: '1' };

  async function given(onMissing: 'flag' | 'unpublish' = 'flag'): Promise<void> {
    world = await createWorld({
      queue: queue(),
      config: {
        sources: SMALL_SOURCES.map((source) => ({ ...source, guard, onMissing })),
        passports: { init: 'when-complete', publish: 'auto' },
      },
      files: smallFiles({ ...SMALL, lines: [...SMALL.lines, line] }),
      sandbox: { gates: { materialData: { enabled: false } } },
    });
  }

  /** The row names the right material, which gives its BOM item another key. */
  const correct = () =>
    world.write(
      'exports/bom.csv',
      smallFiles({ ...SMALL, lines: [...SMALL.lines, { ...line, id: '6', material: 'M1' }] })['exports/bom.csv'] ?? '',
    );

  it('needs nothing once its row is gone: no exit code 4, no count, no name in `why`', async () => {
    await given();
    const first = await run('sync');
    expect(first.exitCode).toBe(4);
    expect(first.stdout).toContain('M9, which no usable record gives');
    correct();
    const second = await run('sync');
    expect(second).toMatchObject({ exitCode: 0 });
    for (const { stdout } of [second, await run('sync'), await run('status')])
      expect(stdout).not.toMatch(/M9|kept at the platform|BOM item.* wait|superseded/);
    expect((await run('status', '--json')).json()).toMatchObject({
      ok: true,
      items: { bom_item: { delivered: 5 } },
      missing: {},
      missingOutcomes: [],
    });
    expect((await run('items', '--state', 'missing')).stderr).toContain('No item matches.');
    expect((await run('why', 'SKU-P1')).stdout).toContain('Its 3 BOM items are at the platform');
    const shown = (await run('show', 'bom_item', '5')).stdout;
    expect(shown).toContain('nothing has to be done: the platform never got the item.');
    expect(shown).not.toMatch(/keeps it|by hand|settle/);

    world.write('exports/bom.csv', smallFiles({ ...SMALL, lines: [...SMALL.lines, line] })['exports/bom.csv'] ?? '');
    expect((await run('sync')).stdout).toContain('M9, which no usable record gives');
    expect((await run('show', 'bom_item', '5')).stdout).toMatch(/state +waiting/);
  });

  it('needs nothing after a person has ended its delivery either', async () => {
    await given();
    await run('sync');
    expect((await run('settle', '5', '--ignore')).exitCode).toBe(0);
    correct();
    expect(await run('sync')).toMatchObject({ exitCode: 0 });
    expect((await run('status')).stdout).not.toMatch(/kept at the platform|superseded/);
    const shown = (await run('show', 'bom_item', '5')).stdout;
    expect(shown).toContain('nothing has to be done: the platform never got the item.');
    expect(shown).not.toMatch(/keeps it|by hand|settle --ignore/);
  });
});

describe('BOM items of a product that is missing too', () => {
  /** The BOM items of P1 leave the export, and P1 itself if `lost` says so. Its passport is public. */
  async function loseP1WithItems(
    onMissing: 'flag' | 'unpublish',
    lost: { product: boolean },
  ): ReturnType<typeof runHere> {
    const guard = { maxMissing: '100%', maxDrop: '100%' };
    world = await createWorld({
      queue: queue(),
      config: {
        sources: SMALL_SOURCES.map((source) => ({ ...source, guard, onMissing })),
        passports: { init: 'when-complete', publish: 'auto' },
      },
      files: smallFiles(SMALL),
      sandbox: { gates: { materialData: { enabled: false } } },
    });
    await world.sync();
    const products = SMALL.products.filter(({ id }) => !lost.product || id !== 'P1');
    const lines = SMALL.lines.filter(({ product }) => product !== 'P1');
    world.writeAll(smallFiles({ ...SMALL, products, lines }));
    return run('sync');
  }

  it('are decided with the product, once its passport is withdrawn', async () => {
    const { stdout } = await loseP1WithItems('unpublish', { product: true });
    expect(stdout).not.toContain('kept at the platform');
    expect(stdout).toContain('1 product unpublished; 2 BOM items decided with their missing products.');
    expect((await run('status', '--json')).json()).toMatchObject({ missing: {} });
    expect((await run('items', '--state', 'missing', '--kind', 'bom_item', '--json')).stdout).toBe('');
    expect((await run('show', 'bom_item', '1')).stdout).toMatch(
      /and it is decided with its missing product\n[^]*next step .* nothing has to be done\./,
    );
  });

  it('are decided with the product, once a person has accepted that it is missing', async () => {
    expect((await loseP1WithItems('flag', { product: true })).stdout).toContain('1 product, 2 BOM items.');
    expect((await run('show', 'product', 'SKU-P1')).stdout).toContain('one command is enough: ');
    expect((await run('settle', '--ignore', 'SKU-P1')).stdout).toBe(
      'Noted. The product P1 may be missing from its source. Its missing BOM items need no decision.\n',
    );

    const decided = '1 product accepted as missing by a person; 2 BOM items decided with their missing products.';
    for (const command of ['status', 'sync']) {
      const { stdout } = await run(command);
      expect(stdout).not.toContain('kept at the platform');
      expect(stdout).toContain(decided);
      expect((await run(command, '--json')).json()).toMatchObject({
        missing: {},
        missingOutcomes: [
          { kind: 'bom_item', outcome: 'with_product', count: 2 },
          { kind: 'product', outcome: 'accepted', count: 1 },
        ],
      });
    }
    expect((await run('items', '--state', 'missing', '--json')).stdout).toBe('');
    expect((await run('items', '--state', 'missing_decided', '--kind', 'bom_item', '--json')).stdout).toMatch(
      /"key":"1"/,
    );
    expect((await run('show', 'bom_item', '1')).stdout).toMatch(
      /and it is decided with its missing product\n[^]*next step .* nothing has to be done\./,
    );

    for (const [file, content] of Object.entries(
      smallFiles({ ...SMALL, lines: SMALL.lines.filter(({ product }) => product !== 'P1') }),
    ))
      world.write(file, content);
    expect((await run('sync')).stdout).toContain('kept at the platform: 2 BOM items.');
  });

  it('count as missing while their product is there, and no hint names `unpublish`', async () => {
    for (const onMissing of ['unpublish', 'flag'] as const) {
      const { stdout } = await loseP1WithItems(onMissing, { product: false });
      expect(stdout).toContain('kept at the platform: 2 BOM items.');
      expect(stdout).not.toContain('unpublish SKU');
      if (onMissing === 'unpublish') await world.remove();
    }
    await world.remove();
    expect((await loseP1WithItems('flag', { product: true })).stdout).toMatch(
      /kept at the platform: 1 product, 2 BOM items\.[^]*unpublish SKU/,
    );
    const all = await run('settle', '--state', 'missing', '--ignore', '--yes', '--json');
    expect(all.json()).toMatchObject({ settled: 3 });
  });
});
