import { afterEach, describe, expect, it } from 'vitest';
import { announced } from '../../../src/daemon/sources/announced-pull.ts';
import { createPullQueue, type PullQueue } from '../../../src/daemon/sources/pull-queue.ts';
import { fault } from '../../../src/domain/faults.ts';
import type { RunCause } from '../../../src/domain/ports/intake.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import type { PullResult } from '../../../src/pipeline/pull.ts';
import type { BullmqQueues } from '../../../src/queue/bullmq-queues.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog, type RecordingLog } from '../../support/worlds/recording-log.ts';

const SOON = { timeout: WAIT_MS };

describe('the pull queue', () => {
  let queues: BullmqQueues;
  let pulls: PullQueue;
  let sources: string[];
  let begun: string[];
  let leftOut: string[];
  let events: ProgressEvent[];
  const ends = new Map<string, (result: PullResult | Error) => void>();

  let log: RecordingLog;

  async function start(clock: Clock = systemClock): Promise<void> {
    sources = ['erp', 'pim'];
    log = createRecordingLog();
    const secrets = createSecretStore();
    secrets.add('the-password');
    const scrub = (text: string) => secrets.scrub(text);
    queues = await createQueues({ url: 'embedded', prefix: 'test', log });
    begun = [];
    leftOut = [];
    events = [];
    pulls = createPullQueue({
      queues,
      hasSource: (source) => sources.includes(source),
      pull: announced(
        { pull, pulling: running },
        {
          queues,
          emit: (event) => events.push(event),
          reads: { run: async () => null, quarantinedCount: async () => 0, unmappedSources: async () => [] },
          log,
          scrub,
        },
      ),
      hasPull: (source) => active.has(source),
      leftOut: (source) => leftOut.push(source),
      clock,
      log,
      scrub,
    });
    await pulls.start();
  }
  afterEach(async () => {
    await pulls.stop();
    await queues.close();
  });
  const active = new Set<string>();
  const running = () => [...active];
  async function pull(source: string, { trigger }: RunCause, abort: AbortSignal): Promise<PullResult> {
    begun.push(`${source} ${trigger}`);
    active.add(source);
    try {
      return await new Promise((resolve, reject) => {
        ends.set(source, (result) => (result instanceof Error ? reject(result) : resolve(result)));
        abort.addEventListener('abort', () => resolve({ runId: 9, result: 'interrupted', guarded: [], remapped: 0 }));
      });
    } finally {
      active.delete(source);
    }
  }
  const completed = async () => {
    const [queue] = queues.bullQueues;
    const jobs = (await queue?.getJobs(['completed'])) ?? [];
    return jobs.map(({ name, returnvalue }) => `${name}: ${returnvalue as string}`).sort();
  };

  it('the pull queue never runs one source twice at once, and lets another source run beside it', async () => {
    await start();
    await pulls.startRun('erp', 'schedule');
    await expect.poll(running, SOON).toEqual(['erp']);
    await pulls.startRun('erp', 'schedule');
    await expect.poll(completed, SOON).toEqual(['pull erp: This source is being pulled already.']);
    expect(leftOut).toEqual(['erp']);
    await pulls.startRun('pim', 'cli');
    await expect.poll(running, SOON).toEqual(['erp', 'pim']);
    expect(begun).toEqual(['erp schedule', 'pim cli']);
    ends.get('erp')?.({ runId: 1, result: 'complete', guarded: [], remapped: 0 });
    await expect.poll(running, SOON).toEqual(['pim']);
    await pulls.startRun('erp', 'schedule');
    await expect.poll(() => begun, SOON).toHaveLength(3);
  });

  it('the pull queue begins a run that is asked for while the former run is ending, once that run has been reported', async () => {
    await start();
    const failed = queues.failed.bind(queues);
    const { promise: reported, resolve: report } = Promise.withResolvers<void>();
    queues.failed = async (name) => {
      await reported;
      return failed(name);
    };
    await pulls.startRun('erp', 'file');
    await expect.poll(running, SOON).toEqual(['erp']);
    ends.get('erp')?.({ runId: 1, result: 'complete', guarded: [], remapped: 0 });
    await expect.poll(running, SOON).toEqual([]);
    // The first of these runs reads what has changed, so the second would find the same rows.
    for (const trigger of ['file', 'cli'] as const) await pulls.startRun('erp', trigger);
    await expect.poll(completed, SOON).toEqual(['pull erp: This source is being pulled already.']);
    expect([begun, leftOut]).toEqual([['erp file'], []]);
    report();
    await expect.poll(running, SOON).toEqual(['erp']);
    expect(begun).toEqual(['erp file', 'erp file']);
  });

  it('the pull queue adds one job for a schedule that comes round again and again while the queue is paused', async () => {
    await start();
    const [queue] = queues.bullQueues;
    await queue?.pause();
    for (let round = 0; round < 10; round += 1) await pulls.startRun('erp', 'schedule');
    expect(await queues.counts('pull')).toMatchObject({ waiting: 1 });
    await queue?.resume();
    await expect.poll(() => begun, SOON).toEqual(['erp schedule']);
    ends.get('erp')?.({ runId: 1, result: 'complete', guarded: [], remapped: 0 });
    await expect.poll(running, SOON).toEqual([]);
    await pulls.startRun('erp', 'schedule');
    await expect.poll(() => begun, SOON).toEqual(['erp schedule', 'erp schedule']);
  });

  it('the pull queue keeps a secret out of the reason of a failed job, and one job per source', async () => {
    await start();
    for (const round of [1, 2]) {
      await pulls.startRun('erp', 'schedule');
      await expect.poll(() => begun, SOON).toHaveLength(round);
      ends.get('erp')?.(fault('source.unreadable', `No: the-password ${round}.`, { suggestion: 'Ask the DBA.' }));
      await expect
        .poll(async () => (await queues.failed('pull')).map(({ reason }) => reason), SOON)
        .toEqual([`No: … ${round}. Ask the DBA.`]);
    }
    expect(events).toEqual([1, 2].map(() => ({ type: 'run_ended', source: 'erp', result: 'failed' })));
  });

  it('the pull queue reports once that its jobs are lost again and again, and begins the run when they are kept', async () => {
    const clock = createManualClock();
    await start(clock);
    const enqueue = queues.enqueue.bind(queues);
    queues.enqueue = () => Promise.resolve();
    const errors = () => log.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
    const watches = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        await clock.sleepers(1);
        clock.advance(1000);
      }
      await clock.sleepers(1);
    };
    await pulls.startRun('erp', 'schedule');
    await watches(2);
    expect(errors()).toEqual([]);
    await watches(3);
    expect(errors()).toEqual([expect.stringContaining('The queue pull loses its jobs')]);
    queues.enqueue = enqueue;
    await watches(1);
    await expect.poll(() => begun).toEqual(['erp schedule']);
  });

  it('the pull queue has nothing to do for a source that the config no longer has', async () => {
    await start();
    await queues.enqueue('pull', [{ name: 'pull crm', data: { source: 'crm' } }]);
    await expect.poll(completed, SOON).toEqual(['pull crm: The config no longer has this source.']);
    expect(begun).toEqual([]);
  });

  it('the pull queue forgets a run that waits while the config loses its source', async () => {
    const clock = createManualClock();
    await start(clock);
    const [queue] = queues.bullQueues;
    await queue?.pause();
    await pulls.startRun('pim', 'schedule');
    sources = ['erp'];
    await queue?.resume();
    const job = 'pull pim: The config no longer has this source.';
    await expect.poll(completed, SOON).toEqual([job]);
    for (let round = 0; round < 3; round += 1) {
      await clock.sleepers(1);
      clock.advance(1000);
    }
    await clock.sleepers(1);
    await expect.poll(() => queues.counts('pull'), SOON).toMatchObject({ waiting: 0, active: 0 });
    expect(await completed()).toEqual([job]);
  });

  it('the pull queue that is stopped interrupts its runs, and waits for them', async () => {
    await start();
    await pulls.startRun('erp', 'schedule');
    await expect.poll(running, SOON).toEqual(['erp']);
    await pulls.stop();
    expect(running()).toEqual([]);
    expect(events).toEqual([{ type: 'run_ended', source: 'erp', result: 'interrupted' }]);
  });
});
