import { describe, expect, it } from 'vitest';
import { fault } from '../../src/domain/faults.ts';
import type { JobResult, Queues, ReceivedJob } from '../../src/domain/ports/queues.ts';
import { createMapQueue } from '../../src/pipeline/map-queue.ts';
import { createQueues } from '../../src/queue/create-queues.ts';
import { createRecordingLog } from '../support/recording-log.ts';

/** Only what the map queue asks of the queues, with jobs given by hand: a worker that fails is what matters here. */
function given(drain: () => Promise<void>) {
  let handle: (job: ReceivedJob) => Promise<JobResult> = () => Promise.reject(new Error('Nobody listens.'));
  const queues: Pick<Queues, 'clearWaiting' | 'consume' | 'enqueue'> = {
    clearWaiting: () => Promise.resolve(),
    enqueue: () => Promise.resolve(),
    consume: (_queue, _options, handler) => {
      handle = handler;
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  };
  const mapQueue = createMapQueue({ queues: queues as Queues, worker: { drain } });
  const job = { id: 'a', name: 'map erp', data: { source: 'erp' }, retried: false };
  return { mapQueue, handle: () => handle(job) };
}

describe('the map queue', () => {
  it('says that the ledger cannot be written, until it can', async () => {
    let full = true;
    const { mapQueue, handle } = given(() =>
      full ? Promise.reject(fault('ledger.unwritable', 'The disk is full.')) : Promise.resolve(),
    );
    await mapQueue.start();
    expect(await handle()).toEqual({ status: 'done', note: 'The disk is full.' });
    expect(mapQueue.trouble()).toMatchObject({ code: 'ledger.unwritable', exitCode: 3 });
    full = false;
    await handle();
    expect(mapQueue.trouble()).toBeNull();
  });

  it('lets a defect end as a failed job', async () => {
    const { mapQueue, handle } = given(() => Promise.reject(new Error('a defect')));
    await mapQueue.start();
    await expect(handle()).rejects.toThrow('a defect');
  });

  it('is not busy for ever after a job was lost with nothing left to map', async () => {
    const { mapQueue } = given(() => Promise.resolve());
    await mapQueue.start();
    await mapQueue.enqueue('erp');
    expect(mapQueue.busy()).toBe(true);
    for (let watch = 0; watch < 3; watch += 1) await mapQueue.watch([]);
    expect(mapQueue.busy()).toBe(false);
  });

  it('asks for a source once while its job waits, as in a paused queue, and again when it is lost', async () => {
    const queues = await createQueues({ url: 'embedded', prefix: 'a', log: createRecordingLog() });
    const bullQueue = queues.bullQueues.find(({ name }) => name === 'map');
    await bullQueue?.pause();
    const mapQueue = createMapQueue({ queues, worker: { drain: () => Promise.resolve() } });
    await mapQueue.start();
    await mapQueue.enqueue('erp');
    for (let watch = 0; watch < 10; watch += 1) await mapQueue.watch(['erp']);
    expect(await queues.counts('map')).toMatchObject({ waiting: 1 });
    await queues.clearWaiting('map');
    await mapQueue.watch(['erp']);
    expect(await queues.counts('map')).toMatchObject({ waiting: 1 });
    await mapQueue.stop();
    await queues.close();
  });
});
