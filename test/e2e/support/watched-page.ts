import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../../support/browser/chromium.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import type { World } from '../../support/worlds/world.ts';

/** The folder for screenshots that a person wants to look at. */
const SHOTS = process.env['DPP_SYNC_TEST_SCREENSHOTS'];

/** A page in a separate browser, and the complaints of the browser about it. */
export interface WatchedPage {
  browser: TestBrowser;
  page: Page;
  /**
   * Scripts that fail, content that the security policy forbids, and requests to hosts other than that of the
   * dashboard.
   */
  complaints: string[];
  /** Opens the form, and logs in with the token. */
  logIn(): Promise<void>;
  /** Keeps a picture of the page where people asked for pictures. */
  shoot(name: string): Promise<void>;
}

/** A world with a daemon over it, whose dashboard a browser has open. `remove` closes the browser as well. */
export interface WatchedDashboard extends ServedWorld, WatchedPage {}

/**
 * Opens a page to look at the dashboard at `url`.
 *
 * @param isExpected true for a message of the browser that is not a complaint
 */
export async function openWatchedPage(url: string, isExpected = (_text: string) => false): Promise<WatchedPage> {
  const browser = await startBrowser();
  const page = await browser.context.newPage();
  page.setDefaultTimeout(WAIT_MS);
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
    async shoot(name) {
      if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
    },
  };
}

export async function openDashboard(world: World): Promise<WatchedDashboard> {
  const served = await startDaemon(world);
  const watched = await openWatchedPage(served.url);
  return {
    ...served,
    ...watched,
    async remove() {
      await watched.browser.close();
      await served.remove();
    },
  };
}
