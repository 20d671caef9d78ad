import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { type GuardedWeb, openGuardedWeb, PASSWORDS } from '../support/browser/guarded-web.ts';
import { seriousFindings } from './support/axe.ts';
import { openWatchedPage, type WatchedPage } from './support/watched-page.ts';

describe.skipIf(!runsBrowser)(`logging in, tasks, the audit log and error pages${browserNote}`, () => {
  let web: GuardedWeb;
  let watched: WatchedPage;
  let page: Page;
  let task = '';

  beforeAll(async () => {
    web = await openGuardedWeb();
    task = (await web.people.operator.post('/runs/start', { source: 'erp' })).headers.location ?? '';
    // The test opens some pages to see their errors, and the browser complains about the status of these pages.
    watched = await openWatchedPage(web.url, (text) => /status of 40[134]/.test(text));
    ({ page } = watched);
  });
  afterAll(async () => {
    await watched.browser.close();
    await web.remove();
  });

  async function logIn(role: keyof typeof PASSWORDS): Promise<void> {
    await watched.browser.context.clearCookies();
    await page.goto(`${web.url}/login`);
    await page.getByLabel('Name').fill(`the-${role}`);
    await page.getByLabel('Password').fill(PASSWORDS[role]);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${web.url}/`);
  }

  it('a person logs in with the keyboard alone, and out again', async () => {
    await watched.browser.context.clearCookies();
    await page.goto(`${web.url}/runs`);
    await page.waitForURL(/\/login\?next=%2Fruns/);
    // The first field gets the focus by itself, which may be a moment after the page was loaded.
    await page.waitForFunction('document.activeElement.id === "name"');
    await page.keyboard.type('the-viewer');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORDS.viewer);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${web.url}/runs`);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${web.url}/login`);
    await page.goto(`${web.url}/runs`);
    await page.waitForURL(/\/login/);
  });

  it('the first Tab on a page jumps over the menu to the content', async () => {
    await logIn('viewer');
    await page.goto(`${web.url}/tasks`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  describe.each([
    { width: 390, colorScheme: 'light' },
    { width: 390, colorScheme: 'dark' },
    { width: 1280, colorScheme: 'light' },
    { width: 1280, colorScheme: 'dark' },
  ] as const)('at $width px, $colorScheme', ({ width, colorScheme }) => {
    it('no page of the account keeps people from using it, or is wider than the screen', async () => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      const look = async (path: string) => {
        await page.goto(`${web.url}${path}`);
        await watched.shoot(`${path.replace(/[^a-z]/g, '').slice(0, 12)}-${width}-${colorScheme}`);
        expect([path, await seriousFindings(page)]).toEqual([path, []]);
        expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, width]);
      };
      await watched.browser.context.clearCookies();
      await look('/login');
      await logIn('operator');
      for (const path of ['/account', '/tasks', task, '/audit', '/no-such-page']) await look(path);
      await logIn('viewer');
      await look('/audit');
    });
  });

  it('the browser complains of nothing on the pages of the account', () => {
    expect(watched.complaints).toEqual([]);
  });
});
