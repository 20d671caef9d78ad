// The actions of an operator on the pages for runs and passports, sent like those of a browser: forms with a session.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { standingAsked } from '../../../src/observe/standing.ts';
import { type FormFields, type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { ServedWorld } from '../../support/worlds/daemon-world.ts';
import {
  ALL_PRODUCTS,
  productsFile,
  publicationsOf,
  serveDashboardWorld,
} from '../../support/worlds/dashboard-world.ts';

const SOON = { timeout: WAIT_MS };
/** More than the passports that are asked for in one transaction. */
const MORE = 300;

describe('what an operator does on a page', () => {
  let served: ServedWorld;
  let web: WebForms;

  beforeAll(async () => {
    served = await serveDashboardWorld();
    web = webForms(served.url);
  });
  afterAll(() => served.remove());

  async function get(path: string): Promise<string> {
    const { status, text } = await web.get(path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  }
  /** Sends a form that starts a task, and waits until the task has ended. */
  async function done(path: string, fields: FormFields): Promise<void> {
    const { status, to } = await web.post(path, fields);
    expect([status, to]).toEqual([303, expect.stringMatching(/^\/tasks\/[0-9a-f]+$/)]);
    await web.taskPage(to);
  }
  const states = () => publicationsOf(served.world);

  it('a publication is shown before it happens: how many passports are published, and which cannot be and why', async () => {
    const { text } = await web.post('/passports/confirm', [
      ['status', 'published'],
      ['product', 'P-1'],
      ['product', 'P-2'],
      ['product', 'P-6'],
    ]);
    expect(text).toContain('3 passports selected. Nothing has been sent yet.');
    expect(text).toContain('Why 1 passport cannot be published');
    expect(text).toContain('Its BOM item P-6/10 is waiting for the product or material M-404, which is in no file.');
    expect(text).toContain('>Publish 2 passports</button>');
    expect(states()).toEqual([]);
  });

  it('the page of the passports publishes the selected ones, and withdraws one again', async () => {
    await done('/passports/change', [
      ['status', 'published'],
      ['product', 'P-1'],
      ['product', 'P-2'],
      ['product', 'P-6'],
    ]);
    expect(states()).toEqual(['P-1 published', 'P-2 published']);
    const list = await get('/passports?state=published');
    expect(list).toContain('href="https://passports.example.com/p/P-1"');
    await done('/passports/change', { status: 'unpublished', product: 'P-2' });
    expect(states()).toEqual(['P-1 published', expect.stringMatching(/^P-2 (?!published)/)]);
  });

  it('a filter with an unknown value selects nothing: the page and the form refuse it, with a link to the whole list', async () => {
    const before = states();
    const refused = [
      await web.get('/passports?state=foo'),
      await web.post('/passports/confirm', { of: 'filter', status: 'unpublished', state: 'foo' }),
      await web.post('/passports/change', { of: 'filter', status: 'unpublished', state: 'foo' }),
    ];
    for (const { status, text } of refused) {
      expect(status).toBe(400);
      expect(text).toContain('The filter state cannot have the value “foo”.');
      expect(text).toContain('<a href="/passports">All passports</a>');
    }
    expect(states()).toEqual(before);
  });

  it('a filter with an unknown name selects nothing: the forms that act on all of it refuse it, in the address as well', async () => {
    const before = states();
    const all = { of: 'filter', status: 'unpublished' };
    const names = 'Allowed is: status, of, product, until, state, source, search.';
    for (const path of ['/passports/confirm', '/passports/change']) {
      const { status, text } = await web.post(path, { ...all, stat: 'initialized' });
      expect(status).toBe(400);
      expect(text).toContain(`The field “stat” is unknown. ${names}`);
      expect(text).toContain('<a href="/passports">All passports</a>');
      const inAddress = await web.post(`${path}?state=initialized`, all);
      expect(inAddress.status).toBe(400);
      expect(inAddress.text).toContain('The parameter “state” is unknown.');
    }
    expect(states()).toEqual(before);
  });

  it('the page of the passports publishes all that a filter selects, beyond the page, and leaves the others', async () => {
    const rows = Array.from({ length: MORE }, (_, at) => `Z-${at};Lamp ${at};DRAFT;DE`);
    served.world.write('products.csv', productsFile([...ALL_PRODUCTS, ...rows]));
    await served.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(
      async () => ((await served.daemon.runtime.reads.passportCounts({})).initialized ?? 0) >= MORE + 2,
      SOON,
    );
    const first = await get('/passports?search=Z-&state=initialized');
    expect(first).toContain(`all ${MORE} that the filter selects`);
    const selection = { status: 'published', of: 'filter', search: 'Z-', state: 'initialized' };
    const shown = await web.post('/passports/confirm', selection);
    expect(shown.text).toContain(`>Publish ${MORE} passports</button>`);
    await done('/passports/change', selection);
    const published = states().filter((state) => state.endsWith(' published'));
    expect(published.filter((state) => state.startsWith('Z-'))).toHaveLength(MORE);
    expect(published.filter((state) => !state.startsWith('Z-'))).toEqual(['P-1 published']);
  });

  it('the page of the passports refuses a selection of nothing, and an unknown status', async () => {
    expect((await web.post('/passports/confirm', { status: 'published' })).status).toBe(400);
    expect((await web.post('/passports/change', { status: 'deleted', product: 'P-1' })).status).toBe(400);
  });

  it('the page of the runs accepts a guarded export after it has shown what will happen', async () => {
    served.world.write('products.csv', productsFile(ALL_PRODUCTS.slice(0, 2)));
    await served.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await served.daemon.runtime.reads.guardedReads()).length === 1, SOON);
    expect(await get('/')).toContain('href="/runs/accept?source=erp"');
    const shown = await get('/runs/accept?source=erp');
    expect(shown).toContain(`Records that the export lacks: products (${MORE + 4})`);
    expect(shown).toContain('<li>P-3</li>');
    expect(shown).toContain(`<li>and ${MORE + 4 - 100} more</li>`);
    const file = 'source=erp&stream=products&of=lost';
    const [head, ...lines] = (await get(`/runs/gone.csv?${file}`)).trim().split('\r\n');
    expect(head).toMatch(
      /SKU.*;dpp-sync: how many products;dpp-sync: how many are public;dpp-sync: products that use it$/,
    );
    expect(lines).toHaveLength(MORE + 4);
    expect(lines.find((line) => line.startsWith('P-3;'))).toMatch(/;1;0;P-3$/);
    expect(lines.find((line) => line.startsWith('Z-0;'))).toMatch(/;1;1;Z-0$/);
    expect(shown).toContain(`href="/runs/gone.xlsx?${file.replaceAll('&', '&amp;')}"`);
    expect((await web.bytes(`/runs/gone.xlsx?${file}`)).headers.get('content-disposition')).toContain(
      'erp-products-gone.xlsx',
    );
    expect((await web.get('/runs/gone.csv?source=erp&stream=nothing')).status).toBe(404);
    expect(shown).toContain(`At most ${MORE + 4} records that the export lacks then count as missing.`);
    const accepted = await web.press(shown, { action: '/runs/accept' });
    await web.taskPage(accepted.to);
    expect(await served.daemon.runtime.reads.guardedReads()).toEqual([]);
    expect(
      (await served.daemon.runtime.reads.standing(standingAsked(served.daemon.runtime.config))).missing.product,
    ).toBeGreaterThanOrEqual(MORE);
    expect(await get('/runs/accept?source=erp')).toContain('Nothing of erp waits for a decision.');
  });

  it('the page of the runs stops a run between two pages, and the next run reads everything', async () => {
    const rows = Array.from({ length: 30_000 }, (_, at) => `S-${at};Part ${at};DRAFT;DE`);
    served.world.write('products.csv', productsFile([...ALL_PRODUCTS.slice(0, 2), ...rows]));
    const begun = new Promise<void>((resolve) => {
      const end = served.daemon.runtime.bus.subscribe((event) => {
        if (event.type !== 'page') return;
        end();
        resolve();
      });
    });
    await web.post('/runs/start', { source: 'erp' });
    await begun;
    // The run waits with a later page, so that it does not end by itself.
    const { queues } = served.daemon.runtime;
    await queues.setPaused('map', true);
    expect(await get('/runs')).toContain('Stop the run of erp');
    const stopped = await web.post('/runs/stop', { source: 'erp' });
    expect(stopped.status).toBe(303);
    const last = async () => (await served.daemon.runtime.reads.lastRuns({ limit: 1 }))[0];
    await expect.poll(async () => (await last())?.result, SOON).toBe('interrupted');
    expect((await last())?.streams[0]?.read).toBeLessThan(30_002);
    await queues.setPaused('map', false);
    served.world.write('products.csv', productsFile(ALL_PRODUCTS.slice(0, 2)));
  });

  it('the page of the runs runs a source now, and says so where no run can be stopped', async () => {
    const before = (await served.daemon.runtime.reads.lastRuns({ limit: 1 }))[0]?.id ?? 0;
    await done('/runs/start', { source: 'erp' });
    expect((await served.daemon.runtime.reads.lastRuns({ limit: 1 }))[0]).toMatchObject({
      id: before + 1,
      result: 'complete',
    });
    const stopped = await web.post('/runs/stop', { source: 'erp' });
    expect([stopped.status, stopped.to]).toEqual([303, '/runs']);
    expect((await web.post('/runs/start', { source: 'nothing' })).status).toBe(400);
  });
});
