// A person acts on a page that is older than the state of the ledger. The action then is about what the page has shown,
// or is refused.

import { afterEach, describe, expect, it } from 'vitest';
import type { Cause, CauseType } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { attentionExport, createAttentionWorld } from '../../support/worlds/attention-world.ts';
import { type ServedWorld, startDaemon } from '../../support/worlds/daemon-world.ts';

const SOON = { timeout: 30_000 };

let served: ServedWorld;
let web: WebForms;
afterEach(() => served.remove());

async function started(rows: readonly string[]): Promise<void> {
  served = await startDaemon(await createAttentionWorld({ rows }));
  web = webForms(served.url);
}

async function causeOf(type: CauseType): Promise<Cause> {
  const [cause] = await served.daemon.runtime.dashboard.causes({ type });
  if (cause === undefined) throw new Error(`There is no cause of the type ${type}.`);
  return cause;
}

/** Syncs a new export to its end. */
async function exported(rows: readonly string[]): Promise<void> {
  served.world.write('products.csv', attentionExport(rows));
  await served.daemon.startRun('erp', 'schedule');
  await expect.poll(async () => (await served.daemon.runtime.engine.status()).outstanding, SOON).toBe(0);
}

const item = (key: string) => served.daemon.runtime.views.item('product', key);

describe('settling from a page that is older than the state', () => {
  it('a cause settles the items that its page has shown, and leaves those that got stuck later', async () => {
    await started(['B-1;Alt;20;DE']);
    const { id } = await causeOf('rejected');
    const page = (await web.get(`/attention/${id}`)).text;
    await exported(['B-1;Alt;20;DE', 'B-2;Uralt;20;DE']);
    await expect.poll(() => item('B-2')?.state, SOON).toBe('rejected');
    const { to } = await web.press(page, { action: `/attention/${id}/settle`, with: 'Ignore: 1 item' });
    const task = await web.taskPage(to);
    expect(task).toContain('1 item of 1 settled.');
    expect(task).toContain('1 item got stuck for this cause after the page was loaded, and was not settled.');
    expect([item('B-1')?.state, item('B-2')?.state]).toEqual(['superseded', 'rejected']);
  });

  it('an item with a newer revision than its page has shown is not settled', async () => {
    await started(['B-1;Alt;20;DE']);
    const { id } = await causeOf('rejected');
    const page = (await web.get(`/attention/${id}`)).text;
    const before = item('B-1')?.revision;
    await exported(['B-1;Neu;20;DE']);
    await expect.poll(() => [item('B-1')?.state, item('B-1')?.revision], SOON).toEqual(['rejected', (before ?? 0) + 1]);
    const one = { action: `/attention/${id}/settle`, with: 'aria-label="Settle B-1"' };
    const { to } = await web.press(page, one, { resolution: 'ignored' });
    expect(await web.taskPage(to)).toContain('The product &quot;B-1&quot; has changed since it was shown');
    expect(item('B-1')?.state).toBe('rejected');
    const fresh = (await web.get(`/attention/${id}`)).text;
    await web.taskPage((await web.press(fresh, one, { resolution: 'ignored' })).to);
    expect(item('B-1')?.state).toBe('superseded');
  });
});
