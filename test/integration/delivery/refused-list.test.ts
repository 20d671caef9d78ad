import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { causesOf, exitCodeOf } from '../../../src/observe/standing.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

const queue = quickQueue();
let world: World;

async function given(): Promise<void> {
  world = await createWorld({
    queue: queue(),
    target: { bom: 'assume-present' },
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(SMALL),
    sandbox: { gates: OPEN_GATES },
    profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
}

type List = 'product.list' | 'material.list' | 'publication.list';
const refuse = (operation: List) => world.sandbox.faults.add({ operation, kind: 'status', status: 403 });
const askedInVain = (list: List) => world.sandbox.inspect().requests[list]?.['403'];

describe('a sync with a key for which one list is closed', () => {
  afterEach(() => world.remove());

  it.each([
    ['product.list', 'list of products', { product: { due: 3 }, material: { delivered: 2 } }],
    ['material.list', 'list of materials', { product: { delivered: 3 }, material: { due: 2 } }],
  ] as const)('a refused %s stops what needs this list, and the other list is read', async (list, name, items) => {
    await given();
    refuse(list);
    const report = await world.sync();
    expect([exitCodeOf(report), report.fault, report.items]).toMatchObject([4, null, items]);
    expect(report.warnings).toEqual([
      expect.stringMatching(new RegExp(`^The API refuses the ${name} to the key, .* new items wait until a list`)),
    ]);
    expect(report.suspended).toEqual([
      expect.objectContaining({ reason: expect.objectContaining({ message: expect.stringContaining(name) }) }),
    ]);
    const status = await runHere(['status', '-c', world.configFile]);
    expect([status.exitCode, status.stdout]).toEqual([
      4,
      expect.stringContaining(`The platform's ${name} could not be read`),
    ]);
    world.sandbox.faults.clear();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.contents()).toMatchObject({
      products: { length: 3 },
      materials: { length: 2 },
      bomItems: { length: 4 },
    });
  });

  it('a refused list of publications keeps the products that the platform has, and materials are read and bound', async () => {
    await given();
    expect(exitCodeOf(await world.sync())).toBe(0);
    rmSync(join(world.folder, 'data'), { recursive: true });
    refuse('publication.list');
    const report = await world.sync();
    expect([exitCodeOf(report), report.fault, report.items]).toMatchObject([
      4,
      null,
      { product: { due: 3 }, material: { delivered: 2 } },
    ]);
    expect(report.warnings).toEqual([expect.stringMatching(/^The API refuses the list of publications to the key/)]);
    expect(report.suspended).toMatchObject([
      { kind: 'product', reason: { message: expect.stringContaining('list of publications') } },
    ]);
    expect(askedInVain('publication.list')).toBe(1);
    world.sandbox.faults.clear();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.contents()).toMatchObject({
      products: { length: 3 },
      materials: { length: 2 },
      bomItems: { length: 4 },
    });
  });

  it('a refused list of publications leaves an unconfirmed withdrawal, and an unconfirmed create is looked up', async () => {
    await given();
    expect(exitCodeOf(await world.sync())).toBe(0);
    world.sandbox.faults.add({ operation: 'passport.unpublish', kind: 'reset-after', count: 1 });
    world.sandbox.faults.add({ operation: 'material.create', kind: 'reset-after', count: 1 });
    refuse('publication.list');
    const config = ['-c', world.configFile];
    const withdrawn = await cli(['unpublish', 'P1', '--wait', '2', ...config]);
    expect([withdrawn.exitCode, withdrawn.stdout + withdrawn.stderr]).toEqual([
      3,
      expect.stringContaining('It has refused the list of publications. 1 delivery is'),
    ]);
    world.write('exports/materials.csv', 'ID;NAME;RECYCLED\nM1;Steel;0.4\nM2;Copper;0.25\nM3;Tin;0.1\n');
    const report = await world.sync();
    expect(report.items.material).toEqual({ delivered: 3 });
    expect(report.warnings).toEqual([
      expect.stringMatching(/^The API refuses the list of publications .* 1 delivery is left to be looked up\.$/),
    ]);
    expect([exitCodeOf(report), causesOf(report)]).toEqual([
      4,
      [{ cause: 'passport_unconfirmed', count: 1, command: 'dpp-sync items --kind passport --state in_doubt' }],
    ]);
    world.sandbox.faults.clear();
    expect((await world.sync()).fault).toBeNull();
    const runtime = await world.open();
    expect(await runtime.reads.item('passport', 'P1')).toMatchObject({ state: 'delivered' });
    await runtime.close();
  });
});
