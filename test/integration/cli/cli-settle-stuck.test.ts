import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { CliResult } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { withLedger } from '../../support/ledger/world-ledger.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { createSettleWorld, syncThenBlock } from '../../support/worlds/settle-world.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

/** Everything is delivered; then the quantity of two BOM items changes, which the API has no write for. */
async function syncThenChange(): Promise<void> {
  world = await createSettleWorld(queue());
  expect(exitCodeOf(await syncThenBlock(world))).toBe(4);
}

/** The same in the ledger alone, for two BOM items of P1. */
async function changeInLedger(keys: readonly string[] = ['3', '4']): Promise<void> {
  world = await createWorld({ config: { sources: SMALL_SOURCES } });
  await withLedger(world, async (ledger) => {
    for (const quantity of ['1', '2']) {
      await pullAndMap(
        ledger,
        ['P1', 'M1', ...keys].map((id) => row(id, { quantity })),
        ({ id }) => {
          const key = text(id);
          if (key === 'P1') return items(product(key));
          return items(key === 'M1' ? material(key) : bomItem(key, 'P1', 'M1', quantity));
        },
      );
      await deliverAll(ledger);
    }
  });
}

const run = (...args: string[]): Promise<CliResult> => runHere([...args, '-c', world.configFile]);

describe('dpp-sync settle of what is blocked', () => {
  it('settle of a blocked item is done by the command that the reason names, and its passport can be published then', async () => {
    await syncThenChange();
    const { item } = (await run('show', 'bom_item', '3', '--json')).json() as { item: { reason: { message: string } } };
    const [, command = ''] = /`dpp-sync (settle --delivered \S+)`/.exec(item.reason.message) ?? [];
    expect(command).toBe('settle --delivered 3');
    const held = await run('publish', 'SKU-P2', '--json');
    expect(held.exitCode).toBe(4);

    const settled = await run(...command.split(' '), '--json');
    expect(settled.json()).toMatchObject({
      ok: true,
      kind: 'bom_item',
      key: '3',
      operation: 'bom_item.update',
      state: 'delivered',
    });
    const published = await run('publish', 'SKU-P2', '--json');
    expect(published.json()).toMatchObject({ passports: [{ asked: 'SKU-P2', state: 'published' }] });
  });

  it('settle ignores all in a state once a person has confirmed how many, and a sync ends well then', async () => {
    await syncThenChange();
    const unasked = await run('settle', '--state', 'blocked', '--ignore', '--json');
    expect(unasked.exitCode).toBe(2);
    expect(unasked.json()).toMatchObject({
      error: { code: 'usage', message: expect.stringMatching(/can confirm 2 items.*--yes/) },
    });
    const before = await run('show', 'bom_item', '3');
    expect(before.stdout).toMatch(
      /next step +Make the change at the platform by hand, and .*\n .* settle --delivered 3\n/,
    );
    expect(before.stdout).not.toContain('replay');
    const { exitCode, json } = await run('settle', '--state', 'blocked', '--ignore', '--yes', '--json');
    expect(exitCode).toBe(0);
    expect(json()).toEqual({ ok: true, settled: 2, left: 0, released: 0 });
    const report = await world.sync();
    expect([exitCodeOf(report), report.items.bom_item]).toEqual([0, { delivered: 2, superseded: 2 }]);
    expect(report.passports).toEqual({ initialized: 3 });

    const shown = await run('show', 'bom_item', '3');
    expect(shown.stdout).toMatch(/state +left as it is/);
    expect(shown.stdout).toContain('A person has decided to leave the platform as it is.');
    expect(shown.stdout).toContain('the platform has: 1.25');
    expect((await run('status')).exitCode).toBe(0);
    expect((await run('items', '--state', 'superseded', '--json')).stdout.trim().split('\n')).toHaveLength(2);
    expect((await run('ledger', 'verify')).exitCode).toBe(0);

    world.writeAll(smallFiles(SMALL));
    const back = await world.sync();
    expect([exitCodeOf(back), back.items.bom_item]).toEqual([0, { delivered: 4 }]);
  });

  it('settle of a blocked item is shown with commands that a shell takes as they are, whatever the key', async () => {
    await changeInLedger(["it's", '-7']);
    const about = (...args: string[]) => runHere(['-c', world.configFile, ...args]);
    const stepOf = async (key: string) =>
      (await about('show', 'bom_item', '--', key)).stdout.match(/next step .*\n.*/)?.[0];
    expect(await stepOf("it's")).toContain(" settle --delivered 'it'\\''s'");
    expect(await stepOf('-7')).toContain(' settle --ignore -- -7`');
    expect((await about('settle', '--rejected', '--', '-7')).exitCode).toBe(0);
    expect(await stepOf('-7')).toMatch(/ replay --key -7$/);
  });

  it('settle of blocked items settles several keys, or none where one of them is wrong', async () => {
    await changeInLedger();
    const wrong = await run('settle', '3', 'nothing', '--ignore', '--json');
    expect(wrong.exitCode).toBe(2);
    expect(wrong.json()).toMatchObject({ error: { code: 'item.unknown' } });
    const both = await run('settle', '3', '4', '--rejected', '--json');
    expect(both.json()).toMatchObject({
      ok: true,
      settled: 2,
      deliveries: [
        { key: '3', state: 'rejected' },
        { key: '4', state: 'rejected' },
      ],
    });
  });

  it('settle of a blocked item ends with 2 and says what to do where the resolution does not fit', async () => {
    await changeInLedger();
    const refused: [string[], RegExp][] = [
      [['P1', '--kind', 'product', '--delivered'], /the product is delivered/],
      [['--ignore'], /either by keys or with --state/],
      [['3', '--state', 'blocked', '--ignore'], /either by keys or with --state/],
      [['3', '4', '--delivered', '--id', '7'], /Use --id only with --delivered and exactly one key/],
      [['--state', 'missing', '--delivered', '--yes'], /--state missing needs --ignore/],
      [['--state', 'gone', '--ignore'], /Allowed choices are/],
      [['--state', 'blocked', '--ignore', '--source', 'epr'], /Did you mean erp/],
    ];
    for (const [args, message] of refused) {
      const { exitCode, json } = await run('settle', ...args, '--json');
      expect({ args, exitCode }).toEqual({ args, exitCode: 2 });
      expect(json()).toMatchObject({ ok: false, error: { message: expect.stringMatching(message) } });
    }
  });
});
