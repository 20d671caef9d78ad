import { afterEach, describe, expect, it } from 'vitest';
import type { Reads } from '../../../src/domain/ports/ledger/reads.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const COUNT = 40;
const QUICK = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 20, timeout: 20 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 20 } },
};

function rename(name: string): void {
  const { products } = largeExport(COUNT);
  const files = smallFiles({ products: products.map((one) => ({ ...one, name })), materials: [], lines: [] });
  world.writeAll(files);
}

async function viewed<T>(look: (reads: Reads) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await look(runtime.reads);
}

/** Products that were created one by one, and then the lists of the platform are closed. */
async function given(withoutProof: 'hold' | 'accept', status: number): Promise<void> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    profile: { ...QUICK, imports: { creates: 'off' }, answers: { withoutProof } },
  });
  rename('First');
  expect(exitCodeOf(await world.sync())).toBe(0);
  world.sandbox.faults.add({ operation: 'product.list', kind: 'status', status });
  rename('Second');
  world.requests();
}

const named = (name: string): number => world.contents().products.filter((one) => one['name'] === name).length;

describe.each([403, 404])('changed products of a platform whose list of products is answered %i', (status) => {
  it('their changes are taken by the answers if the profile accepts these, and are counted until a list proves imports', async () => {
    await given('accept', status);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(named('Second')).toBe(COUNT);
    // The sizes of imports grow as they do with a list.
    expect(world.requests()['product.import']).toBeLessThanOrEqual(4);
    expect(await viewed((views) => views.unproven())).toEqual([{ kind: 'product', because: 'accepted', count: COUNT }]);
    world.endLatency();
    rename('Third');
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(named('Third')).toBe(COUNT);
    expect(await viewed((views) => views.unproven())).toEqual([]);
    const { changes } = await viewed((views) => views.importProofs());
    expect(changes).toMatchObject({ state: 'proven' });
    expect(changes).not.toHaveProperty('isTaken');
  });

  it('one change is held, and no other is sent, before a run can read the list if the profile accepts no answer without proof', async () => {
    await given('hold', status);
    const report = await world.sync({ waitMs: WAIT_MS });
    expect(exitCodeOf(report)).not.toBe(0);
    expect(world.requests()['product.import']).toBe(1);
    expect(named('Second')).toBe(1);
    const [held] = (await viewed((views) => views.itemsAfter({ state: 'in_doubt', afterId: 0, limit: 9 }))).items;
    expect(held?.reason).toMatchObject({ code: 'change_proof' });
    expect(held?.reason?.message).toContain('The list of products cannot be read, so no further change is imported.');
    expect(held?.reason?.message).toContain('`answers.withoutProof: accept`');
    expect(await viewed((views) => views.unproven())).toEqual([]);
    world.endLatency();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(named('Second')).toBe(COUNT);
  });
});

it('a sync gives up after its wait if the list that has to prove an import of changed products cannot be read', async () => {
  await given('hold', 503);
  const report = await world.sync({ waitMs: 1000 });
  expect(report.fault).toMatchObject({ code: 'api.unreachable', exitCode: 3 });
  expect(report.fault?.message).toContain('list of products could not be read for 1 s');
  expect(report.fault?.message).toContain(
    `1 delivery waits to be looked up, because dpp-sync cannot read the list. ${COUNT - 1} deliveries wait until the list has shown what an import has done.`,
  );
  expect(named('Second')).toBe(1);
});
