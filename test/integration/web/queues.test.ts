import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import {
  createProductsWorld,
  PRODUCTS,
  REFUSAL,
  refuseCreates,
  startDaemon,
} from '../../support/worlds/daemon-world.ts';
import type { World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };

let world: World;
let daemon: Daemon;
let web: WebForms;

afterEach(async () => {
  await daemon.stop();
  await world.remove();
});

/** A daemon with a rejected product: the platform refuses it. */
async function withRejected(): Promise<void> {
  world = await createProductsWorld({ files: { ...PRODUCTS.files, ...PRODUCTS.fixed } });
  refuseCreates(world, 'A-2');
  await world.sync();
  const started = await startDaemon(world);
  daemon = started.daemon;
  web = webForms(started.url);
  await expect.poll(() => daemon.runtime.queues.failed('deliver'), SOON).toHaveLength(1);
}

const skus = () => world.contents().products.map(({ sku }) => sku);

async function failedJob() {
  const [job] = await daemon.runtime.queues.failed('deliver');
  if (job === undefined) throw new Error('No job has failed.');
  return job;
}

/** Presses the first button Retry of a page that was loaded before. */
function pressRetry(page: string): ReturnType<WebForms['post']> {
  return web.press(page, { action: '/queues/deliver/retry' });
}

describe('the page of the queues', () => {
  it('the page of the queues names a failed delivery by its operation, item and source, with the reason and no job id', async () => {
    await withRejected();
    const { status, text } = await web.get('/queues');
    expect(status).toBe(200);
    expect(text).toContain('product.create A-2 (erp): rejected');
    expect(text).toContain(REFUSAL);
    expect(text).not.toContain((await failedJob()).id);
  });

  it('the page of the queues retries a delivery after the platform accepts it, and says that it arrived', async () => {
    await withRejected();
    world.sandbox.faults.clear();
    const { status, to } = await pressRetry((await web.get('/queues')).text);
    expect(status).toBe(303);
    const task = await web.taskPage(to);
    expect(task).toContain('1 of 1 delivery arrived.');
    expect(task).toContain('product.create A-2</a>: delivered.');
    expect(skus()).toEqual(['A-1', 'A-2']);
  });

  it('the page of the queues says of a retry that changes nothing why the delivery still fails', async () => {
    await withRejected();
    const { to } = await web.post('/queues/deliver/retry-all');
    const task = await web.taskPage(to);
    expect(task).toContain('0 of 1 delivery arrived, and 1 still needs a person.');
    expect(task).toContain(REFUSAL);
    expect(skus()).toEqual(['A-1']);
  });

  it('the page of the queues retries all deliveries, and the audit log and the history of each item name them', async () => {
    world = await createProductsWorld({ files: { ...PRODUCTS.files, ...PRODUCTS.fixed } });
    refuseCreates(world, 'A-1');
    refuseCreates(world, 'A-2');
    await world.sync();
    const started = await startDaemon(world);
    daemon = started.daemon;
    web = webForms(started.url);
    await expect.poll(() => daemon.runtime.queues.failed('deliver'), SOON).toHaveLength(2);
    await web.taskPage((await web.post('/queues/deliver/retry-all')).to);
    const [action] = (await daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action).toMatchObject({
      action: 'queue.retry_all',
      detail: { queue: 'deliver', deliveries: expect.stringMatching(/^\d+, \d+$/) },
    });
    const log = (await web.get('/audit')).text;
    for (const sku of ['A-1', 'A-2']) {
      expect(log).toContain(`product <a href="/items/product/${sku}">${sku}</a>`);
      expect((await web.get(`/items/product/${sku}`)).text).toContain('</b> tried failed deliveries again');
    }
  });

  it('the page of the queues retries a delivery from a page that was loaded before the delivery was refused again', async () => {
    await withRejected();
    const { id } = await failedJob();
    const { text: page } = await web.get('/queues');
    await web.taskPage((await pressRetry(page)).to);
    await expect
      .poll(async () => (await daemon.runtime.queues.failed('deliver')).map((job) => job.id), SOON)
      .toEqual([expect.not.stringMatching(new RegExp(`^${id}$`))]);
    world.sandbox.faults.clear();
    expect(await web.taskPage((await pressRetry(page)).to)).toContain('1 of 1 delivery arrived.');
    expect(skus()).toEqual(['A-1', 'A-2']);
    expect(await pressRetry(page)).toMatchObject({ status: 303, to: '/queues' });
  });

  it('the page of the queues reads a source again from a page that was loaded before the source failed again', async () => {
    await withRejected();
    const failedRuns = async () => (await daemon.runtime.queues.failed('pull')).map(({ id }) => id);
    const file = join(world.folder, 'products.csv');
    renameSync(file, `${file}.away`);
    await daemon.startRun('erp', 'schedule');
    await expect.poll(failedRuns, SOON).toHaveLength(1);
    const [first] = await failedRuns();
    const { text: page } = await web.get('/queues');
    await daemon.startRun('erp', 'schedule');
    await expect.poll(failedRuns, SOON).toEqual([expect.not.stringMatching(new RegExp(`^${first}$`))]);
    renameSync(`${file}.away`, file);
    const form = { action: '/queues/pull/retry' };
    expect(await web.taskPage((await web.press(page, form)).to)).toContain('erp/default: 2 rows read');
    await expect.poll(failedRuns, SOON).toEqual([]);
    expect(await web.press(page, form)).toMatchObject({ status: 303, to: '/queues' });
  });

  it('the page of the queues pauses a queue and resumes it', async () => {
    await withRejected();
    await web.post('/queues/deliver/pause');
    expect(await daemon.runtime.queues.paused()).toEqual(['deliver']);
    expect((await web.get('/queues')).text).toContain('paused');
    await web.post('/queues/deliver/resume');
    expect(await daemon.runtime.queues.paused()).toEqual([]);
  });

  it('the page of the queues says so where the job has gone meanwhile', async () => {
    await withRejected();
    for (const fields of [{ job: 'no-such-job' }, { delivery: '4711' }, { delivery: 'x' }]) {
      expect(await web.post('/queues/deliver/retry', fields)).toMatchObject({ status: 303, to: '/queues' });
    }
    expect(await web.post('/queues/nothing/retry')).toMatchObject({ status: 404 });
  });
});
