import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createProductsWorld, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

const SOON = { timeout: WAIT_MS };

let served: ServedWorld;

beforeEach(async () => {
  served = await startDaemon(await createProductsWorld());
});
afterEach(() => served.remove());

/** Starts the run of the source on its page, waits for its end, and returns the path of its task. */
async function runSource(): Promise<string> {
  const { to } = await webForms(served.url).post('/runs/start', { source: 'erp' });
  const id = to.replace('/tasks/', '');
  const ended = async () => ((await operation(id)) as { outcome: unknown }).outcome !== null;
  await vi.waitUntil(ended, SOON);
  return `/tasks/${id}`;
}

async function operation(id: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${WEB_TOKEN}` };
  return (await fetch(`${served.url}/api/v1/operations/${id}`, { headers })).json();
}

async function restart(options = {}): Promise<void> {
  await served.daemon.stop();
  served = await startDaemon(served.world, options);
}

const pageOf = async (path: string) => (await webForms(served.url).get(path)).text;

it('a task and its result survive a restart, and so does its document', async () => {
  const path = await runSource();
  const before = { page: await pageOf(path), document: await operation(path.replace('/tasks/', '')) };
  // The platform refuses one of the two products.
  expect(before.page).toContain('<span class="badge warn">done, something is left</span>');
  expect(before.page).not.toContain('Nothing is left to be sent');
  await restart();
  expect(await pageOf('/tasks')).toContain(`href="${path}"`);
  expect(await pageOf(path)).toContain('<span class="badge warn">done, something is left</span>');
  expect(await pageOf(path)).toContain('erp/default: 2 rows read');
  expect(await operation(path.replace('/tasks/', ''))).toEqual({ ...(before.document as object), progress: null });
});

it('a task whose process has died has failed, and its page says what to do', async () => {
  const path = await runSource();
  await served.daemon.stop();
  const db = new Database(`${served.world.folder}/data/ledger.db`);
  db.prepare('UPDATE tasks SET ended_at = NULL, outcome = NULL').run();
  db.close();
  served = await startDaemon(served.world);
  const page = await pageOf(path);
  expect(page).toContain('<span class="badge bad">failed</span>');
  expect(page).toContain('The process ended before this action was complete.');
  expect(page).not.toContain('Stop this task');
});

it('the result of another version is left out, and the task is still listed', async () => {
  const path = await runSource();
  await restart({ version: '9.0.0' });
  const page = await pageOf(path);
  expect(page).toContain('<span class="badge idle">ended</span>');
  expect(page).toContain('The result is not kept any more.');
  expect(page).not.toContain('rows read');
});
