import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLedgerReads } from '../../src/ledger/reads.ts';
import { runHere } from '../support/cli/cli-here.ts';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { covers } from '../support/docs/reliability.ts';
import { FORMS, NO_PASSPORTS } from '../support/ledger/ledger.ts';
import { PRODUCTS, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

const COUNT = 400;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
/** Long enough that many requests are in flight when the ledger is removed. */
const LATENCY_MS = 1000;
/** The claims of one more commit may still be sent, because the daemon checks the files before each commit. */
const GROUP_MAX = 32;

let world: World;
let daemon: DaemonProcess | null = null;

beforeEach(async () => {
  world = await createWorld({
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }],
    },
    files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
    // The test counts single creates. Products that are imported in bulk are neither slowed nor counted by the fault.
    profile: { imports: { creates: 'off' } },
    sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: LATENCY_MS }] },
  });
});
afterEach(async () => {
  daemon?.signal('SIGKILL');
  await daemon?.exited;
  daemon = null;
  await world.remove();
});

const data = (name: string) => join(world.folder, 'data', name);
const used = () => world.sandbox.faults.list()[0]?.used ?? 0;
const command = (name: string) => runHere([name, '-c', world.configFile, '--json']);

describe('a daemon whose ledger is removed', () => {
  const ways: [string, () => void][] = [
    ['the ledger alone', () => rmSync(data('ledger.db'))],
    ['all files of the ledger', () => rmSync(data(''), { recursive: true })],
  ];

  it.each(ways)(
    'a daemon whose ledger is removed sends no more, is unhealthy, and leaves the mark for the next process: %s',
    covers('ledger-lost', 'I2', 'I6'),
    async (_, remove) => {
      daemon = await startDaemonProcess(world.configFile);
      const { url } = JSON.parse(daemon.stdout()) as { url: string };
      const isHealthy = () =>
        fetch(`${url}/healthz`).then(
          ({ status }) => status !== 503,
          // The daemon has ended.
          () => false,
        );
      await expect.poll(used).toBeGreaterThanOrEqual(20);
      await expect.poll(isHealthy).toBe(true);
      // A reader that has the file open can still read it after it was removed.
      const reader = openLedgerReads({ file: data('ledger.db'), passportRules: NO_PASSPORTS, forms: FORMS });
      const claimed = async () => {
        const { sending = 0, delivered = 0 } = (await reader?.reads.itemCounts())?.product ?? {};
        return sending + delivered;
      };
      remove();
      const claimedThen = await claimed();
      await expect.poll(isHealthy, { interval: 20 }).toBe(false);
      expect(await daemon.exited).toBe(3);
      expect(daemon.stderr()).toContain('ledger.db was removed while this process worked on it');
      reader?.close();
      expect(used()).toBeLessThanOrEqual(claimedThen + GROUP_MAX);
      expect(used()).toBeLessThan(COUNT);

      const sent = used();
      for (const name of ['status', 'items', 'sync', 'start']) {
        const { exitCode, json } = await command(name);
        expect(json(), name).toMatchObject({
          ok: false,
          error: { code: 'ledger.restored', message: expect.stringContaining('is gone') },
        });
        expect(exitCode, name).toBe(3);
      }
      expect(used()).toBe(sent);
    },
  );
});
