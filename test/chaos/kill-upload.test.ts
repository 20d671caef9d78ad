// A daemon is killed while it stores the rows of a corrected file. The stored rows are sent once, the other rows are still in
// quarantine, and the same file can be uploaded again.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type WebForms, webForms } from '../support/browser/web-forms.ts';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { covers } from '../support/docs/reliability.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { freePort } from '../support/servers/free-port.ts';
import { createDashboardWorld, productsFile } from '../support/worlds/dashboard-world.ts';
import type { World } from '../support/worlds/world.ts';

/** Several pages of stored rows. */
const ROWS = 3000;
const SOON = { timeout: WAIT_MS };

let world: World;
let daemon: DaemonProcess;
let web: WebForms;

beforeEach(async () => {
  const port = await freePort();
  world = await createDashboardWorld({ port });
  const rows = Array.from({ length: ROWS }, (_, at) => `Q-${at};Lamp ${at};DRAFT;Atlantis`);
  world.write('products.csv', productsFile(rows));
  await world.sync();
  daemon = await startDaemonProcess(world.configFile);
  web = webForms(`http://127.0.0.1:${port}`);
});
afterEach(async () => {
  daemon.signal('SIGKILL');
  await daemon.exited;
  await world.remove();
});

async function status(): Promise<Record<string, number>> {
  const { text } = await web.get('/api/v1/status');
  const { quarantined, items } = JSON.parse(text) as {
    quarantined: number;
    items: { product: Record<string, number> };
  };
  return { quarantined, ...items.product };
}

/**
 * Uploads the quarantined rows with a country that the mapping knows, and starts to store them. Returns the page of the
 * task.
 */
async function upload(): Promise<string> {
  const { text } = await web.get('/api/v1/causes');
  const causes = JSON.parse(text) as { id: string; type: string }[];
  // The run has failed too, because all its rows are refused.
  const cause = causes.find(({ type }) => type === 'quarantine');
  const path = `/attention/${cause?.id}`;
  const rows = (await web.get(`${path}/rows.csv`)).text.replaceAll('Atlantis', 'DE');
  const { to } = await web.upload(`${path}/upload`, { name: 'corrected.csv', bytes: Buffer.from(rows) });
  return (await web.post(to)).to;
}

describe('a daemon that is killed amid an upload', () => {
  it(
    'a daemon killed amid an upload sends each stored row once, and takes the rest from the same file',
    covers('process-killed', 'I5', 'I8'),
    async () => {
      expect(await status()).toEqual({ quarantined: ROWS });
      await upload();
      await expect.poll(() => world.contents().products.length, { ...SOON, interval: 5 }).toBeGreaterThan(0);
      daemon.signal('SIGKILL');
      await daemon.exited;

      daemon = await startDaemonProcess(world.configFile);
      const { rows } = JSON.parse((await web.get('/api/v1/audit?limit=1')).text) as { rows: object[] };
      expect(rows).toMatchObject([
        { action: 'rows.store', outcome: expect.stringMatching(/^(The process ended|Done)/) },
      ]);
      await expect
        .poll(async () => {
          const { quarantined = 0, delivered = 0 } = await status();
          return quarantined + delivered;
        }, SOON)
        .toBe(ROWS);
      if ((await status())['quarantined'] !== 0) await web.taskPage(await upload());
      await expect.poll(status, SOON).toEqual({ quarantined: 0, delivered: ROWS });
      expect(world.contents().products).toHaveLength(ROWS);
      expect(world.sandbox.inspect().writes.filter(({ count }) => count !== 1)).toEqual([]);
    },
  );
});
