import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
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
afterEach(() => world.remove());

async function given(files: Parameters<typeof smallFiles>[0] = SMALL): Promise<void> {
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(files),
    sandbox: { gates: OPEN_GATES },
    profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
}

const refuse = (operation: (typeof EACH)[number][0] | 'product.import') =>
  world.sandbox.faults.add({ operation, kind: 'status', status: 403 });
/** Runs a command that only reads. It knows only what the ledger has. */
const look = (...args: string[]) => runHere([...args, '-c', world.configFile]);

/** Each operation of a first sync, how many deliveries its refusal leaves, and items that then wait for it. */
const EACH = [
  ['product.create', 3, 'product', 'P1 P2 P3'],
  ['material.create', 2, 'material', 'M1 M2'],
  ['bom_item.create', 4, 'bom_item', null],
  ['passport.init', 3, 'passport', 'P1 P2 P3'],
  ['passport.publish', 3, 'passport', 'P1 P2 P3'],
] as const;

describe('the state of a ledger of which the API refuses an operation', () => {
  it.each(EACH)(
    'a refused %s is in the exit code, the text and the document of `status` until it is accepted',
    async (operation, count, kind, keys) => {
      await given();
      refuse(operation);
      const report = await world.sync();
      expect([exitCodeOf(report) > 0, report.refused]).toEqual([
        true,
        [{ operation, count, reason: expect.objectContaining({ code: 'denied_scope' }) }],
      ]);

      const { exitCode, json } = await look('status', '--json');
      expect([exitCode, json()]).toMatchObject([
        4,
        {
          ok: false,
          causes: expect.arrayContaining([{ cause: 'refused', count, command: 'dpp-sync check' }]),
          refused: [{ operation, count, reason: { code: 'denied_scope', status: 403 } }],
        },
      ]);
      const { stdout } = await look('status');
      expect(stdout).toMatch(
        new RegExp(
          `${count} deliveries are due and not sent, because the API refuses ${operation.replace('.', '\\.')}`,
        ),
      );
      expect(stdout).not.toContain('or else the next sync does');
      for (const key of keys?.split(' ') ?? []) {
        expect((await look('show', kind, key)).stdout).toMatch(
          /reason .*\n(.*\n)*?.*next step .*Grant the scope, or use another key/,
        );
      }
      const why = await look('why', 'P2');
      expect([why.exitCode, why.stdout]).toEqual([4, expect.stringMatching(/the API refuses/)]);

      world.sandbox.faults.clear();
      expect(exitCodeOf(await world.sync())).toBe(0);
      const after = await look('status', '--json');
      expect([after.exitCode, after.json()]).toMatchObject([0, { ok: true, causes: [], refused: [] }]);
    },
  );

  it('changes of products whose bulk import is refused are named by a `status` in a process of its own', async () => {
    const products = ['P1', 'P2', 'P3'].map((id) => ({ id, name: id, country: 'DE' }));
    await given({ ...SMALL, products, lines: [] });
    expect(exitCodeOf(await world.sync())).toBe(0);
    refuse('product.import');
    const renamed = products.map((one) => ({ ...one, name: `${one.id} new` }));
    world.writeAll(smallFiles({ ...SMALL, products: renamed, lines: [] }));
    expect(exitCodeOf(await world.sync())).toBeGreaterThan(0);
    const { exitCode, json } = await cli(['status', '--json', '-c', world.configFile]);
    expect([exitCode, json()]).toMatchObject([4, { refused: [{ operation: 'product.import', count: 3 }] }]);
  });

  it('a key that the API refuses is in `status` for everything that is due', async () => {
    await given();
    expect(exitCodeOf(await world.sync())).toBe(0);
    const config = readFileSync(world.configFile, 'utf8');
    world.write(
      'dpp-sync.yaml',
      config.replace(/apiKey: .*/, () => 'apiKey: dpp_unknown_key_0123456789'),
    );
    world.write('exports/materials.csv', 'ID;NAME;RECYCLED\nM1;Steel 2;0.4\nM2;Copper 2;0.25\nM3;Tin;0.1\n');
    expect((await cli(['sync', '--wait', '0', '-c', world.configFile])).exitCode).toBe(3);
    const { exitCode, json } = await look('status', '--json');
    expect(exitCode).toBe(4);
    const { refused, items } = json() as {
      refused: { count: number; reason: { code: string } }[];
      items: { material: { due: number } };
    };
    expect(new Set(refused.map(({ reason }) => reason.code))).toEqual(new Set(['denied_key']));
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(items.material.due);
  });
});
