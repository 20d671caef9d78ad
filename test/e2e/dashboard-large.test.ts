// The dashboard over a ledger as years of syncs leave it.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { browserNote, runsBrowser, type TestBrowser } from '../support/browser/chromium.ts';
import { openWatchedPage } from '../support/browser/watched-page.ts';
import { type LargeLedger, writeLargeLedger } from '../support/ledger/large-ledger.ts';
import { startDaemon, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { createDashboardWorld } from '../support/worlds/dashboard-world.ts';
import type { World } from '../support/worlds/world.ts';

const ITEMS = 100_000;

describe.skipIf(!runsBrowser)(`the dashboard over ${ITEMS} items${browserNote}`, () => {
  let world: World;
  let daemon: Daemon;
  let url: string;
  let ledger: LargeLedger;
  let browser: TestBrowser;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    world = await createDashboardWorld({ token: WEB_TOKEN });
    ledger = await writeLargeLedger(join(world.folder, 'data', 'ledger.db'), ITEMS, world.baseUrl);
    ({ daemon, url } = await startDaemon(world));
    const watched = await openWatchedPage(url);
    ({ browser, page, complaints } = watched);
    await watched.logIn();
  });
  afterAll(async () => {
    await browser.close();
    await daemon.stop();
    await world.remove();
  });

  it('says on the first page how many passports are published', async () => {
    await page.goto(url);
    expect(await page.locator('.headline').textContent()).toMatch(/of [\d,]{5,} passports published/);
  });

  it('finds one item by a part of its name, and says why it is not published', async () => {
    await page.goto(`${url}/items`);
    expect(await page.locator('.lead').textContent()).toMatch(/[\d,]{6,} items in the ledger/);
    await page.goto(`${url}/items?state=rejected&kind=product`);
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

  it('goes through the pages of a list without showing an item twice', async () => {
    const seen: string[] = [];
    await page.goto(`${url}/items?kind=material`);
    for (let at = 0; at < 4; at += 1) {
      seen.push(...(await page.locator('main tbody th').allTextContents()));
      await page.click('a[rel=next]');
      await page.waitForURL(/after=/);
      await page.locator('main tbody th').first().waitFor();
    }
    expect(seen).toHaveLength(200);
    expect(new Set(seen).size).toBe(200);
  });

  it('counts all that a filter selects before it withdraws, beyond the page, and sends nothing', async () => {
    await page.goto(`${url}/passports?state=published`);
    await page.getByRole('radio', { name: 'that the filter selects' }).check();
    await page.click('button[value=unpublished]');
    const button = page.getByRole('button', { name: /^Withdraw [\d,]+ passports$/ });
    const count = Number(((await button.textContent()) ?? '').replace(/\D/g, ''));
    expect(count).toBeGreaterThan(10_000);
    expect(count).toBeLessThanOrEqual(ledger.passports);
    expect(world.contents().publications).toEqual([]);
  });

  it('complains of nothing', () => {
    expect(complaints).toEqual([]);
  });
});
