import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const NO_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

const erp = (approve: object | null) => ({
  id: 'erp',
  connector: 'csv',
  options: { delimiter: ',' },
  streams: { default: { path: './products.csv', key: ['SKU'] } },
  mappings: [
    {
      stream: 'default',
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'row.COUNTRY', status: '"ACTIVE"' },
    },
  ],
  ...(approve === null ? {} : { approve }),
});

const plm = {
  id: 'plm',
  connector: 'csv',
  options: { delimiter: ',' },
  streams: { default: { path: './materials.csv', key: ['CODE'] } },
  mappings: [{ stream: 'default', to: 'material', key: 'row.CODE', fields: { code: 'row.CODE', name: 'row.NAME' } }],
};

const bom = {
  id: 'bom',
  connector: 'csv',
  options: { delimiter: ',' },
  streams: { default: { path: './boms.csv', key: ['SKU', 'PART'] } },
  mappings: [
    {
      stream: 'default',
      to: 'bom_item',
      key: 'row.SKU + "/" + row.PART',
      refs: { product: 'row.SKU', material: 'row.PART' },
      fields: { quantity: '1', unit: '"KGM"' },
    },
  ],
};

/** Products, … by their names. */
const products = (...names: string[]) =>
  ['SKU,NAME,COUNTRY', ...names.map((name, n) => `A-${n},${name},DE`)].join('\n');

let world: World;
afterEach(() => world.remove());

async function open(sources: object[], more: object = {}): Promise<void> {
  world = await createWorld({
    config: { sources, ...more },
    sandbox: { gates: NO_GATES },
    files: {
      'products.csv': products('One', 'Two', 'Three'),
      'materials.csv': 'CODE,NAME\nM-1,Steel\n',
      'boms.csv': 'SKU,PART\nA-0,M-1\n',
    },
  });
}

const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);

interface SyncDocument {
  exit: number | null;
  held: { source: string; run: number; excesses: object[]; effects: Record<string, object> }[];
  causes: { cause: string }[];
}

async function sync(...args: string[]): Promise<SyncDocument> {
  const { exitCode: exit, stdout } = await dpp('sync', ...args, '--json');
  return { exit, ...(JSON.parse(stdout) as Omit<SyncDocument, 'exit'>) };
}

const heldPlan = (source: string) => join(world.folder, `data/ledger.db.held/${source}.jsonl`);

describe('a run that would do more than its source allows', () => {
  it('is held whole until a person approves it, and then does what was approved', async () => {
    await open([erp({ creates: 2 })]);
    const { exit, held, causes } = await sync();
    expect(exit).toBe(4);
    expect(held).toEqual([
      expect.objectContaining({
        source: 'erp',
        run: 1,
        excesses: [{ source: 'erp', effect: 'creates', count: 3, limit: 2 }],
        effects: { erp: { creates: 3, changes: 0, publish: 0, unpublish: 0 } },
      }),
    ]);
    expect(causes).toContainEqual({ cause: 'held_run', count: 1, command: 'dpp-sync status' });
    expect(world.productNames()).toEqual([]);
    expect((await dpp('items', '--json')).stdout).toBe('');

    const status = await dpp('status');
    expect(status.exitCode).toBe(4);
    expect(status.stdout).toContain('It would make 3 new items (erp allows 2)');
    expect(status.stdout).toMatch(/If it is right, approve it: .*sync --accept erp\n/);

    const approved = await sync('--accept', 'erp');
    expect([approved.exit, approved.held]).toEqual([0, []]);
    expect(world.productNames()).toEqual(['One', 'Three', 'Two']);
    expect(existsSync(heldPlan('erp'))).toBe(false);
    expect((await sync()).exit).toBe(0);
  });

  it('within the bounds nobody is asked', async () => {
    await open([erp({ creates: 3, changes: '34%' })]);
    expect((await sync()).exit).toBe(0);
    world.write('products.csv', products('One', 'Two', 'Other'));
    expect((await sync()).exit).toBe(0);
    expect(world.productNames()).toEqual(['One', 'Other', 'Two']);
  });

  it('a share counts of the items that the source has', async () => {
    await open([erp({ changes: '34%' })]);
    expect((await sync()).exit).toBe(0);
    world.write('products.csv', products('One', 'Second', 'Third'));
    const { exit, held } = await sync();
    expect([exit, held[0]?.excesses]).toEqual([4, [{ source: 'erp', effect: 'changes', count: 2, limit: 1 }]]);
    expect(world.productNames()).toEqual(['One', 'Three', 'Two']);
  });

  it('an approval is for what was shown: what comes besides counts against the bounds', async () => {
    await open([erp({ creates: 1 })]);
    expect((await sync()).exit).toBe(4);
    world.write('products.csv', products('One', 'Two', 'Three', 'Four'));
    const one = await sync('--accept', 'erp');
    expect([one.exit, world.productNames()]).toEqual([0, ['Four', 'One', 'Three', 'Two']]);

    world.write('products.csv', products('One', 'Two', 'Three', 'Four', 'Five', 'Six'));
    expect((await sync()).exit).toBe(4);
    world.write('products.csv', products('One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight'));
    const two = await sync('--accept', 'erp');
    expect([two.exit, two.held[0]?.excesses]).toEqual([4, [{ source: 'erp', effect: 'creates', count: 2, limit: 1 }]]);
    expect(two.held[0]?.effects).toEqual({ erp: { creates: 4, changes: 0, publish: 0, unpublish: 0 } });
    expect(world.productNames()).toEqual(['Four', 'One', 'Three', 'Two']);
  });

  it('a run that is refused sends nothing, and nobody is asked again until a run would do something else', async () => {
    await open([erp({ creates: 2 })]);
    expect((await sync()).exit).toBe(4);
    const refused = await dpp('refuse', 'erp');
    expect([refused.exitCode, refused.stdout]).toEqual([0, expect.stringContaining('Refused run 1 of erp')]);
    const again = await sync();
    expect([again.exit, again.held, world.productNames()]).toEqual([0, [], []]);
    const status = await dpp('status');
    expect([status.exitCode, status.stdout]).toEqual([
      0,
      expect.stringMatching(/warning: The run of erp is held: .* has refused it/),
    ]);
    expect((await dpp('sync')).stdout).toMatch(/The run of erp is held: .* has refused it/);
    world.write('products.csv', products('One', 'Two', 'Three', 'Four'));
    const other = await sync();
    expect([other.exit, other.held.length, world.productNames()]).toEqual([4, 1, []]);
    expect((await dpp('refuse', 'erp')).exitCode).toBe(0);
    expect((await dpp('refuse', 'erp')).exitCode).toBe(2);
    // What was refused can be approved later.
    expect((await sync('--accept', 'erp')).exit).toBe(0);
    expect(world.productNames()).toHaveLength(4);
  });

  it('publications count for the source that owns the product, also in the run of another source', async () => {
    await open([bom, erp({ publish: 1 }), plm], { passports: { init: 'when-complete', publish: 'auto' } });
    // The products wait for a part that no source gives.
    world.write('boms.csv', 'SKU,PART\nA-0,M-9\nA-1,M-9\nA-2,M-9\n');
    const waiting = await sync();
    expect([waiting.held, world.contents().publications]).toEqual([[], []]);
    world.write('materials.csv', 'CODE,NAME\nM-1,Steel\nM-9,Brass\n');
    const { exit, held } = await sync();
    expect([exit, held[0]?.excesses]).toEqual([4, [{ source: 'erp', effect: 'publish', count: 3, limit: 1 }]]);
    expect(held[0]).toMatchObject({
      source: 'plm',
      effects: { plm: { creates: 1 }, erp: { publish: 3 } },
    });
    expect([world.contents().publications, world.contents().materials]).toMatchObject([[], [{ code: 'M-1' }]]);
    expect((await sync('--accept', 'plm')).exit).toBe(0);
    expect(world.contents().publications).toHaveLength(3);
  });

  it('the plan of a held run can be read, and applied as a plan', async () => {
    await open([erp({ creates: 2 })]);
    expect((await sync()).exit).toBe(4);
    const lines = readFileSync(heldPlan('erp'), 'utf8').trimEnd().split('\n');
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['plan', 'item', 'item', 'item', 'summary']);
    expect((await dpp('sync', '--plan', heldPlan('erp'))).exitCode).toBe(0);
    expect(world.productNames()).toHaveLength(3);
    expect((await dpp('status')).exitCode).toBe(0);
  });

  it('an approved plan that is gone approves nothing', async () => {
    await open([erp({ creates: 2 })]);
    expect((await sync()).exit).toBe(4);
    writeFileSync(heldPlan('erp'), readFileSync(heldPlan('erp'), 'utf8').replace('"One"', '"Won"'));
    const { exit, held } = await sync('--accept', 'erp');
    expect([exit, held.length, world.productNames()]).toEqual([4, 1, []]);
  });

  it('an approval is only for the plan that was seen, also where a process has ended while it kept the next one', async () => {
    await open([erp({ creates: 2 })]);
    expect((await sync()).exit).toBe(4);
    const runtime = await world.open();
    expect(await runtime.held.approve('erp', { by: 'anna', at: Date.now() })).toMatchObject({ runId: 1 });
    await runtime.close();
    world.write('products.csv', products('One', 'Two', 'Three', 'Four', 'Five', 'Six'));
    // The plan of the next run is kept, and the note about the run is still the one before.
    expect((await dpp('plan', 'erp', '--out', heldPlan('erp'))).exitCode).toBe(0);
    const { exit, held } = await sync();
    expect([exit, held[0]?.run, world.productNames()]).toEqual([4, 2, []]);
  });

  it('an approval that was noted counts for the next run, also after its process has ended', async () => {
    await open([erp({ creates: 2 })]);
    expect((await sync()).exit).toBe(4);
    const runtime = await world.open();
    await runtime.held.approve('erp', { by: 'anna', at: Date.UTC(2026, 10, 29, 17, 40) });
    await runtime.close();
    expect((await sync()).exit).toBe(0);
    expect(world.productNames()).toHaveLength(3);
  });

  it('new passports wait while the run of their parts is held', async () => {
    await open([erp(null), plm, { ...bom, approve: { creates: 0 } }], {
      passports: { init: 'when-complete', publish: 'auto' },
    });
    expect((await sync()).exit).toBe(4);
    expect(world.contents().publications).toEqual([]);
    expect((await dpp('why', 'A-0')).stdout).toMatch(/the last run of .*bom.* is held/);
    expect((await sync('--accept', 'bom')).exit).toBe(0);
    expect(world.contents().publications).toHaveLength(3);
  });

  it('the run is shown as held, and leaves no folder behind', async () => {
    await open([erp({ creates: 2 })]);
    await sync();
    await sync();
    const { sources } = JSON.parse((await dpp('status', '--json')).stdout) as {
      sources: { lastRun: { id: number; result: string; error: string } }[];
    };
    expect(sources[0]?.lastRun).toMatchObject({ id: 2, result: 'held' });
    expect((await dpp('ledger', 'verify')).stdout).toContain('is sound');
    expect(sources[0]?.lastRun.error).toContain('The run would have made 3 new items (erp allows 2)');
    expect(readdirSync(join(world.folder, 'data')).filter((name) => name.startsWith('dpp-sync-'))).toEqual([]);
  });
});

describe('a changed policy for passports', () => {
  const passports = (init: string, publish: string) => ({ passports: { init, publish } });

  /** Writes the config again, with another policy. */
  function change(init: string, publish: string): void {
    const config = readFileSync(world.configFile, 'utf8');
    world.write(
      'dpp-sync.yaml',
      config.replace(/init: \S+/, `init: ${init}`).replace(/publish: [a-z]\S+/, `publish: ${publish}`),
    );
  }

  it('waits for a run that counts what it does, and is used when a person has approved the run', async () => {
    await open([erp({ publish: 2 })], passports('manual', 'manual'));
    expect((await sync()).exit).toBe(0);
    change('when-complete', 'auto');
    const { exit, held } = await sync();
    expect([exit, held[0]?.excesses]).toEqual([4, [{ source: 'erp', effect: 'publish', count: 3, limit: 2 }]]);
    expect((await sync()).exit).toBe(4);
    expect(world.contents().publications).toEqual([]);
    expect((await sync('--accept', 'erp')).exit).toBe(0);
    expect(world.contents().publications).toHaveLength(3);
  });

  it('is used by the next run if it stays within the bounds', async () => {
    await open([erp({ publish: 3 })], passports('manual', 'manual'));
    expect((await sync()).exit).toBe(0);
    change('when-complete', 'auto');
    expect((await sync()).exit).toBe(0);
    expect(world.contents().publications).toHaveLength(3);
  });

  it('is used at once without bounds', async () => {
    await open([erp(null)], passports('manual', 'manual'));
    expect((await sync()).exit).toBe(0);
    change('when-complete', 'auto');
    expect((await sync()).exit).toBe(0);
    expect(world.contents().publications).toHaveLength(3);
  });
});
