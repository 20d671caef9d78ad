// A person acts on a page that is older than the state of the ledger. The action then is about what the page has shown,
// or is refused.

import { readFileSync, writeFileSync } from 'node:fs';
import { decodeXML } from 'entities/decode';
import { afterEach, describe, expect, it } from 'vitest';
import type { Pulls } from '../../../src/daemon/sources/pulls.ts';
import type { CauseType } from '../../../src/domain/advice.ts';
import type { Cause } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { standingAsked } from '../../../src/observe/standing.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { askWeb, visitWeb } from '../../support/browser/web-visitor.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { attentionExport, createAttentionWorld } from '../../support/worlds/attention-world.ts';
import { runSource, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import {
  ALL_PRODUCTS,
  productsFile,
  publicationsOf,
  serveDashboardWorld,
} from '../../support/worlds/dashboard-world.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };

let served: ServedWorld;
let web: WebForms;
afterEach(() => served.remove());

async function started(rows: readonly string[]): Promise<void> {
  served = await startDaemon(await createAttentionWorld({ rows }));
  web = webForms(served.url);
}

async function causeOf(type: CauseType): Promise<Cause> {
  const [cause] = await served.daemon.runtime.reads.causes({ type });
  if (cause === undefined) throw new Error(`There is no cause of the type ${type}.`);
  return cause;
}

/** Syncs a new export to its end. */
async function exported(rows: readonly string[]): Promise<void> {
  served.world.write('products.csv', attentionExport(rows));
  await web.taskPage((await web.post('/runs/start', { source: 'erp' })).to);
}

const item = (key: string) => served.daemon.runtime.reads.item('product', key);

describe('settling from a page that is older than the state', () => {
  it('a cause settles the items that its page has shown, and leaves those that got stuck later', async () => {
    await started(['B-1;Alt;20;DE']);
    const { id } = await causeOf('rejected');
    const page = (await web.get(`/attention/${id}`)).text;
    await exported(['B-1;Alt;20;DE', 'B-2;Uralt;20;DE']);
    expect((await item('B-2'))?.state).toBe('rejected');
    const { to } = await web.press(page, { action: `/attention/${id}/settle`, with: 'Leave it: 1 item' });
    const task = await web.taskPage(to);
    expect(task).toContain('1 item of 1 settled.');
    expect(task).toContain(
      '1 item came into this cause, or was refused again, after the page was loaded, and was not settled.',
    );
    expect([(await item('B-1'))?.state, (await item('B-2'))?.state]).toEqual(['superseded', 'rejected']);
  });

  it('an item with a newer revision than its page has shown is not settled', async () => {
    await started(['B-1;Alt;20;DE']);
    const { id } = await causeOf('rejected');
    const page = (await web.get(`/attention/${id}`)).text;
    const before = (await item('B-1'))?.revision;
    await exported(['B-1;Neu;20;DE']);
    expect([(await item('B-1'))?.state, (await item('B-1'))?.revision]).toEqual(['rejected', (before ?? 0) + 1]);
    const one = { action: `/attention/${id}/settle`, with: 'aria-label="Settle B-1"' };
    const { to } = await web.press(page, one, { resolution: 'ignored' });
    expect(await web.taskPage(to)).toContain('The product &quot;B-1&quot; has changed since it was shown');
    expect((await item('B-1'))?.state).toBe('rejected');
    const fresh = (await web.get(`/attention/${id}`)).text;
    await web.taskPage((await web.press(fresh, one, { resolution: 'ignored' })).to);
    expect((await item('B-1'))?.state).toBe('superseded');
  });

  it('a cause leaves items that got stuck later where dpp-sync itself has blocked them', async () => {
    const world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: SMALL_SOURCES },
      files: smallFiles(SMALL),
    });
    await world.sync();
    served = await startDaemon(world);
    web = webForms(served.url);
    const { daemon } = served;
    const states = () =>
      Promise.all(['1', '2'].map(async (key) => (await daemon.runtime.reads.item('bom_item', key))?.state));
    /** Reads an export in which these BOM items have another quantity, which the API cannot change. */
    const changed = async (ids: readonly string[]) => {
      const lines = SMALL.lines.map((line) => (ids.includes(line.id) ? { ...line, quantity: '7' } : line));
      world.write('exports/bom.csv', smallFiles({ ...SMALL, lines })['exports/bom.csv'] ?? '');
      await runSource(daemon, 'erp');
    };
    await changed(['1']);
    await expect.poll(states, SOON).toEqual(['blocked', 'delivered']);
    const { id } = await causeOf('blocked');
    const page = (await web.get(`/attention/${id}`)).text;
    await changed(['1', '2']);
    await expect.poll(states, SOON).toEqual(['blocked', 'blocked']);
    await web.taskPage((await web.press(page, { action: `/attention/${id}/settle`, with: 'value="delivered"' })).to);
    expect(await states()).toEqual(['delivered', 'blocked']);
  });
});

describe('accepting an export from a page that is older than the state', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, at) => `A-${at};Kessel;10;DE`);
  const heldRows = async () => (await served.daemon.runtime.reads.guardedReads()).map(({ missing }) => missing);
  const lastRun = async () => (await served.daemon.runtime.reads.lastRuns({ limit: 1 }))[0]?.id;

  it('an export that the guard holds is accepted only from a page that has shown this export', async () => {
    await started(rows(10));
    await exported(rows(7));
    expect(await heldRows()).toEqual([3]);
    const page = (await web.get('/runs/accept?source=erp')).text;
    await exported(rows(2));
    expect(await heldRows()).toEqual([8]);
    const run = await lastRun();
    const older = await web.press(page, { action: '/runs/accept' });
    expect(older).toMatchObject({ status: 303, to: '/runs/accept?source=erp' });
    expect([await heldRows(), await lastRun()]).toEqual([[8], run]);
    const fresh = (await web.get(older.to)).text;
    expect(fresh).toContain('At most 8 records');
    await web.taskPage((await web.press(fresh, { action: '/runs/accept' })).to);
    expect(await heldRows()).toEqual([]);
    expect(
      (await served.daemon.runtime.reads.standing(standingAsked(served.daemon.runtime.config))).missing.product,
    ).toBe(8);
    expect(await web.press(fresh, { action: '/runs/accept' })).toMatchObject({ to: '/runs/accept?source=erp' });
  });

  it('an export that the guard holds is accepted from a page that was loaded before the same export was read again', async () => {
    await started(rows(10));
    await exported(rows(7));
    const page = (await web.get('/runs/accept?source=erp')).text;
    const run = await lastRun();
    await exported(rows(7));
    expect([await heldRows(), await lastRun()]).toEqual([[3], (run ?? 0) + 1]);
    await web.taskPage((await web.press(page, { action: '/runs/accept' })).to);
    expect(await heldRows()).toEqual([]);
    expect(
      (await served.daemon.runtime.reads.standing(standingAsked(served.daemon.runtime.config))).missing.product,
    ).toBe(3);
  });

  it('an export that the guard holds is refused only from a page that has shown it, and the pages say who has refused it', async () => {
    await started(rows(10));
    await exported(rows(7));
    const page = (await web.get('/runs/accept?source=erp')).text;
    expect(page).toContain('Products that are gone, or use what is gone: default (3)');
    await exported(rows(2));
    const older = await web.press(page, { action: '/runs/refuse' });
    expect([older.to, await heldRows()]).toEqual(['/runs/accept?source=erp', [8]]);
    const run = await lastRun();
    await web.press((await web.get(older.to)).text, { action: '/runs/refuse' });
    expect([await heldRows(), await lastRun()]).toEqual([[], run]);
    for (const path of ['/runs/accept?source=erp', `/runs/${run}`]) {
      expect((await web.get(path)).text).toMatch(/has refused the export of erp\/default/);
    }
    const { rows: log } = await served.daemon.runtime.reads.actions({ limit: 1 });
    expect(log).toMatchObject([{ action: 'export.refuse', detail: { source: 'erp' } }]);
    await exported(rows(2));
    expect(await heldRows()).toEqual([]);
    await exported(rows(1));
    expect(await heldRows()).toEqual([9]);
  });

  it('the page of a run offers to accept its export only while the guard holds the export of this run', async () => {
    await started(rows(10));
    await exported(rows(7));
    expect(await heldRows()).toEqual([3]);
    const first = await lastRun();
    expect((await web.get(`/runs/${first}`)).text).toContain('Look at what is gone');
    await exported(rows(2));
    expect(await heldRows()).toEqual([8]);
    expect((await web.get(`/runs/${first}`)).text).not.toContain('Look at what is gone');
    expect((await web.get(`/runs/${await lastRun()}`)).text).toContain('Look at what is gone');
  });
});

describe('replaying from a page that is older than the config', () => {
  it('a replay does not say that it has mapped rows of a source that the config no longer has', async () => {
    await started(['A-1;Kessel;99;DE', 'B-1;Alt;20;DE']);
    const quarantine = await causeOf('quarantine');
    const page = (await web.get(`/attention/${quarantine.id}`)).text;
    const { configFile } = served.world;
    writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('id: erp', 'id: sap'));
    expect(await served.daemon.reload('person')).toMatchObject({ ok: true });
    const path = `/attention/${quarantine.id}/replay`;
    const task = await web.taskPage((await web.press(page, { action: path })).to);
    const why = '1 stored row cannot be mapped again, because the config no longer has its source.';
    expect(task).toContain(why);
    expect(task).not.toContain('was mapped again');
    const tried = await web.get((await web.press(page, { action: `${path}/try` })).to);
    expect(tried.text).toMatch(/0 of 1 would pass now\.<\/b> <span class="quiet">Counted <time /);
    expect(tried.text).toContain(why);
  });
});

describe('values and notes from a page that is older than the state', () => {
  const VALUES = '/attention/lookup-values';
  const set = (key: string, value: string) => web.post(VALUES, { lookup: 'states', key, value });
  const values = () => served.daemon.runtime.reads.lookupValues();
  const lastOutcome = async () => (await served.daemon.runtime.reads.actions({ limit: 1 })).rows[0]?.outcome;

  it('a value of a lookup table is removed only if it is the value that the page has shown', async () => {
    await started(['A-1;Kessel;99;DE']);
    await set('99', 'DRAFT');
    const page = (await web.get(VALUES)).text;
    await set('99', 'ARCHIVED');
    expect(await lastOutcome()).toContain('A person had set “DRAFT” before.');
    const remove = { action: `${VALUES}/remove` };
    await web.press(page, remove);
    expect(await values()).toMatchObject([{ key: '99', value: 'ARCHIVED' }]);
    expect(await lastOutcome()).toBe('“99” in states means “ARCHIVED” now, so nothing was removed.');
    const fresh = (await web.get(VALUES)).text;
    await web.press(fresh, remove);
    expect(await values()).toEqual([]);
    await web.press(fresh, remove);
    expect(await lastOutcome()).toBe('The value of “99” in states was removed before, so nothing was removed.');
  });

  it('a value of a lookup table that is sent twice does not say that no row has used its key', async () => {
    await started(['A-1;Kessel;99;DE']);
    await set('99', 'DRAFT');
    expect(await lastOutcome()).toContain('1 row that has used it is mapped again.');
    await set('99', 'DRAFT');
    expect(await lastOutcome()).toBe('“99” in states means “DRAFT” now. No stored row has to be mapped again.');
  });

  it('a note does not replace a note that its page has not shown', async () => {
    await started(['B-1;Alt;20;DE']);
    const { id } = await causeOf('rejected');
    const page = (await web.get(`/attention/${id}`)).text;
    const form = { action: `/attention/${id}/note` };
    expect((await web.press(page, form, { owner: 'anna', text: 'I ask sales.' })).status).toBe(303);
    const late = await web.press(page, form, { owner: 'ben', text: 'I ask the platform.' });
    expect([late.status, (await causeOf('rejected')).note]).toEqual([
      409,
      expect.objectContaining({ owner: 'anna', text: 'I ask sales.' }),
    ]);
    expect(late.text).toContain('I ask the platform.');
    const fresh = (await web.get(`/attention/${id}`)).text;
    await web.press(fresh, form, { owner: 'ben', text: 'I ask the platform.' });
    expect((await causeOf('rejected')).note).toMatchObject({ owner: 'ben' });
  });

  it('an upload that newer uploads have replaced is not called stored', async () => {
    await started(['A-1;Kessel;99;DE']);
    const { id } = await causeOf('quarantine');
    const file = { name: 'rows.csv', bytes: attentionExport(['A-1;Kessel;10;DE']) };
    const { to } = await web.upload(`/attention/${id}/upload`, file);
    const page = (await web.get(to)).text;
    for (let more = 0; more < 10; more += 1) await web.upload(`/attention/${id}/upload`, file);
    const { status, text } = await web.press(page, { action: to });
    expect([status, text]).toEqual([404, expect.stringContaining('newer uploads have replaced it')]);
  });
});

describe('stopping a run from a page that is older than the state', () => {
  const run = async () => (await served.daemon.runtime.reads.lastRuns({ limit: 1 }))[0];
  const many = (name: string) => Array.from({ length: 30_000 }, (_, at) => `S-${at};${name};99;DE`);

  /** Starts a run, and waits until it has read a page. It then waits with a later page, so that it does not end by itself. */
  async function begun(rows: readonly string[]): Promise<void> {
    const { queues } = served.daemon.runtime;
    await queues.setPaused('map', false);
    served.world.write('products.csv', attentionExport(rows));
    const read = new Promise<void>((resolve) => {
      const end = served.daemon.runtime.bus.subscribe(({ type }) => {
        if (type !== 'page') return;
        end();
        resolve();
      });
    });
    await web.post('/runs/start', { source: 'erp' });
    await read;
    await queues.setPaused('map', true);
  }

  it('the button that stops a run does not stop a later run of the same source', async () => {
    await started(['A-1;Kessel;10;DE']);
    await begun(many('Kessel'));
    const page = (await web.get('/runs')).text;
    expect((await web.get(`/runs/${(await run())?.id}`)).text).toContain(`name="run" value="${(await run())?.id}"`);
    await web.press(page, { action: '/runs/stop' });
    await expect.poll(async () => (await run())?.result, SOON).toBe('interrupted');
    const stopped = (await run())?.id ?? 0;
    await begun(many('Kanne'));
    expect(await web.press(page, { action: '/runs/stop' })).toMatchObject({ status: 303, to: '/runs' });
    const [action] = (await served.daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action?.outcome).toBe(`Run ${stopped} of erp has already ended. Nothing was stopped.`);
    await web.press((await web.get('/runs')).text, { action: '/runs/stop' });
    await expect.poll(async () => (await run())?.result, SOON).toBe('interrupted');
    expect((await run())?.id).toBe(stopped + 1);
  });
});

it('the button that starts a run starts one run where it is pressed twice, and another one afterwards', async () => {
  await started(['A-1;Kessel;10;DE']);
  const page = (await web.get('/runs')).text;
  const press = () => web.press(page, { action: '/runs/start' });
  // The run does not read the source to its end before both presses are answered.
  const answered = Promise.withResolvers<void>();
  const locked = served.daemon.runtime as unknown as Pick<Pulls, 'betweenRuns'>;
  const held = locked.betweenRuns('erp', () => answered.promise, new AbortController().signal);
  const [first, second] = await Promise.all([press(), press()]);
  answered.resolve();
  await held;
  expect([first.status, second.to]).toEqual([303, first.to]);
  await web.taskPage(first.to);
  const runs = async () => (await served.daemon.runtime.reads.lastRuns({ limit: 10 })).length;
  expect(await runs()).toBe(2);
  await web.taskPage((await press()).to);
  expect(await runs()).toBe(3);
});

describe('publishing from a page that is older than the state', () => {
  it('what a filter selects is published as the page has shown it, without the passports that came later', async () => {
    served = await serveDashboardWorld();
    web = webForms(served.url);
    const { reads } = served.daemon.runtime;
    const page = (await web.post('/passports/confirm', { status: 'published', of: 'filter', search: 'P-' })).text;
    served.world.write('products.csv', productsFile([...ALL_PRODUCTS, 'P-9;Lamp;DRAFT;DE']));
    await served.daemon.startRun('erp', 'schedule');
    await expect.poll(async () => (await reads.passport('P-9'))?.state, SOON).toBe('initialized');
    const { to } = await web.press(page, { action: '/passports/change' });
    const task = await web.taskPage(to);
    expect(task).toContain('1 passport has changed after the page was loaded, and was left.');
    expect(publicationsOf(served.world).filter((one) => one.endsWith(' published'))).toEqual([
      'P-1 published',
      'P-2 published',
      'P-3 published',
    ]);
  });
});

describe('a form of a page that is older than the daemon', () => {
  it('a form that is sent after a restart does nothing, and leads through the login back to its page', async () => {
    const world = await createAttentionWorld({ rows: ['A-1;Kessel;10;DE'] });
    served = await startDaemon(world);
    const { cookie, csrf } = await visitWeb(served.url, { password: WEB_TOKEN });
    await served.daemon.stop();
    served = await startDaemon(world);
    const { url } = served;
    const send = (of: string) => {
      const headers = { cookie: of, origin: url, referer: `${url}/runs?source=erp`, host: new URL(url).host };
      return askWeb(url, '/runs/start', {
        form: { csrf, source: 'erp' },
        headers: { ...headers, accept: 'text/html' },
      });
    };
    const after = await send(cookie);
    expect([after.status, after.body]).toEqual([401, expect.stringContaining('Your login is over')]);
    expect(after.body).toContain('name="next" type="hidden" value="/runs?source=erp"');
    const visitor = await visitWeb(url, { password: WEB_TOKEN });
    const again = await send(visitor.cookie);
    expect([again.status, again.headers.location]).toEqual([303, '/runs?source=erp']);
    expect((await visitor.get('/runs?source=erp')).body).toContain('Your form was not sent');
    expect(await served.daemon.runtime.reads.lastRuns({ limit: 10 })).toHaveLength(1);
  });

  it('a note that is sent after a restart is in the form again after the login, and is not stored by itself', async () => {
    const world = await createAttentionWorld({ rows: ['A-1;Kessel;10;XX'] });
    served = await startDaemon(world);
    const before = await visitWeb(served.url, { password: WEB_TOKEN });
    await served.daemon.stop();
    served = await startDaemon(world);
    const { url } = served;
    const { id } = await causeOf('quarantine');
    const page = `/attention/${id}`;
    const typed = { owner: 'Ann "A"', text: '\nAsk <b>plm</b> & wait\nfor $1' };
    const own = { origin: url, accept: 'text/html', host: new URL(url).host };
    const send = (form: Record<string, string>, headers = {}) =>
      askWeb(url, `${page}/note`, { form, headers: { ...own, referer: `${url}${page}`, ...headers } });

    const asked = await send({ csrf: before.csrf, noted: '0', ...typed }, { cookie: before.cookie });
    expect([asked.status, asked.body]).toEqual([401, expect.stringContaining('what you have typed is kept')]);
    const field = (name: string) =>
      decodeXML(new RegExp(`name="${name}" type="hidden" value="([^"]*)"`).exec(asked.body)?.[1] ?? '');
    expect(field('draft')).not.toContain(before.csrf);
    const hidden = { next: field('next'), draft: field('draft') };
    const wrong = await askWeb(url, '/login', { form: { ...hidden, token: 'no', name: '' }, headers: own });
    expect(wrong.body).toContain('name="draft"');
    const login = await askWeb(url, '/login', { form: { ...hidden, token: WEB_TOKEN, name: '' }, headers: own });
    expect([login.status, login.headers.location]).toEqual([303, page]);
    const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
    const { body } = await askWeb(url, page, { headers: { ...own, cookie } });
    expect(body).toContain('It has what you typed');
    const area = /<textarea [^>]*>\n([^<]*)<\/textarea>/.exec(body)?.[1] ?? '';
    expect(decodeXML(area)).toBe(typed.text);
    expect(decodeXML(/name="owner"[^>]* value="([^"]*)"/.exec(body)?.[1] ?? '')).toBe(typed.owner);
    expect((await causeOf('quarantine')).note).toBeNull();

    const csrf = /name="csrf" value="([\w-]{43})"/.exec(body)?.[1] ?? '';
    expect((await send({ csrf, noted: '0', ...typed }, { cookie })).status).toBe(303);
    expect((await causeOf('quarantine')).note).toMatchObject({ owner: typed.owner });
    // The form is filled in once.
    expect((await askWeb(url, page, { headers: { ...own, cookie } })).body).not.toContain('It has what you typed');
  });

  it('a form from another site, a long one and one with passwords are not kept', async () => {
    served = await startDaemon(await createAttentionWorld({ rows: ['A-1;Kessel;10;DE'] }));
    const { url } = served;
    const send = (path: string, form: Record<string, string>, headers: Record<string, string>) =>
      askWeb(url, path, { form, headers: { accept: 'text/html', referer: `${url}/account`, ...headers } });
    const own = { origin: url };
    const foreign = await send('/runs/start', { source: 'erp' }, { origin: 'https://evil.example' });
    expect(foreign.body).not.toContain('name="draft"');
    expect((await send('/runs/start', { source: 'x'.repeat(20_000) }, own)).body).not.toContain('name="draft"');
    const passwords = { present_password: 'one', new_password: 'two', repeated_password: 'two' };
    const account = await send('/account', passwords, own);
    expect([account.status, account.body]).toEqual([401, expect.not.stringContaining('name="draft"')]);
    expect((await send('/runs/start', { source: 'erp' }, own)).body).toContain('name="draft"');
  });
});
