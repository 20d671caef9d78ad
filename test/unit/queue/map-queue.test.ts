import { describe, expect, it } from 'vitest';
import { fault } from '../../../src/domain/faults.ts';
import type { JobResult, Queues, ReceivedJob } from '../../../src/domain/ports/queues.ts';
import { createMapQueue } from '../../../src/pipeline/map-queue.ts';
import { createPageJobs, type PageJobs } from '../../../src/pipeline/page-jobs.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const ledger = {
  findLookups: () => Promise.resolve([]),
  stagePage: () => Promise.reject(new Error('No page is stored here.')),
};
const pagesOf = (queues: Queues): PageJobs => createPageJobs({ queues, ledger, emit: () => undefined });

/** The methods of the queues that the map queue uses. The test hands over the jobs, and decides how mapping ends. */
function given(mapSource: () => Promise<void>) {
  let receive: (job: ReceivedJob) => Promise<JobResult> = () => Promise.reject(new Error('Nobody listens.'));
  const part: Pick<Queues, 'clearWaiting' | 'consume' | 'enqueue' | 'counts'> = {
    counts: () => Promise.resolve({ waiting: 0, active: 0, failed: 0 }),
    clearWaiting: () => Promise.resolve(),
    enqueue: () => Promise.resolve(),
    consume: (_queue, _options, handler) => {
      receive = handler;
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  };
  const queues = part as Queues;
  const mapQueue = createMapQueue({ queues, pages: pagesOf(queues), storedRecords: { mapSource } });
  const job = { id: 'a', name: 'map erp', data: { source: 'erp' }, retried: false };
  return { mapQueue, receive: () => receive(job) };
}

describe('the map queue', () => {
  it('the map queue says that the ledger cannot be written, until it can', async () => {
    let full = true;
    const { mapQueue, receive } = given(() =>
      full ? Promise.reject(fault('ledger.unwritable', 'The disk is full.')) : Promise.resolve(),
    );
    await mapQueue.start();
    expect(await receive()).toEqual({ status: 'done', note: 'The disk is full.' });
    expect(mapQueue.trouble()).toMatchObject({ code: 'ledger.unwritable', exitCode: 3 });
    full = false;
    await receive();
    expect(mapQueue.trouble()).toBeNull();
  });

  it('the map queue lets a defect end as a failed job', async () => {
    const { mapQueue, receive } = given(() => Promise.reject(new Error('a defect')));
    await mapQueue.start();
    await expect(receive()).rejects.toThrow('a defect');
  });

  it('the map queue is not busy for ever after a job was lost with nothing left to map', async () => {
    const { mapQueue } = given(() => Promise.resolve());
    await mapQueue.start();
    await mapQueue.mapStored('erp');
    expect(mapQueue.busy()).toBe(true);
    for (let watch = 0; watch < 3; watch += 1) await mapQueue.watch([]);
    expect(mapQueue.busy()).toBe(false);
  });

  it('the map queue says so when the job of a source is lost again and again, until a worker takes one', async () => {
    const { mapQueue, receive } = given(() => Promise.resolve());
    await mapQueue.start();
    const watch = async (times: number) => {
      for (let time = 0; time < times; time += 1) await mapQueue.watch(['erp']);
    };
    await mapQueue.mapStored('erp');
    await watch(2 * 3);
    expect(mapQueue.trouble()).toBeNull();
    await watch(3);
    expect(mapQueue.trouble()).toMatchObject({ code: 'queue.unreachable', exitCode: 3 });
    await receive();
    expect(mapQueue.trouble()).toBeNull();
    await watch(4 * 3);
    expect(mapQueue.trouble()).not.toBeNull();
    // Another process has mapped the records.
    await mapQueue.watch([]);
    expect(mapQueue.trouble()).toBeNull();
  });

  it('the map queue asks for a source once while its job waits, as in a paused queue, and again when the job is lost', async () => {
    const queues = await createQueues({ url: 'embedded', prefix: 'a', log: createRecordingLog() });
    const bullQueue = queues.bullQueues.find(({ name }) => name === 'map');
    await bullQueue?.pause();
    const storedRecords = { mapSource: () => Promise.resolve() };
    const mapQueue = createMapQueue({ queues, pages: pagesOf(queues), storedRecords });
    await mapQueue.start();
    await mapQueue.mapStored('erp');
    for (let watch = 0; watch < 10; watch += 1) await mapQueue.watch(['erp']);
    expect(await queues.counts('map')).toMatchObject({ waiting: 1 });
    await queues.clearWaiting('map');
    await mapQueue.watch(['erp']);
    expect(await queues.counts('map')).toMatchObject({ waiting: 1 });
    await mapQueue.stop();
    await queues.close();
  });
});
