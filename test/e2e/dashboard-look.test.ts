// The dashboard as a person uses it: a real browser, a real daemon and the sandbox.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { itemPath } from '../../src/web/pages/links.ts';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import {
  ALL_PRODUCTS,
  createDashboardWorld,
  ODD_KEY,
  productsFile,
  publicationsOf,
} from '../support/worlds/dashboard-world.ts';
import { seriousFindings } from './support/axe.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

const SOON = { timeout: WAIT_MS };
const WIDTHS = [390, 1280] as const;
const SCHEMES = ['light', 'dark'] as const;

describe.skipIf(!runsBrowser)(`the dashboard${browserNote}`, () => {
  let web: WatchedDashboard;
  let page: Page;

  beforeAll(async () => {
    web = await openDashboard(await createDashboardWorld());
    ({ page } = web);
  });
  afterAll(() => web.remove());

  const publications = () => publicationsOf(web.world);
  /** Sets a mark in the page. The mark is lost when the page is loaded again. */
  const mark = () => page.evaluate('window.isSamePage = true');
  const isSamePage = () => page.evaluate('window.isSamePage === true');

  it('the dashboard asks to log in, and leads to the page that was asked for', async () => {
    await page.goto(`${web.url}/runs`);
    await page.waitForURL(/\/login\?next=/);
    await page.fill('input[type=password]', WEB_TOKEN);
    await page.click('main button[type=submit]');
    await page.waitForURL(`${web.url}/runs`);
    await page.getByText('No run matches the filter.').waitFor();
  });

  it('the dashboard shows a sync while it runs, and the overview without loading the page again', async () => {
    const overview = await web.browser.context.newPage();
    await overview.goto(web.url);
    await overview.getByText('No passports yet').waitFor();
    await overview.evaluate('window.isSamePage = true');
    await overview.bringToFront();
    await page.click('text=Run erp now');
    await page.waitForURL(/\/tasks\//);
    await page.locator('.badge', { hasText: 'done' }).waitFor();
    await page.getByText('erp/products: 8 rows read').waitFor();
    await overview.getByText('of 8 passports public').waitFor();
    await overview.getByText('4 are prepared, not public').waitFor();
    expect(await overview.evaluate('window.isSamePage === true')).toBe(true);
    await overview.close();
  });

  it('the dashboard answers why a product is not published, from the search for its name', async () => {
    await page.goto(`${web.url}/items`);
    await page.fill('#filter-search', 'fan');
    await page.press('#filter-search', 'Enter');
    await page.waitForURL(/search=fan/);
    await page.click('main table a');
    await page.getByRole('heading', { name: 'Why is this not published?' }).waitFor();
    const answer = await page.locator('.answer').textContent();
    expect(answer).toContain('P-6');
    await page.locator('.steps').getByText('M-404 is in no file').waitFor();
    expect(await page.locator('main').textContent()).not.toContain('undefined');
  });

  it('the dashboard publishes the selection after it has shown what will happen, and withdraws it again', async () => {
    await page.goto(`${web.url}/passports`);
    for (const name of ['Select P-1', 'Select P-2', 'Select P-6']) await page.getByRole('checkbox', { name }).check();
    await page.click('button[value=published]');
    await page.getByText('3 passports selected. Nothing has been sent yet.').waitFor();
    await page
      .getByText('Its BOM item P-6/10 is waiting for the product or material M-404, which is in no file.')
      .waitFor();
    expect(publications()).toEqual([]);
    await page.getByRole('button', { name: 'Publish 2 passports' }).click();
    await page
      .getByText('2 of 2 passports are published now.')
      .or(page.getByText('2 of 3 passports are published now.'))
      .waitFor();
    expect(publications()).toEqual(['P-1 published', 'P-2 published']);

    await page.goto(`${web.url}/passports?state=published`);
    await page.getByRole('checkbox', { name: 'Select P-2' }).check();
    await page.click('button[value=unpublished]');
    await page.getByRole('button', { name: 'Withdraw 1 passport' }).click();
    await page.getByText('1 of 1 passport is not public now.').waitFor();
    expect(publications()).toEqual(['P-1 published', expect.stringMatching(/^P-2 (?!published)/)]);

    await page.goto(`${web.url}${itemPath('passport', 'P-2')}`);
    await page.getByText('token published or withdrew passports').first().waitFor();
  });

  it('the dashboard accepts a guarded export from the first page', async () => {
    web.world.write('products.csv', productsFile(ALL_PRODUCTS.slice(0, 3)));
    await web.daemon.startRun('erp', 'schedule');
    await page.goto(web.url);
    await page.click('text=Look at what is gone');
    await page.getByText('At most 3 records that the export lacks then count as missing.').waitFor();
    await page.getByRole('button', { name: 'Accept this export of erp' }).click();
    await page.locator('.badge', { hasText: 'done' }).waitFor();
    expect(await web.daemon.runtime.reads.guardedReads()).toEqual([]);
    const more = Array.from({ length: 60 }, (_, at) => `X-${at};Extra ${at};DRAFT;DE`);
    web.world.write('products.csv', productsFile([...ALL_PRODUCTS, ...more]));
    await web.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => ((await web.daemon.runtime.reads.passportCounts({})).initialized ?? 0) > 60, SOON);
  });

  it('the dashboard is used by the keyboard alone: from the first key to the content, and through a filter', async () => {
    await page.goto(`${web.url}/items`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('filter-search');
    await page.keyboard.type('kettle');
    await page.keyboard.press('Enter');
    await page.waitForURL(/search=kettle/);
    await mark();
    expect(await isSamePage()).toBe(true);
  });

  it('the dashboard shows on a phone which page of the navigation is open', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of ['/', '/settings']) {
      await page.goto(`${web.url}${path}`);
      const box = await page.locator('header nav [aria-current]').boundingBox();
      expect([path, box !== null && box.x >= 0 && box.x + box.width <= 390]).toEqual([path, true]);
    }
  });

  it.each([1200, 800])('the dashboard breaks no name of a field within a word, at %i px', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${web.url}/items/product/P-3`);
    const names = (await page.evaluate(FIELD_LINES)) as string[][];
    expect(names).toContainEqual(['country_of_origin']);
    expect(names.filter((lines) => lines.slice(0, -1).some((line) => !line.endsWith('_')))).toEqual([]);
  });

  describe.each(WIDTHS)('at %i px', (width) => {
    it.each(SCHEMES)(
      'the dashboard has no serious finding of axe on any page in %s colours, and nothing that is too wide',
      async (scheme) => {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme: scheme });
        const found: string[] = [];
        for (const [name, path] of PAGES) {
          await page.goto(`${web.url}${path}`);
          found.push(...(await seriousFindings(page)).map((finding) => `${name}: ${finding}`));
          if (await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')) {
            found.push(`${name} is too wide.`);
          }
          await web.shoot(`${name}-${width}-${scheme}`);
        }
        expect(found).toEqual([]);
      },
    );
  });

  it('the pages to look at need nothing that the security policy forbids, and nothing from elsewhere', () => {
    expect(web.complaints).toEqual([]);
  });
});

/** The lines in which the browser shows the name of each field. */
const FIELD_LINES = `[...document.querySelectorAll('.sides tbody th')].map((cell) => {
  const lines = new Map();
  for (const node of cell.childNodes) {
    for (let at = 0; at < (node.length ?? 0); at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { top } = range.getBoundingClientRect();
      lines.set(top, (lines.get(top) ?? '') + range.toString());
    }
  }
  return [...lines.values()];
})`;

const PAGES = Object.entries({
  overview: '/',
  runs: '/runs',
  history: '/history',
  run: '/runs/1',
  accept: '/runs/accept?source=erp',
  items: '/items',
  'items-filtered': '/items?state=attention&search=heater',
  'items-quarantined': '/items?search=P-4',
  item: '/items/product/P-2',
  'item-rejected': '/items/product/P-5',
  'item-quarantined': '/items/product/P-4',
  'item-waiting': '/items/product/P-6',
  'item-odd': itemPath('product', ODD_KEY),
  'bom-item': '/items/bom_item/P-6%2F10',
  material: '/items/material/M-1',
  passport: '/items/passport/P-1',
  passports: '/passports',
  'passports-filtered': '/passports?state=incomplete',
  'passports-none': '/passports?search=P-4',
});
