import type { Page } from 'playwright-core';
import { WEB_TOKEN } from '../worlds/daemon-world.ts';
import { startBrowser, type TestBrowser } from './chromium.ts';

/** A page in its own browser, with the complaints of the browser. */
export interface WatchedPage {
  browser: TestBrowser;
  page: Page;
  /** Scripts that fail, content that the security policy forbids, and requests to other hosts than the dashboard's. */
  complaints: string[];
  /** Opens the form, and logs in with the token. */
  logIn(): Promise<void>;
}

/**
 * Opens a page to look at the dashboard at `url`.
 *
 * @param isExpected true of a message of the browser that is no complaint
 */
export async function openWatchedPage(url: string, isExpected = (_text: string) => false): Promise<WatchedPage> {
  const browser = await startBrowser();
  const page = await browser.context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !isExpected(text)) complaints.push(`${page.url()}: ${text}`);
  });
  page.on('request', (request) => {
    const to = request.url();
    if (!to.startsWith(url) && !to.startsWith('data:')) complaints.push(to);
  });
  return {
    browser,
    page,
    complaints,
    async logIn() {
      await page.goto(`${url}/login`);
      await page.fill('#token', WEB_TOKEN);
      await page.click('main button[type=submit]');
      await page.waitForURL(`${url}/`);
    },
  };
}
