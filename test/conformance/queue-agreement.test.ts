import { createRedisBackend, Job, type JobsOptions, type JobType, Queue, UnrecoverableError, Worker } from 'bullmq';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createMemoryBackend, createMemoryQueues } from '../../src/queue/memory/memory-backend.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import '../support/runner/property-seed.ts';

// After the same operations, the embedded queue and Redis must show the same. The test compares what the classes of BullMQ
// show, because workers and the dashboard use these classes.

const NAME = 'deliver';
const TYPES: JobType[] = ['waiting', 'active', 'completed', 'failed', 'delayed', 'prioritized', 'waiting-children'];
const USED_TYPES: JobType[] = ['waiting', 'active', 'completed', 'failed'];
const RANGES = [
  [0, -1],
  [0, 0],
  [1, 2],
  [-2, -1],
  [3, 100],
] as const;
const WORKER = { autorun: false, lockDuration: 60_000, stalledInterval: 1, maxStalledCount: 1 };

/** One of the two queues, with the jobs that its worker has taken. */
interface Side {
  queue: Queue;
  worker: Worker;
  taken: Job[];
  close(): Promise<void>;
}

/** An operation on one queue. Its result, or the error that BullMQ throws, is compared. */
type Step = (side: Side) => Promise<unknown>;

describeRedis('the embedded queue and Redis', () => {
  let redis: RedisServer;
  let connection: Redis;
  let prefixes = 0;

  beforeAll(async () => {
    redis = await startRedis();
    connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  });
  afterAll(async () => {
    connection.disconnect();
    await redis.stop();
  });

  function openRedis(): Side {
    prefixes += 1;
    const options = { connection, prefix: `agreement-${prefixes}`, skipVersionCheck: true };
    const queue = new Queue(NAME, options, createRedisBackend);
    const worker = new Worker(NAME, null, { ...WORKER, ...options }, createRedisBackend);
    return sideOf(queue, worker);
  }

  function openEmbedded(): Side {
    const options = { connection: createMemoryQueues(systemClock) };
    const queue = new Queue(NAME, options, createMemoryBackend);
    const worker = new Worker(NAME, null, { ...WORKER, ...options }, createMemoryBackend);
    return sideOf(queue as unknown as Queue, worker as unknown as Worker);
  }

  function sideOf(queue: Queue, worker: Worker): Side {
    queue.on('error', () => undefined);
    worker.on('error', () => undefined);
    return {
      queue,
      worker,
      taken: [],
      async close() {
        await worker.close(true);
        await queue.close();
      },
    };
  }

  /** Runs the same steps on both queues. After each step, compares its outcome and everything that the queues show. */
  async function agree(steps: readonly [string, Step][]): Promise<void> {
    const ours = openEmbedded();
    const theirs = openRedis();
    try {
      for (const [name, step] of steps) {
        // If jobs end in the same millisecond, Redis orders them by id, and the embedded queue by their end.
        await nextMillisecond();
        const [our, their] = [await outcome(ours, step), await outcome(theirs, step)];
        expect(our, name).toEqual(their);
        expect(await seen(ours), name).toEqual(await seen(theirs));
      }
    } finally {
      await ours.close();
      await theirs.close();
    }
  }

  test('both queues show the same after any sequence of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 8, maxLength: 40, size: 'max' }), (steps) => agree(numbered(steps))),
      { numRuns: 40 },
    );
  });

  test('both queues hand out jobs in their order, and list them in pages as a dashboard asks for them', async () => {
    await agree([
      ['add', add(12)],
      ...repeat(6, 'take', take),
      ...repeat(2, 'complete the last', (side) => complete(side, -1)),
      ...repeat(2, 'fail the first', (side) => fail(side, 0)),
      ['pages', pages],
      ['retry all', ({ queue }) => queue.retryJobs({ state: 'failed' })],
      ['pages', pages],
    ]);
  });

  test.each<[string, JobsOptions]>([
    ['none', { removeOnComplete: true, removeOnFail: true }],
    ['all', { removeOnComplete: false, removeOnFail: false }],
    ['all, by a negative number,', { removeOnComplete: { count: -1 }, removeOnFail: -1 }],
    ['the last three', { removeOnComplete: 3, removeOnFail: { count: 3 } }],
    ['what is young', { removeOnComplete: { age: 0 }, removeOnFail: { age: 3_600, count: 2 } }],
  ])('both queues keep %s of what has ended, as their options say', async (_, options) => {
    await agree([
      ['add', add(10, options)],
      ...repeat(10, 'take', take),
      ...repeat(5, 'complete', (side) => complete(side, 0)),
      ...repeat(5, 'fail', (side) => fail(side, 0)),
    ]);
  });

  test('both queues let nobody end a job who has not reserved it, and report the same about it', async () => {
    await agree([
      ['add', add(3)],
      ['take', take],
      ['with another token', ({ taken }) => taken[0]?.moveToCompleted('x', 'another', false) ?? Promise.resolve()],
      ['renewed by another', ({ taken }) => taken[0]?.extendLock('another', 1_000) ?? Promise.resolve()],
      ['renewed', ({ taken }) => taken[0]?.extendLock(taken[0].token ?? '', 60_000) ?? Promise.resolve()],
      ['removed while reserved', ({ queue }) => queue.remove('job-1')],
      ['lost', lapse],
      ['ended too late', (side) => complete(side, 0)],
      ['removed', ({ queue }) => queue.remove('job-1')],
      ['ended when it is gone', (side) => complete(side, 0)],
      ['retried when it has not failed', async ({ queue }) => (await queue.getJob('job-2'))?.retry('failed')],
      ['removed again', ({ queue }) => queue.remove('job-1')],
    ]);
  });

  test('both queues give a job that its worker lost to the next one, and fail it in the end', async () => {
    await agree([
      ['add', add(2)],
      ...repeat(3, 'take and lose', async (side) => [await take(side), await lapse(side, -1), await stalled(side)]),
      ['take', take],
    ]);
  });

  test('both queues take a job that was given back before the others', async () => {
    await agree([
      ['add', add(4)],
      ...repeat(2, 'take', take),
      ['give back', (side) => giveBack(side, 1)],
      ['take', take],
    ]);
  });

  test('both queues leave ended jobs as they are when a job ends that is not kept', async () => {
    await agree([
      ['add', add(2)],
      ['add', add(1, { removeOnComplete: true }, 2)],
      ...repeat(3, 'take', take),
      ...repeat(3, 'complete', (side) => complete(side, 0)),
    ]);
  });

  test('both queues pause, resume, empty and destroy', async () => {
    await agree([
      ['add', add(6)],
      ['take', take],
      ['pause', ({ queue }) => queue.pause()],
      ['take while paused', take],
      ['add while paused', add(2)],
      ['complete while paused', (side) => complete(side, 0, true)],
      ['resume', ({ queue }) => queue.resume()],
      ['take', take],
      ['destroy with a job in work', ({ queue }) => queue.obliterate()],
      ['resume', ({ queue }) => queue.resume()],
      ['drain', ({ queue }) => queue.drain(true)],
      ['destroy by force', ({ queue }) => queue.obliterate({ force: true })],
      ['add', add(1)],
    ]);
  });

  test('both queues clean jobs that are old enough, up to a limit', async () => {
    await agree([
      ['add', add(12)],
      ...repeat(8, 'take', take),
      ...repeat(4, 'complete', (side) => complete(side, 0)),
      ...repeat(3, 'fail', (side) => fail(side, 0)),
      ['clean young', ({ queue }) => queue.clean(60_000, 0, 'completed')],
      ['clean some', ({ queue }) => queue.clean(0, 3, 'completed')],
      ['clean failed', ({ queue }) => queue.clean(0, 0, 'failed')],
      ['clean what waits', async ({ queue }) => (await queue.clean(0, 2, 'wait')).toSorted()],
      ['clean what is reserved', ({ queue }) => queue.clean(0, 0, 'active')],
      ['lose', lapse],
      ['clean what was lost', ({ queue }) => queue.clean(0, 0, 'active')],
      ['clean what is not there', ({ queue }) => queue.clean(0, 0, 'delayed')],
    ]);
  });

  test('both queues keep progress, logs and changed data', async () => {
    await agree([
      ['add', add(2)],
      ['progress', ({ queue }) => queue.updateJobProgress('job-1', { failedAttempt: 1 })],
      ['progress of none', ({ queue }) => queue.updateJobProgress('gone', 1)],
      ['data', async ({ queue }) => (await queue.getJob('job-1'))?.updateData({ key: 'new' })],
      ...repeat(5, 'log', (side) => side.queue.addJobLog('job-1', `row ${side.taken.length}`)),
      ['log, bounded', ({ queue }) => queue.addJobLog('job-1', 'last', 3)],
      ['log of none', ({ queue }) => queue.addJobLog('gone', 'row')],
      ['logs, from the end', ({ queue }) => queue.getJobLogs('job-1', 0, 1, false)],
      ['clear', async ({ queue }) => (await queue.getJob('job-1'))?.clearLogs(1)],
      ['clear all', async ({ queue }) => (await queue.getJob('job-1'))?.clearLogs()],
      ['take', take],
      ['end as failed', (side) => fail(side, 0)],
      ['whether it has ended', async ({ queue }) => (await queue.getJob('job-1'))?.isFailed()],
      [
        'retry from the beginning',
        async ({ queue }) => {
          await (await queue.getJob('job-1'))?.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
        },
      ],
    ]);
  });

  test('both queues show a worker that is there, and what a dashboard asks besides', async () => {
    await agree([
      ['ready', async ({ worker }) => worker.waitUntilReady()],
      ['workers', ({ queue }) => queue.getWorkersCount()],
      ['meta', ({ queue }) => queue.getMeta()],
      ['metrics', async ({ queue }) => [await queue.getMetrics('completed'), await queue.getMetrics('failed')]],
      ['schedulers', async ({ queue }) => [await queue.getJobSchedulers(), await queue.getJobSchedulersCount()]],
      ['limits', async ({ queue }) => [await queue.isMaxed(), await queue.getGlobalConcurrency()]],
      ['add', add(1)],
      ['children', async ({ queue }) => (await queue.getJob('job-1'))?.getDependencies()],
      ['states', async ({ queue }) => [await queue.getJobState('job-1'), await queue.getJobState('gone')]],
    ]);
  });
});

const KEPT: fc.Arbitrary<JobsOptions> = fc.constantFrom<JobsOptions>(
  {},
  { removeOnComplete: true },
  { removeOnComplete: 2, removeOnFail: { count: 2 } },
);
const INDEX = fc.nat(5);
const STATE = fc.constantFrom('completed' as const, 'failed' as const);

/** Makes a step from the number of jobs that were added before. */
const STEP: fc.Arbitrary<(added: number) => { name: string; step: Step; adds?: number }> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 4 }), KEPT).map(([count, options]) => (from: number) => ({
      name: `add ${count}`,
      step: add(count, options, from),
      adds: count,
    })),
  },
  { weight: 8, arbitrary: fc.constant(() => ({ name: 'take', step: take })) },
  ...weighted(4, fc.tuple(INDEX, fc.boolean()), ([at, next]) => [`complete ${at}`, (side) => complete(side, at, next)]),
  ...weighted(4, fc.tuple(INDEX, fc.boolean()), ([at, next]) => [`fail ${at}`, (side) => fail(side, at, next)]),
  ...weighted(2, INDEX, (at) => [`give back ${at}`, (side) => giveBack(side, at)]),
  ...weighted(3, fc.tuple(INDEX, STATE), ([at, state]) => [`retry ${state} ${at}`, (side) => retry(side, at, state)]),
  ...weighted(1, STATE, (state) => [`retry all ${state}`, ({ queue }) => queue.retryJobs({ state, count: 2 })]),
  ...weighted(1, INDEX, (at) => [`remove ${at}`, ({ queue }) => queue.remove(`job-${at + 1}`)]),
  ...weighted(1, INDEX, (at) => [`progress ${at}`, ({ queue }) => queue.updateJobProgress(`job-${at + 1}`, { at })]),
  ...weighted(1, INDEX, (at) => [`log ${at}`, ({ queue }) => queue.addJobLog(`job-${at + 1}`, `row ${at}`, 3)]),
  ...weighted(1, fc.tuple(STATE, INDEX), ([state, limit]) => [
    `clean ${state}`,
    ({ queue }) => queue.clean(0, limit, state),
  ]),
  ...weighted(1, fc.boolean(), (on) => [on ? 'pause' : 'resume', ({ queue }) => (on ? queue.pause() : queue.resume())]),
  ...weighted(1, fc.constant(null), () => ['drain', ({ queue }) => queue.drain()]),
  ...weighted(2, INDEX, (at) => [`lose ${at}`, async (side) => [await lapse(side, at), await stalled(side)]]),
  ...weighted(1, fc.boolean(), (force) => ['obliterate', ({ queue }) => queue.obliterate({ force })]),
);

function weighted<T>(weight: number, values: fc.Arbitrary<T>, step: (value: T) => [string, Step]) {
  const arbitrary = values.map((value) => () => {
    const [name, run] = step(value);
    return { name, step: run };
  });
  return [{ weight, arbitrary }];
}

/** Gives every job a different id. */
function numbered(
  steps: readonly ((added: number) => { name: string; step: Step; adds?: number })[],
): [string, Step][] {
  let added = 0;
  return steps.map((create) => {
    const { name, step, adds = 0 } = create(added);
    added += adds;
    return [name, step];
  });
}

function repeat(count: number, name: string, step: Step): [string, Step][] {
  return Array.from({ length: count }, () => [name, step]);
}

function add(count: number, options: JobsOptions = {}, from = 0): Step {
  return async ({ queue }) => {
    const jobs = Array.from({ length: count }, (_, index) => {
      const number = from + index + 1;
      return { name: `name ${number}`, data: { number }, opts: { ...options, jobId: `job-${number}` } };
    });
    return (await queue.addBulk(jobs)).map(({ id }) => id);
  };
}

async function take(side: Side): Promise<unknown> {
  const token = `token-${side.taken.length}`;
  const job = await side.worker.getNextJob(token, { block: false });
  if (job !== undefined) side.taken.push(job);
  return shown(job);
}

function complete(side: Side, at: number, fetchNext = false): Promise<unknown> {
  return end(side, at, (job) => job.moveToCompleted(`done ${job.name}`, job.token ?? '', fetchNext));
}

function fail(side: Side, at: number, fetchNext = false): Promise<unknown> {
  const reason = new UnrecoverableError('a person decides');
  return end(side, at, async (job) => {
    delete reason.stack;
    return (await job.moveToFailed(reason, job.token ?? '', fetchNext)) as unknown;
  });
}

/** Ends one of the taken jobs, and takes the next job, if BullMQ returns one with the end. */
async function end(side: Side, at: number, move: (job: Job) => Promise<unknown>): Promise<unknown> {
  const job = side.taken.at(at);
  if (job === undefined) return 'nothing is in work';
  side.taken.splice(at, 1);
  const result = await move(job);
  const id: unknown = Array.isArray(result) ? result[1] : null;
  const next = typeof id === 'string' && id !== '' ? await Job.fromId(side.worker, id) : undefined;
  if (next === undefined) return 'no next job';
  next.token = job.token ?? '';
  side.taken.push(next);
  return shown(next);
}

async function giveBack(side: Side, at: number): Promise<unknown> {
  const [job] = side.taken.splice(at, 1);
  return job?.moveToWait(job.token);
}

async function retry({ queue }: Side, at: number, state: 'completed' | 'failed'): Promise<unknown> {
  const jobs = await queue.getJobs(['failed', 'completed']);
  return jobs[at]?.retry(state);
}

/** Lets the lock of one job lapse. If several locks lapsed at once, Redis would put these jobs back in another order. */
async function lapse({ taken }: Side, at = 0): Promise<unknown> {
  const job = taken.at(at);
  const renewed = await job?.extendLock(job.token ?? '', 1);
  await nextMillisecond(3);
  return renewed;
}

/** Looks for stalled jobs. It looks three times, because a queue may not find a stalled job at the first look. */
async function stalled({ worker }: Side): Promise<unknown> {
  const found: string[] = [];
  for (let look = 0; look < 3; look += 1) {
    found.push(...(await worker.getBackend().moveStalledJobsToWait()));
    await nextMillisecond(3);
  }
  return found.toSorted();
}

async function outcome(side: Side, step: Step): Promise<unknown> {
  try {
    return { result: await step(side) };
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown };
    return { message, code };
  }
}

async function pages({ queue }: Side): Promise<unknown> {
  const found: unknown[] = [];
  for (const type of USED_TYPES) {
    for (const [start, last] of RANGES) {
      for (const ascending of [true, false]) {
        const jobs = await queue.getJobs([type], start, last, ascending);
        found.push([type, start, last, ascending, jobs.map(({ id }) => id)]);
      }
    }
  }
  return found;
}

/** Everything that a queue shows. Times are replaced by whether they are set. */
async function seen({ queue }: Side): Promise<unknown> {
  const jobs = await Promise.all(USED_TYPES.map((type) => queue.getJobs([type])));
  const logs = await Promise.all(jobs.flat().map(({ id }) => queue.getJobLogs(id ?? '')));
  return {
    counts: await queue.getJobCounts(...TYPES),
    paused: await queue.isPaused(),
    jobs: Object.fromEntries(USED_TYPES.map((type, index) => [type, (jobs[index] ?? []).map(shown)])),
    logs,
  };
}

function shown(job: Job | undefined): unknown {
  if (job === undefined) return null;
  const { timestamp, processedOn, finishedOn, ...rest } = job.asJSON();
  const times = [timestamp, processedOn, finishedOn].map((time) => time !== undefined && time > 0);
  return { ...rest, times, token: job.token, deferredFailure: job.deferredFailure };
}

async function nextMillisecond(count = 1): Promise<void> {
  const end = Date.now() + count;
  while (Date.now() < end) await systemClock.sleep(1);
}
