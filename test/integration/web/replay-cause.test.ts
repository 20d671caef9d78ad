import { afterEach, describe, expect, it } from 'vitest';
import type { HandlerContext } from '../../../src/admin/handler.ts';
import { replayCause } from '../../../src/admin/handlers/causes.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
let runtime: Runtime;

afterEach(async () => {
  await runtime.close();
  await world.remove();
});

/** A runtime whose lookup file lacks the state of one product. No daemon watches the file. */
async function withQuarantine(): Promise<{ context: HandlerContext; cause: string }> {
  world = await createWorld({
    config: { sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, 'status.csv': 'key,value\n10,DRAFT\n' },
  });
  await world.sync();
  runtime = await world.open();
  const [cause] = await runtime.reads.causes({ type: 'quarantine' });
  const bytes = { write: () => Promise.reject(new Error('A replay gives no document.')) };
  const abort = new AbortController().signal;
  return { context: { runtime, clock: systemClock, abort, who: 'kim', goesOn: false, bytes }, cause: cause?.id ?? '' };
}

const request = (cause: string, dryRun: boolean) => ({ cause, dryRun, waitMs: 10_000 });

describe('a replay by cause', () => {
  it('a replay by cause says how many would pass with a fixed lookup file, and changes nothing', async () => {
    const { context, cause } = await withQuarantine();
    const before = await replayCause.handle(request(cause, true), context);
    expect(before).toMatchObject({ members: 1, replayed: { records: 1, passing: 0, quarantined: 1 }, synced: null });
    world.write('status.csv', PRODUCTS.fixed['status.csv']);
    const after = await replayCause.handle(request(cause, true), context);
    expect(after).toMatchObject({ members: 1, replayed: { records: 1, passing: 1, quarantined: 0 }, left: 1 });
    expect(await runtime.reads.quarantinedCount()).toBe(1);
    expect(runtime.pendingSources()).toEqual([]);
  });

  it('a replay by cause sends the items that pass after their lookup file was fixed', async () => {
    const { context, cause } = await withQuarantine();
    world.write('status.csv', PRODUCTS.fixed['status.csv']);
    const done = await replayCause.handle(request(cause, false), context);
    expect(done).toMatchObject({ members: 1, left: 0 });
    expect(world.contents().products.map(({ sku }) => sku)).toEqual(['A-1', 'A-2']);
    await expect(replayCause.handle(request(cause, false), context)).rejects.toThrow('Nothing is stuck');
  });
});
