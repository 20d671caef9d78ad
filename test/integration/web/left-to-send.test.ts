import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { ServedWorld } from '../../support/worlds/daemon-world.ts';
import { serveDashboardWorld } from '../../support/worlds/dashboard-world.ts';

const SOON = { timeout: WAIT_MS };

let served: ServedWorld;
let web: WebForms;

beforeAll(async () => {
  served = await serveDashboardWorld();
  web = webForms(served.url);
});
afterAll(() => served.remove());

/** The figures of "Left to send" on the overview, with the lists that they link to. */
async function figures(): Promise<[href: string, count: string][]> {
  const { text } = await web.get('/');
  const left = /<dt>Left to send<\/dt><dd>(.*?)<\/dd>/s.exec(text)?.[1] ?? '';
  return [...left.matchAll(/href="([^"]*)">([\d,]+)</g)].map(([, href = '', count = '']) => [href, count]);
}

it('the overview counts what is left to send as the lists behind the figures do, with passports', async () => {
  served.world.sandbox.faults.add({
    operation: 'passport.publish',
    kind: 'status',
    status: 429,
    retryAfterSeconds: 600,
  });
  const ids = ['P-1', 'P-2'];
  for (const product of ids) await web.post('/passports/change', { of: 'selected', status: 'published', product });
  const due = () => served.daemon.runtime.reads.items({ state: 'due', kind: 'passport' }, { limit: 5 });
  // Until the platform has answered the first of them, it counts as being sent.
  await vi.waitUntil(() => served.daemon.runtime.api.longWait() !== null, SOON);
  await vi.waitUntil(async () => (await due()).total.count === ids.length, SOON);

  const shown = await figures();
  expect(shown).toEqual([
    ['/items?state=due', '2'],
    ['/items?state=waiting', '1'],
    ['/passports?state=incomplete', '2'],
  ]);
  for (const [href, count] of shown) expect((await web.get(href)).text).toContain(`${count} of ${count}`);
});

it('the page of the queues links each figure of a queue to the jobs behind it', async () => {
  const { text } = await web.get('/queues');
  expect(text).toContain('href="/queues/board/queue/deliver?status=failed">1 failed</a>');
  const board = await web.get('/queues/board/api/queues?activeQueue=deliver&status=failed&page=1');
  expect(JSON.parse(board.text)).toMatchObject({
    queues: expect.arrayContaining([expect.objectContaining({ name: 'deliver', jobs: [expect.anything()] })]),
  });
});
