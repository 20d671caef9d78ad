import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { createDashboardWorld } from '../support/worlds/dashboard-world.ts';
import { seriousFindings } from './support/axe.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

describe.skipIf(!runsBrowser)(`the lists of the dashboard${browserNote}`, () => {
  let web: WatchedDashboard;
  let page: Page;

  beforeAll(async () => {
    web = await openDashboard(await createDashboardWorld());
    ({ page } = web);
    await web.daemon.startRun('erp', 'schedule');
    const { reads } = web.daemon.runtime;
    await vi.waitUntil(async () => (await reads.passportCounts({})).initialized === 4, { timeout: WAIT_MS });
    await web.logIn();
  });
  afterAll(() => web.remove());

  it('a choice of a filter is applied without a button', async () => {
    await page.goto(`${web.url}/passports`);
    await page.getByLabel('State', { exact: true }).selectOption({ value: 'initialized' });
    await page.waitForURL(/state=initialized/);
    expect(await page.locator('tbody tr').count()).toBe(4);
  });

  it('the keyboard reaches each choice of a filter, and applies it with the button', async () => {
    await page.goto(`${web.url}/passports`);
    const states = page.getByLabel('State', { exact: true });
    const names = await states.locator('option').allTextContents();
    await page.evaluate("document.addEventListener('submit', () => sessionStorage.setItem('sent', 'yes'))");
    await states.focus();
    for (const _ of [1, 2, 3]) await page.keyboard.press('ArrowDown');
    expect(await states.locator('option:checked').textContent()).toBe(names[3]);
    expect(await page.evaluate("sessionStorage.getItem('sent')")).toBeNull();
    const chosen = await states.inputValue();
    await page.getByRole('button', { name: 'Show' }).press('Enter');
    await page.waitForURL(new RegExp(`state=${chosen}`));
  });

  it('the box in the head of the column selects all passports of the page, and shows when some are left', async () => {
    await page.goto(`${web.url}/passports`);
    const all = page.getByLabel('Select all passports of this page');
    const rows = page.locator('tbody input[type="checkbox"]');
    const checked = () => page.locator('tbody input[type="checkbox"]:checked').count();
    expect(await rows.count()).toBeGreaterThan(4);
    await all.check();
    expect(await checked()).toBe(await rows.count());
    await rows.first().uncheck();
    expect(await all.isChecked()).toBe(false);
    expect(await page.evaluate('document.querySelector("thead input.all").indeterminate')).toBe(true);
    await all.check();
    await all.uncheck();
    expect(await checked()).toBe(0);
  });

  it('the search in the head of each page finds items', async () => {
    await page.goto(`${web.url}/runs`);
    await page.getByLabel('Search all items by key, SKU or name').fill('P-6');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/items\?search=P-6/);
    expect(await page.locator('tbody').first().textContent()).toContain('P-6');
    expect(await seriousFindings(page)).toEqual([]);
    expect(web.complaints).toEqual([]);
  });
});
