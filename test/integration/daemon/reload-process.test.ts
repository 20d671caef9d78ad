import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DaemonProcess, startDaemonProcess } from '../../support/cli/daemon-process.ts';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { PRODUCTS, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 400;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${at},Item ${at},10`);
const OTHER_TOKEN = 'web-token-9876543210';

describe('a daemon in a process of its own, without a terminal', () => {
  let world: World;
  let daemon: DaemonProcess;
  let url: string;

  beforeEach(async () => {
    world = await createWorld({
      config: {
        web: { port: 0, token: '${file:./token}' },
        sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }],
      },
      files: { ...PRODUCTS.files, token: WEB_TOKEN, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      profile: { imports: { creates: 'off' } },
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: 300 }] },
    });
    daemon = await startDaemonProcess(world.configFile, undefined, { detached: true });
    ({ url } = JSON.parse(daemon.stdout()) as { url: string });
  });
  afterEach(async () => {
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toBe(0);
    await world.remove();
  });

  const names = () => world.contents().products.map(({ name }) => textOf(name));
  const metrics = async (token: string) =>
    (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;

  it('a daemon reloads on SIGHUP under load, and loses and doubles nothing', async () => {
    await expect.poll(() => names().length).toBeGreaterThan(10);
    world.write('status.csv', 'key,value\n10,ARCHIVED\n');
    daemon.signal('SIGHUP');
    await expect.poll(() => daemon.stderr()).toContain('"cause":"signal"');
    expect(daemon.stderr()).not.toContain('Stopping');
    world.sandbox.faults.clear();
    const statuses = () => world.contents().products.map(({ status }) => status);
    await expect.poll(() => statuses().filter((status) => status === 'ARCHIVED').length).toBe(COUNT);
    expect(names()).toHaveLength(COUNT);
    expect(world.sandbox.inspect().writes.filter(({ count }) => count !== 1)).toEqual([]);
  });

  it('a daemon accepts a changed token of the dashboard from its file, and the former token no more', async () => {
    expect(await metrics(WEB_TOKEN)).toBe(200);
    world.write('token', OTHER_TOKEN);
    await expect.poll(() => metrics(OTHER_TOKEN)).toBe(200);
    expect(await metrics(WEB_TOKEN)).not.toBe(200);
    await expect.poll(() => daemon.stderr()).toContain('web.token');
    expect(daemon.stderr()).not.toContain(OTHER_TOKEN);
  });
});
