// The dashboard over a ledger like one after years of syncs.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { type LargeLedger, writeLargeLedger } from '../support/ledger/large-ledger.ts';
import { createDashboardWorld } from '../support/worlds/dashboard-world.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

const ITEMS = 100_000;

describe.skipIf(!runsBrowser)(`the dashboard over ${ITEMS} items${browserNote}`, () => {
  let web: WatchedDashboard;
  let ledger: LargeLedger;
  let page: Page;

  beforeAll(async () => {
    const world = await createDashboardWorld();
    ledger = await writeLargeLedger(join(world.folder, 'data', 'ledger.db'), ITEMS, world.baseUrl);
    web = await openDashboard(world);
    ({ page } = web);
    await web.logIn();
  });
  afterAll(() => web.remove());

  it('the first page over a large ledger says how many passports are published', async () => {
    await page.goto(web.url);
    expect(await page.locator('.headline').textContent()).toMatch(/of [\d,]{5,} passports public/);
  });

  it('a search over a large ledger finds one item by a part of its name, and says why it is not published', async () => {
    await page.goto(`${web.url}/items`);
    expect(await page.locator('.lead').textContent()).toMatch(/[\d,]{6,} items in the ledger/);
    await page.goto(`${web.url}/items?state=rejected&kind=product`);
    const name = (await page.locator('main tbody tr').nth(3).locator('td').first().textContent()) ?? '';
    expect(name).not.toBe('');
    await page.fill('#filter-search', name);
    await page.selectOption('#filter-state', '');
    await page.press('#filter-search', 'Enter');
    await page.waitForURL(/search=/);
    const found = page.locator('main tbody tr', { has: page.getByText(name, { exact: true }) });
    await found.locator('a').first().click();
    await page.getByRole('heading', { name: 'Why is this not published?' }).waitFor();
    expect(await page.locator('.answer').textContent()).toContain('rejected');
  });

  it('a list over a large ledger goes through its pages without showing an item twice', async () => {
    const seen: string[] = [];
    await page.goto(`${web.url}/items?kind=material`);
    for (let at = 0; at < 4; at += 1) {
      seen.push(...(await page.locator('main tbody th').allTextContents()));
      const before = page.url();
      await page.click('a[rel=next]');
      // The next page has another address. Its rows count once it is loaded.
      await page.waitForURL(({ href }) => href !== before);
    }
    expect(seen).toHaveLength(200);
    expect(new Set(seen).size).toBe(200);
  });

  it('the dashboard counts all that a filter selects before it withdraws, beyond the page, and sends nothing', async () => {
    await page.goto(`${web.url}/passports?state=published`);
    await page.getByRole('radio', { name: 'that the filter selects' }).check();
    await page.click('button[value=unpublished]');
    const button = page.getByRole('button', { name: /^Withdraw [\d,]+ passports$/ });
    const count = Number(((await button.textContent()) ?? '').replace(/\D/g, ''));
    expect(count).toBeGreaterThan(10_000);
    expect(count).toBeLessThanOrEqual(ledger.passports);
    expect(web.world.contents().publications).toEqual([]);
  });

  it('the browser complains of nothing over a large ledger', () => {
    expect(web.complaints).toEqual([]);
  });
});
