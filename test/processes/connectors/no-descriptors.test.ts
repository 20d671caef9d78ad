import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const CHILD = join(import.meta.dirname, 'no-descriptors-child.ts');
const run = promisify(execFile);

const CAUSE = 'This process has as many files and connections open as it may (EMFILE). Raise its limit: `ulimit -n`';

interface Report {
  fault: { code: string; exitCode: number; message: string } | null;
  items: object;
}

let world: World;
afterEach(() => world.remove());

it.each([
  {
    blocked: 'a delivery cannot be sent',
    firstContact: 'assume-empty',
    message: `Nothing can be sent: ${CAUSE}`,
    warning: `Deliveries cannot continue for now: Nothing can be sent: ${CAUSE}`,
    requests: { 'product.create': 2 },
  },
  {
    blocked: 'a list of the platform cannot be read',
    firstContact: 'list',
    message: `Nothing can be read: ${CAUSE}`,
    warning: `The platform's list of products could not be read: ${CAUSE}`,
    requests: { 'product.list': 1, 'product.create': 2 },
  },
])(
  'the program reports a limit of this machine where $blocked for want of file descriptors, and then continues',
  async ({ firstContact, message, warning, requests }) => {
    const away = { operation: '*', kind: 'status', status: 429, retryAfterSeconds: 1 } as const;
    world = await createWorld({
      config: { sources: [PRODUCTS.source] },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
      sandbox: { faults: [away] },
      target: { firstContact },
    });
    await world.sync({ waitMs: 100 });
    world.sandbox.faults.clear();
    world.requests();

    const limited = ['-c', 'ulimit -n 200 && exec "$@"', 'sh', process.execPath, CHILD, world.configFile];
    const { stdout } = await run('sh', limited);
    const { without, restored, logged } = JSON.parse(stdout) as {
      without: Report;
      restored: Report;
      logged: string[];
    };
    expect(without).toMatchObject({
      fault: { code: 'machine.limit', exitCode: 3 },
      items: { product: { due: 2 } },
    });
    expect(without.fault?.message.slice(0, message.length)).toBe(message);
    expect(logged.map((line) => line.slice(0, warning.length))).toEqual([warning]);
    expect(restored).toMatchObject({ fault: null, items: { product: { delivered: 2 } } });
    expect(world.requests()).toEqual(requests);
  },
);
