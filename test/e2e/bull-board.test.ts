import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { browserNote, runsBrowser, type TestBrowser } from '../support/browser/chromium.ts';
import { openWatchedPage } from '../support/browser/watched-page.ts';
import { type RedisServer, redisAvailable, startRedis } from '../support/servers/redis.ts';
import { PRODUCTS, REFUSAL, refuseCreates, startDaemon, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

const queues = redisAvailable ? (['embedded', 'redis'] as const) : (['embedded'] as const);
/** Where to keep what the browser shows, for people to look at. */
const SHOTS = process.env['DPP_SYNC_TEST_SCREENSHOTS'];

describe.skipIf(!runsBrowser).each(queues)(`bull-board over the %s queue${browserNote}`, (queue) => {
  let world: World;
  let redis: RedisServer | null = null;
  let daemon: Daemon;
  let url: string;
  let browser: TestBrowser;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [{ ...PRODUCTS.source, schedule: inSeconds(6) }],
      },
      queue: redis?.url ?? 'embedded',
      files: { ...PRODUCTS.files, ...PRODUCTS.mended },
    });
    refuseCreates(world, 'A-2');
    ({ daemon, url } = await startDaemon(world));
    ({ browser, page, complaints } = await openWatchedPage(url));
  });
  afterAll(async () => {
    await browser.close();
    await daemon.stop();
    await world.remove();
    await redis?.stop();
  });

  const shoot = async (name: string): Promise<void> => {
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${queue}-${name}.png`, fullPage: true });
  };
  const skus = () => world.contents().products.map(({ sku }) => sku);

  it('shows nothing to who has not logged in', async () => {
    await page.goto(`${url}/queues/board/queue/deliver?status=failed`);
    await page.waitForURL(/\/login\?next=/);
    await shoot('login');
    await page.fill('#token', WEB_TOKEN);
    await page.click('button[type=submit]');
    await page.waitForURL(`${url}/queues/board/queue/deliver?status=failed`);
  });

  it('shows what the API has refused, after the schedule has run the source once', async () => {
    onTestFailed(() => shoot('refused-failure'));
    await page.getByText('product.create A-2 (erp): rejected').waitFor();
    await page.getByText(REFUSAL).first().waitFor();
    await shoot('failed');
    expect(skus()).toEqual(['A-1']);
    expect(daemon.runtime.views.runs({ limit: 10 }).map(({ trigger, result }) => ({ trigger, result }))).toEqual([
      { trigger: 'schedule', result: 'complete' },
    ]);
  });

  it('offers no more than Retry and pausing', async () => {
    const icons = await page
      .locator('main button:visible svg, section button:visible svg')
      .evaluateAll((found) => found.map((icon) => icon.getAttribute('class') ?? ''));
    expect(icons.join(' ')).toContain('refresh-cw');
    expect(icons.join(' ')).not.toMatch(/trash|pencil|lucide-files/);
  });

  it('sends the product on Retry once the platform takes it, and shows the failed job no longer', async () => {
    onTestFailed(() => shoot('retry-failure'));
    world.sandbox.faults.clear();
    await page.locator('li button:has(> svg.lucide-refresh-cw):not(:has-text("Retry"))').click();
    const confirm = page.getByRole('button', { name: /^(confirm|yes|ok)$/i });
    await confirm.click();
    await expect.poll(skus, { timeout: 60_000 }).toEqual(['A-1', 'A-2']);
    await page.getByText('product.create A-2 (erp): rejected').waitFor({ state: 'detached' });
    await expect.poll(() => daemon.runtime.queues.failed('deliver'), { timeout: 60_000 }).toEqual([]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await shoot('after-retry');
    expect(world.contents().products.find(({ sku }) => sku === 'A-2')).toMatchObject({ status: 'ARCHIVED' });
  });

  it('shows on the overview that nothing needs a person', async () => {
    await page.goto(`${url}/`);
    await page.getByRole('heading', { name: 'Last run of each source' }).waitFor();
    await page.getByText('Nothing.').waitFor();
    await shoot('status');
    await page.click('text=Log out');
    await page.waitForURL(`${url}/login`);
    await page.goto(`${url}/`);
    await page.waitForURL(/\/login/);
  });

  it('needs nothing that the security policy forbids, and nothing from elsewhere', () => {
    expect(complaints).toEqual([]);
  });
});

/** A schedule for one moment that is about to come, and not again for a year. */
function inSeconds(seconds: number): string {
  const at = new Date(Date.now() + seconds * 1000);
  return [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, '*'].join(
    ' ',
  );
}
