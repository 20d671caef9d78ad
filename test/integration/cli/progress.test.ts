import { afterEach, expect, it } from 'vitest';
import { createLocalAdmin } from '../../../src/admin/local-admin.ts';
import type { WorkProgress } from '../../../src/admin/work-progress.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type LeftToSend, leftToSend } from '../../../src/observe/standing.ts';
import { publishComplete } from '../../../src/operations/publish.ts';
import { syncSources } from '../../../src/operations/runs.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

it('the progress counts passports that are left, and keeps apart what waits for other items', async () => {
  // No material has the code of the last line.
  const lines = [...SMALL.lines, { id: '9', product: 'P1', material: 'NONE', quantity: '1' }];
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES },
    files: smallFiles({ ...SMALL, lines }),
    sandbox: { gates: { materialData: { enabled: false } } },
  });
  const runtime = await world.open();
  const abort = new AbortController().signal;
  const admin = createLocalAdmin({ runtime, clock: systemClock, abort });
  const seen: WorkProgress[] = [];
  const onProgress = (progress: WorkProgress) => void seen.push(progress);
  await admin.run(syncSources, { sources: [], accept: [], waitMs: 1000 }, { onProgress });
  expect(seen.at(-1)).toMatchObject({ settled: expect.any(Number), left: 0, waiting: 1 });

  seen.splice(0);
  const requested: LeftToSend[] = [];
  const askForPassports: Runtime['ledger']['askForPassports'] = async (request) => {
    requested.push(await leftToSend(runtime));
    return runtime.ledger.askForPassports(request);
  };
  const watched = createLocalAdmin({
    runtime: { ...runtime, ledger: { ...runtime.ledger, askForPassports } },
    clock: systemClock,
    abort,
  });
  world.sandbox.faults.add({ kind: 'latency', operation: 'passport.publish', ms: 1000 });
  const { found } = await watched.run(publishComplete, { dryRun: false, waitMs: 1000 }, { onProgress });
  expect(found.complete).toBe(2);
  // What is asked for counts as left from before the ledger has it.
  expect(requested).toEqual([expect.objectContaining({ requested: 2, due: 0, incomplete: 0 })]);
  expect(await leftToSend(runtime)).toMatchObject({ requested: 0, due: 0, sending: 0 });
  expect(seen).toContainEqual(expect.objectContaining({ left: 2 }));
  expect(seen.at(-1)).toMatchObject({ left: 0 });
  await runtime.close();
});
