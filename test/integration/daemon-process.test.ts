import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/lib/logging.ts';
import { createSecretStore } from '../../src/lib/secrets.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { PRODUCTS, WEB_TOKEN } from '../support/daemon-world.ts';
import { createWorld, type World } from '../support/world.ts';

const COUNT = 300;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
const skus = rows.map((row) => row.slice(0, 6));
/** Long enough that many requests are under way when the signal comes. */
const LATENCY_MS = 1500;

describe('the daemon in a process of its own', () => {
  let world: World;

  beforeEach(async () => {
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }],
      },
      files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: LATENCY_MS }] },
    });
  });
  afterEach(() => world.remove());

  const arrived = () => world.contents().products.map(({ sku }) => String(sku));
  const requestsUnderWay = async () => {
    await expect
      .poll(() => world.sandbox.inspect().faults[0]?.used ?? 0, { timeout: 20_000 })
      .toBeGreaterThanOrEqual(20);
  };
  const deliverTheRest = async () => {
    world.sandbox.faults.clear();
    const report = await world.sync();
    expect(report.items.product).toEqual({ delivered: COUNT });
    expect(arrived().sort()).toEqual(skus);
  };

  it('finishes what is under way on SIGTERM and hands back the rest', async () => {
    const daemon = await startDaemonProcess(world.configFile);
    await requestsUnderWay();
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toBe(0);

    const runtime = await world.open();
    const { product } = runtime.views.itemCounts();
    expect(runtime.voided).toBe(0);
    await runtime.close();
    expect(product).toEqual({ delivered: arrived().length, due: COUNT - arrived().length });
    expect(arrived().length).toBeGreaterThanOrEqual(20);
    expect(arrived().length).toBeLessThan(COUNT);
    await deliverTheRest();
    expect(world.sandbox.inspect().writes).toMatchObject([{ count: COUNT }]);
  });

  it('ends at once on a second signal, and nothing is lost or doubled', async () => {
    const daemon = await startDaemonProcess(world.configFile);
    await requestsUnderWay();
    const before = performance.now();
    daemon.signal('SIGTERM');
    // A second signal within half a second counts as the same one: some shells and npm send it twice.
    await expect.poll(() => daemon.stderr(), { timeout: 5000 }).toContain('Stopping');
    const again = setInterval(() => daemon.signal('SIGTERM'), 100);
    expect(await daemon.exited).toBe(1);
    clearInterval(again);
    expect(performance.now() - before).toBeLessThan(LATENCY_MS);

    const used = world.sandbox.inspect().faults[0]?.used ?? 0;
    await expect.poll(() => arrived().length, { timeout: 10_000 }).toBe(used);
    await deliverTheRest();
    expect(world.sandbox.inspect().writes).toMatchObject([{ count: COUNT }]);
  });

  it('writes its logs to stderr and nothing but the one document to stdout, and no secret to either', async () => {
    world.sandbox.faults.clear();
    const daemon = await startDaemonProcess(world.configFile);
    await expect.poll(() => arrived().length, { timeout: 20_000 }).toBe(COUNT);
    daemon.signal('SIGINT');
    expect(await daemon.exited).toBe(0);
    expect(JSON.parse(daemon.stdout())).toMatchObject({ ok: true, pid: daemon.pid });
    expect(daemon.stderr()).not.toContain(WEB_TOKEN);
    expect(daemon.stderr()).not.toContain('dpp_test0123456789');
  });

  it('keeps a second process from writing to its ledger', async () => {
    const daemon = await startDaemonProcess(world.configFile);
    await expect(world.open()).rejects.toMatchObject({
      code: 'ledger.held',
      message: expect.stringContaining(`"dpp-sync start" (process ${daemon.pid}`),
    });
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toBe(0);
  });
});

describe('the logger', () => {
  it('scrubs the token from what a library may write', () => {
    const secrets = createSecretStore();
    secrets.add(WEB_TOKEN);
    const lines: string[] = [];
    createLogger({ level: 'info', secrets, write: (line) => lines.push(line) }).error(
      { err: new Error(`no ${WEB_TOKEN}`) },
      'It failed.',
    );
    expect(lines.join('')).not.toContain(WEB_TOKEN);
  });
});
