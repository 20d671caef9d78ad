// Makes the pictures of the README from a real run of the demo: a recording of the terminal, and the first page of the dashboard.
// Run it after a change of what the demo prints or of the dashboard: `npm run pictures`. It needs Linux's `script` and Chromium.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBrowser } from '../../support/browser/chromium.ts';
import { drawRecording } from './draw-recording.ts';
import { recordTerminal } from './record-terminal.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const IMAGES = join(ROOT, 'docs/images');
const SIZE = { columns: 100, rows: 30 };
const DEMO = 'npm run -s demo';
/** The recording is this many times as slow as the run, so that people can read along. */
const SLOWER = 3;

async function recordDemo(): Promise<void> {
  const run = await recordTerminal(DEMO, { folder: ROOT, ...SIZE });
  const frames = run.map((frame) => ({ ...frame, at: SLOWER * frame.at }));
  const title =
    'A recording of the demo, three times slower: the first sync, wrong rows, an unchanged sync, one change, and the passports';
  writeFileSync(join(IMAGES, 'demo.svg'), drawRecording(frames, { ...SIZE, title }));
}

/** Logs in at the dashboard of a demo that stays, and takes a picture of its first page. */
async function photographDashboard(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-pictures-'));
  const [command, ...words] = `${DEMO} -- --serve --dir ${join(folder, 'demo')}`.split(' ') as [string, ...string[]];
  const demo = spawn(command, words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const browser = await startBrowser();
  try {
    const { url, token } = await addressIn(demo.stdout);
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(url);
    await page.fill('input[type=password]', token);
    await page.click('button[type=submit]');
    await page.waitForURL((address) => !address.pathname.includes('login'));
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(IMAGES, 'dashboard.png') });
  } finally {
    await browser.close();
    // npm does not pass a signal on to the demo, so the whole group gets it.
    if (demo.pid !== undefined) process.kill(-demo.pid, 'SIGTERM');
    if (demo.exitCode === null && demo.signalCode === null) await once(demo, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the output of the demo until it has shown the address of the dashboard and the token for the login. */
async function addressIn(output: AsyncIterable<Buffer>): Promise<{ url: string; token: string }> {
  let text = '';
  for await (const chunk of output) {
    text += chunk.toString();
    const [, url, token] = /dashboard {2}(http\S+)\s+log in {5}(\S+)\n/.exec(text) ?? [];
    if (url !== undefined && token !== undefined) return { url, token };
  }
  throw new Error(`The demo has ended without a dashboard:\n${text}`);
}

mkdirSync(IMAGES, { recursive: true });
await recordDemo();
await photographDashboard();
