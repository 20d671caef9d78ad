import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { type RedisServer, redisAvailable, startRedis } from '../support/servers/redis.ts';
import { createProductsWorld, PRODUCTS, REFUSAL, refuseCreates, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { seriousFindings } from './support/axe.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

const queues = redisAvailable ? (['embedded', 'redis'] as const) : (['embedded'] as const);

describe.skipIf(!runsBrowser).each(queues)(`bull-board over the %s queue${browserNote}`, (queue) => {
  let redis: RedisServer | null = null;
  let web: WatchedDashboard;
  let page: Page;

  beforeAll(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    const world = await createProductsWorld({
      queue: redis?.url ?? 'embedded',
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    refuseCreates(world, 'A-2');
    web = await openDashboard(world);
    ({ page } = web);
    await web.daemon.startRun('erp', 'schedule');
  });
  afterAll(async () => {
    await web.remove();
    await redis?.stop();
  });

  const shoot = (name: string) => web.shoot(`${queue}-${name}`);
  const skus = () => web.world.contents().products.map(({ sku }) => sku);

  it('the board shows nothing to a person who has not logged in', async () => {
    await page.goto(`${web.url}/queues/board/queue/deliver?status=failed`);
    await page.waitForURL(/\/login\?next=/);
    await shoot('login');
    await page.fill('#token', WEB_TOKEN);
    await page.click('button[type=submit]');
    await page.waitForURL(`${web.url}/queues/board/queue/deliver?status=failed`);
  });

  it('the board shows what the API has refused, after one run of the source', async () => {
    onTestFailed(() => shoot('refused-failure'));
    await page.getByText('product.create A-2 (erp): rejected').waitFor();
    await page.getByText(REFUSAL).first().waitFor();
    await shoot('failed');
    // A refusal may be shown before the other product has arrived, and before the run has ended.
    await expect.poll(skus).toEqual(['A-1']);
    const runs = () => web.daemon.runtime.reads.lastRuns({ limit: 10 });
    await expect.poll(runs).toMatchObject([{ trigger: 'schedule', result: 'complete' }]);
  });

  it('the board offers no more than Retry and pausing', async () => {
    const icons = await page
      .locator('main button:visible svg, section button:visible svg')
      .evaluateAll((found) => found.map((icon) => icon.getAttribute('class') ?? ''));
    expect(icons.join(' ')).toContain('refresh-cw');
    expect(icons.join(' ')).not.toMatch(/trash|pencil|lucide-files/);
    expect(await page.getByText('Retry all', { exact: true }).filter({ visible: true }).count()).toBe(0);
    const offered = async () => {
      const menus = page.getByRole('button', { name: 'More actions' });
      const names: string[] = [];
      for (const menu of await menus.all()) {
        await menu.click();
        await page.getByRole('menu').waitFor();
        names.push(...(await page.getByRole('menuitem').filter({ visible: true }).allInnerTexts()));
        await page.keyboard.press('Escape');
        await page.getByRole('menu').waitFor({ state: 'detached' });
      }
      return new Set(names);
    };
    expect(await offered()).toEqual(new Set(['Pause']));
    await page.goto(`${web.url}/queues/board/`);
    await page.getByText('2 Jobs').waitFor();
    expect([...(await offered())].filter((name) => /retry|pause|resume|empty|add/i.test(name))).toEqual(['Pause']);
  });

  it.each(['light', 'dark'] as const)(
    'the board has no problem of access, and a name on each button: %s',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      for (const path of ['', 'queue/deliver?status=failed', 'queue/pull?status=completed']) {
        await page.goto(`${web.url}/queues/board/${path}`);
        await page.getByRole('button', { name: 'More actions' }).first().waitFor();
        expect(await seriousFindings(page), path).toEqual([]);
        await shoot(`board-${colorScheme}-${path === '' ? 'home' : path.slice(6, 10)}`);
      }
      await page.emulateMedia({ colorScheme: null });
      await page.goto(`${web.url}/queues/board/queue/deliver?status=failed`);
    },
  );

  it('Retry on the board sends the product once the platform accepts it, and the failed job is shown no longer', async () => {
    onTestFailed(() => shoot('retry-failure'));
    web.world.sandbox.faults.clear();
    await page.locator('li button:has(> svg.lucide-refresh-cw):not(:has-text("Retry"))').click();
    const confirm = page.getByRole('button', { name: /^(confirm|yes|ok)$/i });
    await confirm.click();
    await expect.poll(skus).toEqual(['A-1', 'A-2']);
    await page.getByText('product.create A-2 (erp): rejected').waitFor({ state: 'detached' });
    await expect.poll(() => web.daemon.runtime.queues.failed('deliver')).toEqual([]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await shoot('after-retry');
    expect(web.world.contents().products.find(({ sku }) => sku === 'A-2')).toMatchObject({ status: 'ARCHIVED' });
  });

  it('the audit log and the history of the item name the person who has retried it on the board', async () => {
    const { rows } = await web.daemon.runtime.reads.actions({ limit: 50 });
    const retry = rows.find(({ action }) => action === 'queue.retry');
    expect(retry).toMatchObject({ via: 'web', detail: { queue: 'deliver', delivery: expect.any(Number) } });
    await page.goto(`${web.url}/items/product/A-2`);
    await page.getByText(`${retry?.who ?? 'nobody'} tried a job of a queue again`).waitFor();
    await page.goto(`${web.url}/audit`);
    await page.getByRole('link', { name: 'A-2' }).first().waitFor();
  });

  it('the overview shows that nothing needs a person after a retry on the board', async () => {
    await page.goto(`${web.url}/`);
    await page.getByRole('heading', { name: 'Last run of each source' }).waitFor();
    await page.getByText('Nothing.').waitFor();
    await shoot('status');
    await page.click('text=Log out');
    await page.waitForURL(`${web.url}/login`);
    await page.goto(`${web.url}/`);
    await page.waitForURL(/\/login/);
  });

  it('the board needs nothing that the security policy forbids, and nothing from elsewhere', () => {
    expect(web.complaints).toEqual([]);
  });
});
