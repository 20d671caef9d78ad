import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { PRODUCTS } from '../support/daemon-world.ts';
import { createWorld, type World } from '../support/world.ts';

const CHILD = join(import.meta.dirname, '../support/no-descriptors-child.ts');
const run = promisify(execFile);

let world: World;
afterEach(() => world.remove());

it('does not blame the API where the process has no file descriptor left, and goes on when it has', async () => {
  const away = { operation: '*', kind: 'status', status: 429, retryAfterSeconds: 1 } as const;
  world = await createWorld({
    config: { sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, ...PRODUCTS.mended },
    sandbox: { faults: [away] },
    target: { firstContact: 'assume-empty' },
  });
  await world.sync({ waitMs: 100 });
  world.sandbox.faults.clear();
  world.requests();

  const limited = ['-c', 'ulimit -n 200 && exec "$@"', 'sh', process.execPath, CHILD, world.configFile];
  const { stdout } = await run('sh', limited);
  const { without, restored, logged } = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
  expect(without).toMatchObject({
    fault: {
      code: 'machine.limit',
      exitCode: 3,
      message: expect.stringMatching(
        /^Nothing can be sent: This process has as many files .* \(EMFILE\)\. Raise its limit: `ulimit -n`/,
      ),
    },
    items: { product: { due: 2 } },
  });
  expect(logged).toEqual([
    expect.stringMatching(/^Deliveries cannot go on for now: Nothing can be sent: This process/),
  ]);
  expect(restored).toMatchObject({ fault: null, items: { product: { delivered: 2 } } });
  expect(world.requests()).toEqual({ 'product.create': 2 });
});
