import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliResult } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { loseAnswers } from '../../support/ledger/deliveries.ts';
import { items, material, product } from '../../support/ledger/items.ts';
import { mapRows, pullRows, row } from '../../support/ledger/records.ts';
import { withLedger } from '../../support/ledger/world-ledger.ts';
import { createAtPlatform, PRODUCT_P1, stageLostAnswers } from '../../support/worlds/settle-world.ts';
import { SMALL_SOURCES } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
/** A product, a material and a BOM item of both; of the first two the answers are lost. */
beforeEach(async () => {
  world = await createWorld({ config: { sources: SMALL_SOURCES } });
  await stageLostAnswers(world, ['P1', 'M1', 'B1']);
});
afterEach(() => world.remove());

const settle = (...args: string[]): Promise<CliResult> =>
  runHere(['settle', ...args, '-c', world.configFile, '--json']);

describe('dpp-sync settle', () => {
  it('settle binds under the given id, in the type that the platform uses', covers('answer-lost', 'I4'), async () => {
    const { exitCode, json } = await settle('SKU-P1', '--delivered', '--id', '4711');
    expect(json()).toEqual({
      ok: true,
      kind: 'product',
      key: 'P1',
      operation: 'product.create',
      state: 'delivered',
      remoteId: 4711,
      released: 0,
    });
    expect(exitCode).toBe(0);
    expect((await settle('M1', '--delivered', '--id', 'mat-7')).json()).toMatchObject({
      remoteId: 'mat-7',
      released: 1,
    });
    const shown = await runHere(['show', 'product', 'P1', '-c', world.configFile]);
    expect(shown.stdout).toContain('A person has reported that the write arrived.');
  });

  it(
    'settle reads the id back where none is given, and asks for it where the platform shows none',
    covers('answer-lost', 'I4', 'I6'),
    async () => {
      const missing = await settle('P1', '--delivered');
      expect(missing.exitCode).toBe(2);
      expect(missing.json()).toMatchObject({
        error: { code: 'usage', message: expect.stringMatching(/no product "SKU-P1".*--id/) },
      });
      const id = await createAtPlatform(world, 'products', PRODUCT_P1);
      expect((await settle('P1', '--delivered')).json()).toMatchObject({ ok: true, state: 'delivered', remoteId: id });
    },
  );

  it('settle marks an absent item rejected, which a replay may send', covers('answer-lost', 'I6'), async () => {
    expect((await settle('P1', '--rejected')).json()).toMatchObject({ ok: true, state: 'rejected', released: 0 });
    const replay = await runHere(['replay', '--state', 'rejected', '--dry-run', '-c', world.configFile, '--json']);
    expect(replay.json()).toMatchObject({ ok: true, records: 1 });
  });

  it('settle takes an id for no two items', async () => {
    await settle('P1', '--delivered', '--id', '7');
    await withLedger(world, async (ledger) => {
      await pullRows(ledger, { stream: 'more', rows: [row('P2')] });
      await mapRows(ledger, () => items(product('P2')));
      await loseAnswers(ledger);
    });
    const { exitCode, json } = await settle('P2', '--delivered', '--id', '7');
    expect(exitCode).toBe(2);
    expect(json()).toMatchObject({
      error: { code: 'usage', message: expect.stringContaining('already belongs to the product "P1"') },
    });
  });

  it.each(['', '.', '..', '/api/products/12/', 'a b', 'a\nb', 'dpp_test0123456789abcdefghij', 'x'.repeat(256)])(
    'settle ends with 2 for "%s", which is no id, and settles nothing',
    async (id) => {
      for (const key of ['P1', 'M1']) {
        const { exitCode, json, stdout } = await settle(key, '--delivered', `--id=${id}`);
        expect(exitCode).toBe(2);
        expect(json()).toMatchObject({
          error: { code: 'usage', message: expect.stringMatching(/^--id .* cannot be an id/) },
        });
        expect(stdout).not.toContain('dpp_test0123456789');
      }
      expect((await runHere(['items', '--state', 'in_doubt', '-c', world.configFile, '--json'])).stdout).toContain(
        'P1',
      );
    },
  );

  it('settle asks which item is meant where several are unconfirmed', async () => {
    await withLedger(world, async (ledger) => {
      await pullRows(ledger, { stream: 'more', rows: [row('X')] });
      await mapRows(ledger, () => items({ ...material('P1'), payload: { code: 'other', name: 'P1' } }));
      await loseAnswers(ledger);
    });
    const { exitCode, json } = await settle('P1', '--rejected');
    expect(exitCode).toBe(2);
    expect(json()).toMatchObject({
      error: { code: 'usage', message: expect.stringMatching(/--kind product or --kind material/) },
    });
    expect((await settle('P1', '--rejected', '--kind', 'material')).json()).toMatchObject({
      ok: true,
      kind: 'material',
    });
  });

  it('settle ends with 2 for an item that is not unconfirmed or unknown, and for contradictory options', async () => {
    const refused: [string[], RegExp][] = [
      [['B1', '--delivered'], /the BOM item is waiting/],
      [['P', '--rejected'], /Did you mean P1/],
      [['P1'], /either --delivered, --rejected or --ignore/],
      [['P1', '--delivered', '--rejected'], /either --delivered, --rejected or --ignore/],
      [['P1', '--rejected', '--id', '7'], /Use --id only with --delivered/],
      [['P1', '--rejected', '--kind', 'bom_item'], /no BOM item "P1"/],
    ];
    for (const [args, message] of refused) {
      const { exitCode, json } = await settle(...args);
      expect({ args, exitCode }).toEqual({ args, exitCode: 2 });
      expect(json()).toMatchObject({ ok: false, error: { message: expect.stringMatching(message) } });
    }
  });

  it('settle ends with 3 and names the holder while another process works on the ledger', async () => {
    await withLedger(world, async () => {
      const { exitCode, json } = await settle('P1', '--rejected');
      expect(exitCode).toBe(3);
      expect(json()).toMatchObject({
        error: { code: 'ledger.held', message: expect.stringContaining('"dpp-sync test"') },
      });
    });
  });
});
