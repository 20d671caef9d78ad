// The texts of the pages about passports while one cause keeps all passports from being published.

import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { ServedWorld } from '../../support/worlds/daemon-world.ts';
import { ALL_PRODUCTS, productsFile, serveDashboardWorld } from '../../support/worlds/dashboard-world.ts';
import type { World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const ALL = { of: 'filter', status: 'published' };
const HELD = 'Prepared passports may have to wait';
const REFUSED = 'Nothing is sent until the API accepts the key';

let served: ServedWorld;
let world: World;
let daemon: Daemon;

afterEach(() => served.remove());

async function started(): Promise<WebForms> {
  served = await serveDashboardWorld();
  ({ world, daemon } = served);
  return webForms(served.url);
}

describe('the pages about passports', () => {
  it('pages about passports name the source that the guard holds in the list, before a person asks for anything', async () => {
    const web = await started();
    expect((await web.get('/passports')).text).not.toContain(HELD);
    expect((await web.get('/')).text).toContain('4 are prepared, not public');
    world.write('products.csv', productsFile(ALL_PRODUCTS.slice(0, 2)));
    await daemon.startRun('erp', 'schedule');
    const list = async () => (await web.get('/passports')).text;
    await expect.poll(list, SOON).toContain(`${HELD}: The guard holds the source erp`);
    expect((await web.post('/passports/confirm', ALL)).text).toContain(HELD);
    const overview = (await web.get('/')).text;
    expect(overview).not.toContain('ready to be published');
    expect(overview).toContain('No passport can be published now: The guard holds the source erp');
  });

  it('pages about passports say that nothing is sent while the API refuses the key, before it is asked for and on the page of a product', async () => {
    const web = await started();
    expect((await web.post('/passports/confirm', ALL)).text).not.toContain(REFUSED);
    expect(world.sandbox.revokeKey(1)).toBe(true);
    world.write('products.csv', productsFile(ALL_PRODUCTS.map((row) => row.replace('Kettle', 'Pot'))));
    await daemon.startRun('erp', 'schedule');
    await vi.waitUntil(() => !daemon.runtime.api.authorization().open, SOON);
    expect((await web.post('/passports/confirm', ALL)).text).toContain(REFUSED);
    expect((await web.get('/items/product?key=P-1')).text).toContain(REFUSED);
  });

  it('pages about passports lead from a mistake back to the page with the form', async () => {
    const web = await started();
    const mistake = await web.post('/passports/confirm', { status: 'published' }, '/passports?search=P-1');
    expect(mistake.status).toBe(400);
    expect(mistake.text).toContain('<h1>Not possible like this</h1>');
    expect(mistake.text).toContain('<a href="/passports?search=P-1">Back to the page before</a>');
    // Only a page of this server is a place to go back to.
    for (const from of ['/passports/confirm', '/nowhere', '/logout']) {
      const { text } = await web.post('/passports/confirm', { status: 'published' }, from);
      expect(text).not.toContain('Back to the page before');
    }
  });
});
