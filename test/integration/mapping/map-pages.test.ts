// Pages on their way from the source through the map queue into the ledger, where the queue, the process or the ledger fails.

import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { fault } from '../../../src/domain/faults.ts';
import type { Mapper, MapResult } from '../../../src/domain/mapping.ts';
import type { Page } from '../../../src/domain/ports/source.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { row } from '../../support/ledger/records.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import {
  createPageWorld,
  mapperOf,
  type PageWorld,
  type PageWorldOptions,
  pagesOf,
  sourceRow,
} from '../../support/worlds/page-world.ts';
import { createWorld } from '../../support/worlds/world.ts';

let world: PageWorld;
async function given(options?: PageWorldOptions): Promise<PageWorld> {
  world = await createPageWorld(options);
  return world;
}
afterEach(() => world.remove());

const rows = (...ids: string[]) => ids.map((id) => sourceRow({ id }));
const SIX = pagesOf(rows('1', '2', '3', '4', '5', '6'), 2);
const mapJobs = () => world.queues.counts('map');
const bullQueue = () => world.queues.bullQueues.find(({ name }) => name === 'map');
const products = () => world.ledger.views.itemCounts().product;
const lastRun = (source = 'erp') => world.ledger.views.lastRuns({ source, limit: 1 })[0];
const unreachable = fault('queue.unreachable', 'Redis is away.');

describe('a page with changes', () => {
  it('a page with changes is one job of the map queue, which names source, stream, run and page and no row', async () => {
    await given();
    await bullQueue()?.pause();
    const pulling = world.pull({ pages: SIX });
    await expect.poll(async () => (await mapJobs()).waiting === 1).toBe(true);
    const [job] = (await bullQueue()?.getJobs(['waiting'])) ?? [];
    expect(job).toMatchObject({ name: 'map erp/default, run 1, page 1' });
    expect(job?.data).toEqual({ dppSync: expect.any(Number), source: 'erp', stream: 'default', run: 1, page: 1 });
    expect(world.mapQueue.busy()).toBe(true);
    await bullQueue()?.resume();
    expect(await pulling).toMatchObject({ result: 'complete' });
    expect(world.mapQueue.busy()).toBe(false);
    expect(lastRun()).toMatchObject({ result: 'complete', streams: [{ read: 6, changed: 6, unchanged: 0 }] });
  });

  it('a page with changes is stored before the source is asked for the next one, and one without changes makes no job', async () => {
    const enqueued: unknown[] = [];
    await given({
      around: (queues) => ({
        ...queues,
        enqueue(queue, jobs) {
          enqueued.push(...jobs.map(({ data }) => data['page']));
          return queues.enqueue(queue, jobs);
        },
      }),
    });
    const stored: number[] = [];
    async function* read(ids: string[]): AsyncGenerator<Page> {
      for (const id of ids) {
        stored.push(world.ledger.views.run(lastRun()?.id ?? 0)?.streams[0]?.read ?? -1);
        yield { rows: rows(id) };
      }
    }
    await world.pull({ pages: () => read(['1', '2', '3']) });
    expect(stored).toEqual([0, 1, 2]);
    expect(enqueued).toEqual([1, 2, 3]);
    await world.pull({ pages: [rows('1'), rows('2', 'new'), rows('3')] });
    expect(enqueued).toEqual([1, 2, 3, 2]);
  });

  it('a page with changes is shown as mapped in the events, and its rows are never mapped a second time', async () => {
    await given();
    let times = 0;
    const mapper = mapperOf('r1', ({ id }) => {
      times += 1;
      return items(product(text(id)));
    });
    await world.pull({ pages: SIX, mapper });
    expect(times).toBe(6);
    expect(world.events.filter(({ type }) => type === 'mapped')).toHaveLength(3);
    await world.mapStored();
    expect(times).toBe(6);
  });
});

it('a row whose key has half a character is quarantined each night, and the other rows are stored', async () => {
  await given();
  const mapper: Mapper = {
    revision: 'r1',
    streams: ['default'],
    map: ({ fields, issues }) =>
      issues.length > 0
        ? { status: 'quarantined', issues: [...issues], blockedProducts: [] }
        : items(product(text(fields['id']))),
  };
  const halves = [sourceRow({ id: 'A\ud800' }), sourceRow({ id: 'A\ud801' })];
  await world.pull({ pages: [[sourceRow({ id: '1', name: 'first' }), ...halves]], mapper });
  expect(lastRun()).toMatchObject({ streams: [{ read: 3, changed: 1, quarantined: 2 }] });
  await world.pull({ pages: [[sourceRow({ id: '1', name: 'second' }), ...halves]], mapper });
  expect(lastRun()).toMatchObject({
    result: 'complete',
    streams: [{ read: 3, changed: 1, unchanged: 2, quarantined: 0, missing: 0 }],
  });
});

describe('a map queue that fails', () => {
  it('a map queue that loses a job gets the job again, and nothing is counted twice', async () => {
    const clock = createManualClock();
    let lost = 0;
    await given({
      clock,
      around: (queues) => ({
        ...queues,
        async enqueue(queue, jobs) {
          if (jobs[0]?.data['page'] === 2 && lost < 2) lost += 1;
          else await queues.enqueue(queue, jobs);
        },
      }),
    });
    const pulling = world.pull({ pages: SIX });
    for (let time = 1; time <= 2; time += 1) {
      await expect.poll(() => lost === time).toBe(true);
      await clock.sleepers(1);
      clock.advance(1000);
    }
    expect(await pulling).toMatchObject({ result: 'complete' });
    expect(lastRun()?.streams).toMatchObject([{ read: 6, changed: 6 }]);
    expect(products()).toEqual({ due: 6 });
  });

  it('a map queue that is wiped while a page waits gets the job again', async () => {
    const clock = createManualClock();
    await given({ clock });
    await bullQueue()?.pause();
    const pulling = world.pull({ pages: SIX, waitMs: 60_000 });
    await expect.poll(async () => (await mapJobs()).waiting === 1).toBe(true);
    await bullQueue()?.obliterate({ force: true });
    expect(await mapJobs()).toMatchObject({ waiting: 0 });
    await bullQueue()?.resume();
    await clock.sleepers(1);
    clock.advance(1000);
    expect(await pulling).toMatchObject({ result: 'complete' });
    expect(lastRun()?.streams).toMatchObject([{ read: 6, changed: 6 }]);
  });

  it('a map queue that is out of reach stops the run, which continues when the queue is back', async () => {
    const clock = createManualClock();
    let isAway = true;
    let refused = 0;
    await given({
      clock,
      around: (queues) => ({
        ...queues,
        enqueue(queue, jobs) {
          if (!isAway) return queues.enqueue(queue, jobs);
          refused += 1;
          return Promise.reject(unreachable);
        },
      }),
    });
    const pulling = world.pull({ pages: SIX, waitMs: Number.POSITIVE_INFINITY });
    for (let time = 1; time <= 3; time += 1) {
      await expect.poll(() => refused === time).toBe(true);
      await clock.sleepers(1);
      if (time === 3) isAway = false;
      clock.advance(1000);
    }
    expect(await pulling).toMatchObject({ result: 'complete' });
    expect(products()).toEqual({ due: 6 });
  });

  it.each([
    { keeps: 'loses each job', refuses: () => false, looks: 8 },
    { keeps: 'by turns loses and refuses each job', refuses: (times: number) => times % 2 === 1, looks: 7 },
  ])('a map queue that $keeps ends the run with that reason, and the next run reads the page again', async (queue) => {
    const clock = createManualClock();
    let times = 0;
    let isSound = false;
    await given({
      clock,
      around: (queues) => ({
        ...queues,
        async enqueue(name, jobs) {
          if (isSound) return await queues.enqueue(name, jobs);
          times += 1;
          if (queue.refuses(times)) throw unreachable;
        },
      }),
    });
    const pulling = world.pull({ pages: SIX, waitMs: 5000 });
    const ended = expect(pulling).rejects.toMatchObject({ code: 'queue.unreachable', exitCode: 3 });
    for (let look = 0; look < queue.looks; look += 1) {
      await clock.sleepers(1);
      clock.advance(1000);
    }
    await ended;
    isSound = true;
    await world.pull({ pages: SIX });
    expect(lastRun()).toMatchObject({ result: 'complete', streams: [{ read: 6, changed: 6 }] });
  });

  it('a map queue that is paused for long ends the run with that reason, and the next run reads the page again', async () => {
    const clock = createManualClock();
    await given({ clock });
    await bullQueue()?.pause();
    const pulling = world.pull({ pages: SIX, waitMs: 1000 });
    const ended = expect(pulling).rejects.toMatchObject({ code: 'queue.paused', exitCode: 3 });
    for (let look = 0; look < 2; look += 1) {
      await clock.sleepers(1);
      clock.advance(1000);
    }
    await ended;
    expect(lastRun()).toMatchObject({ result: 'failed', streams: [{ read: 0, changed: 0 }] });
    expect(world.mapQueue.busy()).toBe(false);
    await bullQueue()?.resume();
    // The job of the page that was given up finds nothing.
    await expect.poll(async () => (await mapJobs()).waiting === 0).toBe(true);
    expect(products()).toEqual({});
    await world.pull({ pages: SIX });
    expect(lastRun()).toMatchObject({ result: 'complete', streams: [{ read: 6, changed: 6 }] });
  });
});

describe('a run that ends', () => {
  it('a run that ends gives up the page that waits in the queue, whose job stores nothing afterwards', async () => {
    await given();
    await bullQueue()?.pause();
    const abort = new AbortController();
    const pulling = world.pull({ pages: SIX, abort: abort.signal });
    await expect.poll(async () => (await mapJobs()).waiting === 1).toBe(true);
    abort.abort();
    expect(await pulling).toMatchObject({ result: 'interrupted' });
    expect(world.mapQueue.busy()).toBe(false);
    await bullQueue()?.resume();
    await expect.poll(async () => (await bullQueue()?.getCompletedCount()) === 1).toBe(true);
    expect(lastRun()).toMatchObject({ result: 'interrupted', streams: [{ read: 0 }] });
    expect(products()).toEqual({});
  });

  it('a run that ends waits for the page that is being stored', async () => {
    const abort = new AbortController();
    await given({
      aroundLedger: (ledger) => ({
        ...ledger,
        async stagePage(page) {
          abort.abort();
          // A run that did not wait would end now, and be late with this page.
          for (let turn = 0; turn < 50; turn += 1) await nextTurn();
          return await ledger.stagePage(page);
        },
      }),
    });
    expect(await world.pull({ pages: SIX, abort: abort.signal })).toMatchObject({ result: 'interrupted' });
    expect(lastRun()).toMatchObject({ result: 'interrupted', streams: [{ read: 2, changed: 2 }] });
    expect(products()).toEqual({ due: 2 });
  });

  it('a run that is given up with its process loses and doubles nothing', async () => {
    await given();
    await bullQueue()?.pause();
    const pulling = world.pull({ pages: SIX });
    const ended = expect(pulling).rejects.toMatchObject({ code: 'interrupted' });
    await expect.poll(async () => (await mapJobs()).waiting === 1).toBe(true);
    await world.mapQueue.stop();
    await ended;
    await world.reopen();
    await world.pull({ pages: SIX });
    expect(lastRun()).toMatchObject({ result: 'complete', streams: [{ read: 6, changed: 6 }] });
  });

  it('a run that is killed between mapping a page and storing it has the page read again by the next run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dpp-killed-'));
    onTestFinished(() => removeFolder(folder));
    const child = join(import.meta.dirname, 'killed-at-page-child.ts');
    const { signal, stderr } = spawnSync(process.execPath, [child, folder, '2'], { encoding: 'utf8' });
    expect(signal, stderr).toBe('SIGKILL');
    await given({ folder });
    expect(lastRun()?.streams).toMatchObject([{ read: 2, changed: 2 }]);
    expect(products()).toEqual({ due: 2 });
    await world.pull({ pages: SIX });
    expect(lastRun()).toMatchObject({ result: 'complete', streams: [{ read: 6, changed: 4, unchanged: 2 }] });
    expect(products()).toEqual({ due: 6 });
  });
});

describe('a ledger that cannot be written', () => {
  it('a ledger that cannot be written lets the run rest at its page, and takes that page once', async () => {
    const clock = createManualClock();
    let refusals = 0;
    await given({
      clock,
      aroundLedger: (ledger) => ({
        ...ledger,
        stagePage(page) {
          if (page.records[0]?.identity !== '3' || refusals === 2) return ledger.stagePage(page);
          refusals += 1;
          return Promise.reject(fault('ledger.unwritable', 'The disk is full.'));
        },
      }),
    });
    const pulling = world.pull({ pages: SIX, waitMs: 10_000 });
    for (let time = 1; time <= 2; time += 1) {
      await expect.poll(() => refusals === time).toBe(true);
      await clock.sleepers(1);
      clock.advance(1000);
    }
    expect(await pulling).toMatchObject({ result: 'complete' });
    expect(lastRun()?.streams).toMatchObject([{ read: 6, changed: 6, missing: 0 }]);
    expect(world.ledger.views.itemCounts().product).toEqual({ due: 6 });
  });
});

describe('several sources at once', () => {
  it('several sources are read to their ends at once, each page in its order, with one page of each in memory', async () => {
    const BYTES = 50_000;
    const PAGES = 30;
    const SOURCES = ['a', 'b', 'c', 'd'];
    await given({ handedBytesMax: 1.5 * BYTES });
    let inMemory = 0;
    let most = 0;
    async function* read(source: string): AsyncGenerator<Page> {
      for (let page = 1; page <= PAGES; page += 1) {
        inMemory += 1;
        most = Math.max(most, inMemory);
        yield { rows: [sourceRow({ id: `${source}${page}`, text: 'x'.repeat(BYTES) })], cursor: page };
        // The pull asks for the next page, so this page is stored.
        inMemory -= 1;
        expect(world.ledger.views.run(lastRun(source)?.id ?? 0)?.streams).toMatchObject([{ read: page }]);
      }
    }
    await Promise.all(SOURCES.map((source) => world.pull({ source, stream: source, pages: () => read(source) })));
    expect(most).toBeLessThanOrEqual(SOURCES.length);
    expect(products()).toEqual({ due: SOURCES.length * PAGES });
    for (const source of SOURCES) expect(lastRun(source)?.streams).toMatchObject([{ read: PAGES, changed: PAGES }]);
  });

  it('several sources are read no further while the pages that wait are as large as memory allows', async () => {
    const clock = createManualClock();
    await given({ clock, handedBytesMax: 100 });
    await bullQueue()?.pause();
    const large = { rows: [sourceRow({ id: 'large', text: 'x'.repeat(200) })] };
    const waiting = world.pull({ source: 'a', stream: 'a', pages: [large.rows], waitMs: 60_000 });
    await expect.poll(async () => (await mapJobs()).waiting === 1).toBe(true);
    let asked = 0;
    async function* empty(): AsyncGenerator<Page> {
      for (; asked < 3; asked += 1) yield { rows: [] };
    }
    const other = world.pull({ source: 'b', stream: 'b', pages: empty });
    await expect.poll(() => world.events.some((event) => event.type === 'page' && event.source === 'b')).toBe(true);
    expect(asked).toBe(0);
    await bullQueue()?.resume();
    expect(await waiting).toMatchObject({ result: 'complete' });
    expect(await other).toMatchObject({ result: 'complete' });
    expect(asked).toBe(3);
  });
});

describe('what was mapped', () => {
  /** A page of a run that began with `r1`; each row is mapped to a product with the name `mapped`. */
  async function stage(ids: string[], options: { mappingRevision?: string; unmapped?: string[] } = {}) {
    const { ledger } = world;
    const streams = ['default'];
    const { runId } = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
    const results = new Map(
      ids.flatMap((id, at) =>
        options.unmapped?.includes(id) ? [] : [[at, items(product(id, 'mapped'))] as [number, MapResult]],
      ),
    );
    const mapped = { mappingRevision: options.mappingRevision ?? 'r1', results };
    const page = {
      runId,
      source: 'erp',
      stream: 'default',
      records: ids.map((id) => row(id)),
      deferMapping: false,
      mapped,
    };
    return { runId, staged: await ledger.stagePage({ ...page, seen: createBitmap() }) };
  }
  const pending = async () => {
    const records = await world.ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 10 });
    return records.map(({ fields }) => fields['id']);
  };

  it('a mapped page is not used under another revision of the mapping: its rows are stored and mapped again', async () => {
    await given();
    const { runId } = await stage(['1', '2'], { mappingRevision: 'r0' });
    expect(products()).toEqual({});
    expect(await pending()).toEqual(['1', '2']);
    expect(world.ledger.views.run(runId)?.streams).toMatchObject([{ read: 2, unchanged: 0, changed: 0 }]);
  });

  it('a mapped page may lack a row that has changed since its look-up: that row is stored and mapped later', async () => {
    await given();
    const { staged } = await stage(['1', '2', '3'], { unmapped: ['2'] });
    expect(staged).toMatchObject({ changed: 3, summary: { mapped: 2, due: 2 } });
    expect(await pending()).toEqual(['2']);
  });

  it('a mapped page is not used for a row that another run has stored meanwhile', async () => {
    await given();
    await stage(['1']);
    const { runId, staged } = await stage(['1', '2']);
    expect(staged).toMatchObject({ changed: 1, summary: { mapped: 1, due: 1 } });
    expect(world.ledger.views.run(runId)?.streams).toMatchObject([{ read: 2, unchanged: 1, changed: 1 }]);
  });

  it('a mapped page is not stored by a run that has ended', async () => {
    await given();
    const { runId } = await stage([]);
    await world.ledger.endRun({ runId, result: 'interrupted' });
    const page = {
      runId,
      source: 'erp',
      stream: 'default',
      records: [row('1')],
      deferMapping: false,
      seen: createBitmap(),
    };
    await expect(world.ledger.stagePage(page)).rejects.toMatchObject({ code: 'interrupted' });
    expect(await pending()).toEqual([]);
  });
});

it('a pull completes while the platform is away, and everything that it read is due', async () => {
  await given();
  const outside = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          streams: { products: { path: './products.csv', key: ['SKU'] } },
          mappings: [
            { stream: 'products', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.NAME' } },
          ],
        },
      ],
    },
    target: { firstContact: 'assume-empty' },
    files: { 'products.csv': `SKU,NAME\n${Array.from({ length: 1200 }, (_, at) => `S${at},Item ${at}`).join('\n')}\n` },
  });
  onTestFinished(() => outside.remove());
  await outside.sandbox.close();
  const runtime = await outside.open();
  onTestFinished(() => runtime.close());
  const { result } = await runtime.pull('erp', { trigger: 'cli' }, new AbortController().signal);
  expect(result).toBe('complete');
  const { due = 0, sending = 0, in_doubt = 0 } = (await runtime.reads.itemCounts()).product ?? {};
  expect(due + sending + in_doubt).toBe(1200);
  expect(runtime.mapping.busy()).toBe(false);
});
