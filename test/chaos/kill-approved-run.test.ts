// A daemon is killed after a person has approved a held run: before the run begins, while its rows are stored, and while its items
// are sent. The next daemon does what was approved without asking again, and sends nothing twice.

import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type WebForms, webForms } from '../support/browser/web-forms.ts';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { covers } from '../support/docs/reliability.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { freePort } from '../support/servers/free-port.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

/** Several pages of rows. */
const ROWS = 2000;
const SOON = { timeout: WAIT_MS };
const LOOK_MS = 2;

const ERP = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'], delimiter: ';' },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"', status: '"ACTIVE"' },
    },
  ],
  approve: { creates: 10 },
};

let world: World;
let daemon: DaemonProcess;
let web: WebForms;
let ledger: Database.Database;

beforeEach(async () => {
  const port = await freePort();
  const rows = Array.from({ length: ROWS }, (_, at) => `Q-${at};Lamp ${at}`);
  world = await createWorld({
    config: { web: { port, token: WEB_TOKEN }, sources: [ERP] },
    files: { 'products.csv': `SKU;NAME\n${rows.join('\n')}\n` },
  });
  await world.sync();
  daemon = await startDaemonProcess(world.configFile);
  web = webForms(`http://127.0.0.1:${port}`);
  ledger = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
});
afterEach(async () => {
  ledger.close();
  daemon.signal('SIGKILL');
  await daemon.exited;
  await world.remove();
});

const count = (sql: string): number => ledger.prepare<[], number>(sql).pluck().get() ?? 0;
const isApproved = () =>
  count(`SELECT count(*) FROM meta WHERE name = 'daemon_held' AND value LIKE '%"approved"%'`) > 0;
const storedRows = () => count('SELECT count(*) FROM records');
const lastResult = () => ledger.prepare('SELECT id, result FROM runs ORDER BY id DESC LIMIT 1').get();

const POINTS = [
  { when: 'before the run begins', isReached: isApproved, last: { id: 1, result: 'held' } },
  { when: 'while its rows are stored', isReached: () => storedRows() > 0, last: { id: 2, result: null } },
  { when: 'while its items are sent', isReached: () => world.contents().products.length > 0, last: { id: 2 } },
];

describe('a daemon that is killed after a run was approved', () => {
  it.each(POINTS)(
    'an approved run goes on with the next daemon, without a second approval, if its daemon is killed $when',
    covers('process-killed', 'I5', 'I6', 'I8'),
    async ({ isReached, last }) => {
      const { text } = await web.get('/runs/accept?source=erp');
      await web.press(text, { action: '/runs/accept' });
      while (!isReached()) await pause(LOOK_MS);
      daemon.signal('SIGKILL');
      await daemon.exited;
      expect([isApproved(), lastResult()]).toEqual([true, expect.objectContaining(last)]);

      daemon = await startDaemonProcess(world.configFile);
      await expect.poll(() => count(`SELECT count(*) FROM items WHERE state = 'delivered'`), SOON).toBe(ROWS);
      expect(world.contents().products).toHaveLength(ROWS);
      expect(world.sandbox.inspect().writes.filter((write) => write.count !== 1)).toEqual([]);
      await expect.poll(() => count(`SELECT count(*) FROM meta WHERE name = 'daemon_held'`), SOON).toBe(0);
      expect(count(`SELECT count(*) FROM runs WHERE result = 'held'`)).toBe(1);
      expect(count(`SELECT count(*) FROM runs WHERE error LIKE '%token has approved it%'`)).toBe(1);
    },
  );
});
