import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { removeFolder } from '../machine/remove-folder.ts';

const EXECUTABLE = process.env['DPP_SYNC_TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const found = existsSync(EXECUTABLE);
/** False if there is no browser and none is required. Suites with a browser are skipped then. */
export const runsBrowser = found || process.env['DPP_SYNC_TEST_REQUIRE_BROWSER'] === '1';
/** Append this to the name of a suite with a browser. It says why the suite was skipped. */
export const browserNote = runsBrowser
  ? ''
  : ` (needs ${EXECUTABLE}: install it with \`apt-get install chromium\`; DPP_SYNC_TEST_REQUIRE_BROWSER=1 makes this a failure)`;

/** A browser with a separate profile. */
export interface TestBrowser {
  context: BrowserContext;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<TestBrowser> {
  const profile = mkdtempSync(join(tmpdir(), 'dpp-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: EXECUTABLE,
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
  });
  return {
    context,
    async close() {
      await context.close();
      // The processes of the browser end a moment after it, and may write a file until then.
      await removeFolder(profile);
    },
  };
}
