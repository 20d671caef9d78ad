// A run that would do more than its source allows, in a browser: found on the first page, looked at, and approved.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { createWorld } from '../support/worlds/world.ts';
import { seriousFindings } from './support/axe.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

const SOON = { timeout: WAIT_MS };
const WIDTHS = [390, 1280] as const;
const LAMPS = 120;
const NO_GATE = { enabled: false };

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'], delimiter: ';' },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: {
        sku: 'row.SKU',
        name: 'row.NAME',
        description: 'row.TEXT',
        country_of_origin: '"DE"',
        status: '"ACTIVE"',
      },
    },
  ],
  approve: { creates: 10, changes: '5%', publish: 0 },
};

const lamps = (count: number, name: string, text: string): string =>
  ['SKU;NAME;TEXT', ...Array.from({ length: count }, (_, n) => `LAMP-${n};${name} ${n};${text}`)].join('\n');

describe.skipIf(!runsBrowser)(`a held run in the dashboard${browserNote}`, () => {
  let web: WatchedDashboard;
  let page: Page;

  beforeAll(async () => {
    const world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [SOURCE],
        passports: { init: 'when-complete', publish: 'auto' },
      },
      sandbox: { gates: { productComplete: NO_GATE, bomPresent: NO_GATE, materialData: NO_GATE } },
      files: { 'products.csv': lamps(LAMPS, 'Lamp', 'A lamp for the desk.') },
    });
    // The first run exceeds the bounds too.
    await world.sync();
    await world.sync({ accept: ['erp'] });
    web = await openDashboard(world);
    ({ page } = web);
    await web.logIn();
    web.world.write(
      'products.csv',
      lamps(LAMPS + 30, 'Desk lamp', 'A lamp for the desk, with a lamp-holder for every bulb.'),
    );
    await web.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(() => web.daemon.runtime.held.of('erp') !== null, SOON);
  });
  afterAll(() => web.remove());

  describe.each(WIDTHS)('at a width of %i pixels', (width) => {
    it('a held run has no serious finding of axe on any page that shows it, and nothing that is too wide', async () => {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.goto(`${web.url}/attention`);
      const cause = await page.locator('a.title').first().getAttribute('href');
      const found: string[] = [];
      const pages = {
        overview: '/',
        inbox: '/attention',
        cause,
        runs: '/runs',
        run: '/runs/3',
        accept: '/runs/accept?source=erp',
      };
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(`${web.url}${path}`);
        found.push(...(await seriousFindings(page)).map((finding) => `${name}: ${finding}`));
        if (await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')) {
          found.push(`${name} is too wide.`);
        }
        await web.shoot(`held-${name}-${width}`);
      }
      expect(found).toEqual([]);
    });
  });

  it('a held run is approved from the first page, after the person has seen what it would do', async () => {
    await page.goto(web.url);
    await page.click('text=Look at what it would do');
    await page.getByText('The download has 70 more.').first().waitFor();
    await page.getByRole('button', { name: 'Approve this run of erp' }).click();
    await page.locator('.badge', { hasText: 'done' }).waitFor();
    await expect.poll(() => web.world.contents().products.length, SOON).toBe(LAMPS + 30);
    expect(web.complaints).toEqual([]);
  });
});
