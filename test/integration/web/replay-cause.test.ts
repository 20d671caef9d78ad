import { afterEach, describe, expect, it } from 'vitest';
import { operationContext } from '../../../src/admin/local-admin.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { replayCause, settleCause } from '../../../src/operations/causes.ts';
import type { OperationContext } from '../../../src/operations/runtime.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
let runtime: Runtime;

afterEach(async () => {
  await runtime.close();
  await world.remove();
});

/** A runtime whose lookup file lacks the state of one product. No daemon watches the file. */
async function withQuarantine(): Promise<{ context: OperationContext; cause: string }> {
  world = await createWorld({
    config: { sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, 'status.csv': 'key,value\n10,DRAFT\n' },
  });
  await world.sync();
  runtime = await world.open();
  const [cause] = await runtime.reads.causes({ type: 'quarantine' });
  const abort = new AbortController().signal;
  const context = operationContext({ runtime, clock: systemClock, abort, who: 'kim', goesOn: false });
  return { context, cause: cause?.id ?? '' };
}

const request = (cause: string, dryRun: boolean) => ({ cause, dryRun, waitMs: 10_000 });

it('a cause whose members no person can settle is not settled', async () => {
  const { context, cause } = await withQuarantine();
  const asked = { cause, resolution: 'delivered', item: null, until: null } as const;
  await expect(settleCause.run(asked, context)).rejects.toThrow('A person cannot settle this cause by hand');
});

describe('a replay by cause', () => {
  it('a replay by cause says how many would pass with a fixed lookup file, and changes nothing', async () => {
    const { context, cause } = await withQuarantine();
    const before = await replayCause.run(request(cause, true), context);
    expect(before).toMatchObject({ members: 1, replayed: { records: 1, passing: 0, quarantined: 1 }, synced: null });
    world.write('status.csv', PRODUCTS.fixed['status.csv']);
    const after = await replayCause.run(request(cause, true), context);
    expect(after).toMatchObject({ members: 1, replayed: { records: 1, passing: 1, quarantined: 0 }, left: 1 });
    expect(await runtime.reads.quarantinedCount()).toBe(1);
    expect(runtime.mapping.pendingSources()).toEqual([]);
  });

  it('a replay by cause sends the items that pass after their lookup file was fixed', async () => {
    const { context, cause } = await withQuarantine();
    world.write('status.csv', PRODUCTS.fixed['status.csv']);
    const done = await replayCause.run(request(cause, false), context);
    expect(done).toMatchObject({ members: 1, left: 0 });
    expect(world.contents().products.map(({ sku }) => sku)).toEqual(['A-1', 'A-2']);
    await expect(replayCause.run(request(cause, false), context)).rejects.toThrow('Nothing is stuck');
  });
});
