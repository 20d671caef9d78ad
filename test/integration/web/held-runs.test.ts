// A run that would do more than its source allows, as people see it and decide about it on the pages of a daemon.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { runSource, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld } from '../../support/worlds/world.ts';

const HOSTILE = '<script>alert(1)</script>';
const DEEP = 200_000;

const ERP = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'], delimiter: ';' },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"', status: '"ACTIVE"' },
    },
  ],
  approve: { creates: 2, changes: 1 },
};

/** Products P-0, P-1, … with these names. */
const products = (...names: string[]) => ['SKU;NAME', ...names.map((name, n) => `P-${n};${name}`)].join('\n');
const text = (markup: string): string => markup.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

describe('a run of a daemon that is held', () => {
  let served: ServedWorld;
  let web: WebForms;
  afterEach(() => served.remove());

  async function open(...names: string[]): Promise<void> {
    const world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [ERP] },
      files: { 'products.csv': products(...names) },
    });
    served = await startDaemon(world);
    web = webForms(served.url);
    await runSource(served.daemon, 'erp');
  }
  async function run(...names: string[]): Promise<void> {
    served.world.write('products.csv', products(...names));
    await runSource(served.daemon, 'erp');
  }
  async function get(path: string): Promise<string> {
    const { status, text: page } = await web.get(path);
    expect([path, status]).toEqual([path, 200]);
    return page;
  }
  const names = () =>
    served.world
      .contents()
      .products.map((product) => (product as { name: string }).name)
      .toSorted();
  const decisionPage = () => get('/runs/accept?source=erp');
  const planFile = () => join(served.world.folder, 'data/ledger.db.held/erp.jsonl');
  const APPROVE = { action: '/runs/accept' };
  const REFUSE = { action: '/runs/refuse' };

  it('is shown on the first page, in the inbox, among the runs and in the history, and its counts agree', async () => {
    await open('One', 'Two', 'Three');
    const first = text(await get('/'));
    expect(first).toContain('0 of 1 source complete');
    expect(first).toContain('held, because it would do more than is allowed: erp .');
    expect(first).toContain('A run of erp would do more than is allowed. If it is right, approve it.');
    expect(first).toContain('It would make 3 new items (erp allows 2).');
    expect(first).toContain('The last export is not in: erp.');
    expect(await get('/')).toContain('href="/runs/accept?source=erp"');

    const inbox = await get('/attention?type=held');
    expect(text(inbox)).toContain('3 writes of erp . How many passports wait for this is not known.');
    const cause = /href="(\/attention\/[^"?]+)"[^>]*>A run of erp/.exec(inbox)?.[1] ?? '';
    expect(text(await get(cause))).toContain('Look at what it would do, and decide…');

    expect(text(await get('/runs?result=held'))).toContain('erp held for approval');
    expect(text(await get('/runs?result=complete'))).toContain('No run matches the filter.');
    const page = text(await get('/runs/1'));
    expect(page).toContain('The run would have made 3 new items (erp allows 2), so nothing of it was stored.');
    expect(page).toContain('Look at what it would do, and decide…');
    expect(text(await get('/history'))).toMatch(/erp held for approval 1 0 1 0 0/);
    const { text: api } = await web.get('/api/v1/causes?type=held');
    expect(JSON.parse(api)).toMatchObject([{ type: 'held', source: 'erp', count: 3, passportsHeld: null }]);
  });

  it('is shown as held only when a person can decide about it', async () => {
    await open('One');
    const { ledger, held } = served.daemon.runtime;
    const endRun = ledger.endRun.bind(ledger);
    const known: (number | undefined)[] = [];
    vi.spyOn(ledger, 'endRun').mockImplementation((run) => {
      known.push(held.of('erp')?.runId);
      return endRun(run);
    });
    await run('One', 'Two', 'Three', 'Four');
    expect(known).toEqual([2]);
  });

  it('is approved on the page that shows what it would do, and then does what was shown', async () => {
    await open('One', 'Two');
    await run(HOSTILE, 'Second', 'Third');
    const page = await decisionPage();
    expect(page).not.toContain(HOSTILE);
    const shown = text(page);
    expect(shown).toContain('It would make 2 changed items (erp allows 1).');
    expect(shown).toContain('erp 1 2 (allowed: 1) 0 0');
    expect(shown).toContain('name : Two → Second');
    expect(shown).toContain('New items');
    expect(page).toContain('href="/items/product/P-1"');
    expect(page).not.toContain('href="/items/product/P-2"');
    const plan = await get('/runs/held.jsonl?source=erp');
    expect(plan).toBe(readFileSync(planFile(), 'utf8'));

    const { to } = await web.press(page, APPROVE);
    await web.taskPage(to);
    expect(names()).toEqual([HOSTILE, 'Second', 'Third']);
    expect(await served.daemon.runtime.reads.heldRuns(['erp'])).toEqual([]);
    expect(text(await get('/runs/2'))).toMatch(/token has approved it, \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
    expect(text(await decisionPage())).toContain('Nothing of erp waits for a decision.');
    expect((await web.get('/runs/held.jsonl?source=erp')).status).toBe(404);
    const { rows } = JSON.parse(await get('/api/v1/audit')) as { rows: object[] };
    expect(rows[0]).toMatchObject({ action: 'export.accept', who: 'token', detail: { source: 'erp', run: 2 } });
    expect(text(await get('/audit'))).toContain('accepted an export or approved a run');
  });

  it('sends nothing when it is refused, and the pages say who has refused it, also for later runs', async () => {
    await open('One', 'Two', 'Three');
    const refused = await web.press(await decisionPage(), REFUSE);
    expect(refused.to).toBe('/runs/accept?source=erp');
    const page = await decisionPage();
    expect(text(page)).toMatch(/token has refused it, .* UTC\./);
    expect(page).not.toContain('action="/runs/refuse"');
    const first = text(await get('/'));
    expect(first).toContain('0 of 1 source complete held, and a person has decided: erp .');
    expect(first).not.toContain('If it is right, approve it');

    await runSource(served.daemon, 'erp');
    for (const path of ['/runs/1', '/runs/2']) expect(text(await get(path))).toContain('token has refused it, ');
    expect(text(await get('/attention'))).not.toContain('A run of erp');
    expect(names()).toEqual([]);

    await web.taskPage((await web.press(await decisionPage(), APPROVE)).to);
    expect(names()).toEqual(['One', 'Three', 'Two']);
  });

  it('is not decided by the form of an older run', async () => {
    await open('One', 'Two', 'Three');
    const older = await decisionPage();
    await run('One', 'Two', 'Three', 'Four');
    for (const form of [APPROVE, REFUSE]) {
      const { status, to } = await web.press(older, form);
      expect([status, to]).toEqual([303, '/runs/accept?source=erp']);
    }
    expect(served.daemon.runtime.held.of('erp')).toMatchObject({ runId: 2, decision: null });
    expect(names()).toEqual([]);
  });

  it('is not approved by an approval that was meant for an older run, and the task says so', async () => {
    await open('One', 'Two', 'Three');
    await run('One', 'Two', 'Three', 'Four');
    const body = { sources: ['erp'], accept: ['erp'], approve: [1] };
    const answer = await fetch(`${served.url}/api/v1/operations/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${WEB_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { id } = (await answer.json()) as { id: string };
    expect(text(await web.taskPage(`/tasks/${id}`))).toContain('A run of erp is held: it would make 4 new items');
    expect(served.daemon.runtime.held.of('erp')).toMatchObject({ runId: 3, decision: null });
    expect(names()).toEqual([]);
  });

  it('has a page that does not wait for a folder or a named pipe in the place of its plan', async () => {
    await open('One', 'Two', 'Three');
    for (const put of [() => mkdirSync(planFile()), () => execFileSync('mkfifo', [planFile()])]) {
      rmSync(planFile(), { recursive: true });
      put();
      expect(text(await decisionPage())).toContain('is no file.');
      expect((await web.get('/runs/held.jsonl?source=erp')).status).toBe(400);
    }
  });

  it.each([
    ['is gone', (file: string) => rmSync(file), 'cannot be read'],
    ['was changed', (file: string) => changed(file, '"One"', '"Won"'), 'the file was changed'],
    ['is no plan', (file: string) => writeFileSync(file, '{"type":"plan"'), 'this is no JSON object'],
    [
      'is nested too deep',
      (file: string) => changed(file, '"One"', `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
      'cannot be shown',
    ],
  ])('can be neither seen nor approved on the page if its plan %s, and the page says so', async (_, spoil, reason) => {
    await open('One', 'Two', 'Three');
    expect(await decisionPage()).toContain('action="/runs/accept"');
    spoil(planFile());
    const page = await decisionPage();
    expect(text(page)).toContain('The plan of the run cannot be shown, so the run cannot be approved here.');
    expect(text(page)).toContain(reason);
    expect(page).not.toContain('action="/runs/accept"');
    await web.taskPage((await web.press(page, { action: '/runs/start' })).to);
    expect(await decisionPage()).toContain('action="/runs/accept"');
    expect(names()).toEqual([]);
  });
});

function changed(file: string, from: string, to: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}
