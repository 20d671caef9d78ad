// People resolve stuck rows and items on the dashboard: with a real browser, a real daemon and the sandbox.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standingAsked } from '../../src/observe/standing.ts';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { textOf } from '../support/connectors/connector-reader.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { attentionExport, createAttentionWorld } from '../support/worlds/attention-world.ts';
import { REFUSAL, refuseCreates, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { seriousFindings } from './support/axe.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

const SOON = { timeout: WAIT_MS };

const ROWS = [
  'A-1;Kessel;10;DE',
  'A-2;=1+1;99;DE',
  'A-3;"Größe ""M"" <script>alert(1)</script>";99;DE',
  '007;@home;99;DE',
  'A-5;Lampe;10;Nirgends',
  'A-6;Leuchte;10;Nirgendwo',
  'B-1;Alt;20;DE',
  'B-2;Uralt;20;DE',
];

describe.skipIf(!runsBrowser)(`acting on the dashboard${browserNote}`, () => {
  let web: WatchedDashboard;
  let page: Page;

  beforeAll(async () => {
    web = await openDashboard(await createAttentionWorld({ rows: ROWS }));
    ({ page } = web);
  });
  afterAll(() => web.remove());

  const skus = () =>
    web.world
      .contents()
      .products.map(({ sku }) => textOf(sku))
      .toSorted();

  /** Checks how a page looks in each width and each colour scheme. */
  async function lookAt(name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [390, 1280]) {
        // Without reduced motion the colours would be measured while they still change.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.setViewportSize({ width, height: 800 });
        await web.shoot(`act-${name}-${width}-${colorScheme}`);
        expect(await seriousFindings(page), `${name} at ${width} px, ${colorScheme}`).toEqual([]);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
        expect(overflow, `${name} is wider than ${width} px`).toBeLessThanOrEqual(0);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 800 });
  }

  it('the dashboard shows what needs attention by cause to a person who has logged in', async () => {
    await page.goto(`${web.url}/attention`);
    await page.waitForURL(/\/login\?next=/);
    await page.fill('input[type=password]', WEB_TOKEN);
    await page.click('main button[type=submit]');
    await page.waitForURL(`${web.url}/attention`);
    await page.getByText('3 rows').waitFor();
    await lookAt('inbox');
  });

  it('the dashboard sends a group after its mapping was fixed, and the products arrive', async () => {
    await page.click('.cause:has-text("3 rows") .title');
    await page.locator('td.wrong', { hasText: '99' }).first().waitFor();
    await lookAt('cause');
    await page.click('text=Test without sending');
    await page.getByText('0 of 3 would pass now.').waitFor();
    const file = readFileSync(web.world.configFile, 'utf8');
    web.world.write(
      'dpp-sync.yaml',
      file.replace(`lookup("states", row.STATE)`, `lookup("states", row.STATE, "ACTIVE")`),
    );
    await page.goto(`${web.url}/settings`);
    await page.click('text=Read the config again');
    await page.getByText('The config was read again.').waitFor();
    // The daemon automatically maps the stored rows again when its config has changed.
    await expect.poll(skus, SOON).toEqual(['007', 'A-1', 'A-2', 'A-3']);
  });

  it('the dashboard replays a group that the platform refused, and the products arrive', async () => {
    await page.goto(`${web.url}/attention?type=rejected`);
    await page.click('.cause:has-text("2 items") .title');
    await page.getByText('I have looked at the platform').waitFor();
    await lookAt('cause-rejected');
    web.world.sandbox.faults.clear();
    refuseCreates(web.world, 'B-2');
    await page.click('summary:has-text("Try 2 items again")');
    await page.click('button:has-text("Try 2 items again")');
    await page.waitForURL(/\/tasks\//);
    await page.getByText('1 of 2 is still stuck for the same cause:').waitFor();
    await expect.poll(skus, SOON).toContain('B-1');
    await lookAt('task-replayed');
  });

  it('the dashboard takes a downloaded file back corrected, after it has shown what would happen', async () => {
    await page.goto(`${web.url}/attention?type=quarantine`);
    await page.click('.cause:has-text("2 rows") .title');
    const downloading = page.waitForEvent('download');
    await page.click('text=Download as CSV');
    const path = await (await downloading).path();
    const rows = parse(iconv.decode(await readFile(path), 'windows-1252'), { delimiter: ';', columns: true });
    expect(rows).toMatchObject([
      { SKU: 'A-5', LAND: 'Nirgends' },
      { SKU: 'A-6', LAND: 'Nirgendwo' },
    ]);
    const corrected = 'SKU;NAME;STATE;LAND\r\nA-5;Lampe;10;IT\r\nA-6;Leuchte;10;Utopia\r\nZ-9;New;10;DE\r\n';
    await page.setInputFiles('input[type=file]', {
      name: 'corrected.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(corrected),
    });
    await page.click('text=Upload and look at what would happen');
    await page.getByText('an upload adds no rows').waitFor();
    await lookAt('upload');
    await page.click('text=Store 2 rows');
    await page.getByText('1 passed, 1 still fails').waitFor();
    await expect.poll(skus, SOON).toContain('A-5');
    expect(skus()).not.toContain('Z-9');
  });

  it('the dashboard retries a delivery from the page of the queues, and shows the result', async () => {
    await page.goto(`${web.url}/queues`);
    await page.getByText('product.create B-2 (erp): rejected').waitFor();
    await lookAt('queues');
    const failedJobs = async () => (await web.daemon.runtime.queues.failed('deliver')).map(({ id }) => id);
    const before = await failedJobs();
    await page.click('button[aria-label^="Retry product.create B-2"]');
    await page.getByText('0 of 1 delivery arrived, and 1 still needs a person.').waitFor();
    await page.getByText(REFUSAL).first().waitFor();
    web.world.sandbox.faults.clear();
    // The delivery is a new failed job, because it was refused again.
    await expect.poll(async () => (await failedJobs()).filter((id) => !before.includes(id)), SOON).toHaveLength(1);
    await page.goto(`${web.url}/queues`);
    await page.click('button[aria-label^="Retry product.create B-2"]');
    await page.getByText('1 of 1 delivery arrived.').waitFor();
    await lookAt('task-retried');
    await expect.poll(skus, SOON).toContain('B-2');
  });

  it('the dashboard accepts a guarded export from the page of the runs', async () => {
    web.world.write('products.csv', attentionExport(ROWS.slice(0, 4)));
    await page.goto(`${web.url}/runs`);
    await page.click('text=Run erp now');
    await page.waitForURL(/\/tasks\//);
    await expect.poll(() => web.daemon.runtime.reads.guardedReads(), SOON).toHaveLength(1);
    await page.goto(`${web.url}/runs/accept?source=erp`);
    await page.getByRole('button', { name: 'accept this export of erp' }).click();
    await expect.poll(() => web.daemon.runtime.reads.guardedReads(), SOON).toEqual([]);
    await expect
      .poll(
        async () => (await web.daemon.runtime.reads.standing(standingAsked(web.daemon.runtime.config))).missing,
        SOON,
      )
      .not.toEqual({});
  });

  it('the dashboard has its settings, tasks and values of lookup tables in the same form', async () => {
    await page.goto(`${web.url}/settings`);
    await page.locator('details > summary').first().click();
    await lookAt('settings');
    await page.click('text=Check sources, queue and API');
    await page.getByText('embedded, in the process').waitFor();
    await lookAt('task-checked');
    await page.goto(`${web.url}/attention/lookup-values`);
    await page.fill('#lookup-key', '77');
    await page.fill('#lookup-value', 'DRAFT');
    await page.click('button:has-text("Add the value")');
    await page.getByText('means “DRAFT” now.').waitFor();
    await lookAt('lookup-values');
    await page.goto(`${web.url}/tasks`);
    await lookAt('tasks');
  });

  it('the pages for acting need nothing that the security policy forbids, and nothing from elsewhere', () => {
    expect(web.complaints).toEqual([]);
  });
});
