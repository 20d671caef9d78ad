import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import type { RecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const HEADER = 'SKU,NAME,STATE\n';

describe('a source with `watch: true`', () => {
  let world: World;
  let daemon: Daemon;
  let log: RecordingLog;

  beforeEach(async () => {
    world = await createWorld({
      config: { sources: [{ ...PRODUCTS.source, watch: true }] },
      files: { 'status.csv': PRODUCTS.files['status.csv'] },
    });
    ({ daemon, log } = await startDaemon(world));
  });
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  const file = () => join(world.folder, 'products.csv');
  const runs = () => daemon.runtime.reads.lastRuns({ source: 'erp', limit: 10 });
  const ended = async () => (await runs()).filter(({ endedAt }) => endedAt !== null);
  const names = () => world.contents().products.map(({ name }) => name);

  it('a watched source is read when its export appears and when it changes, and not again', async () => {
    writeFileSync(`${file()}.tmp`, `${HEADER}A-1,Kettle,10\n`);
    renameSync(`${file()}.tmp`, file());
    await expect.poll(ended).toMatchObject([{ trigger: 'file', result: 'complete' }]);
    await expect.poll(names).toEqual(['Kettle']);
    writeFileSync(file(), `${HEADER}A-1,Teapot,10\n`);
    await expect.poll(names).toEqual(['Teapot']);
    // A product may arrive before its run has ended.
    const report =
      'The run of erp is complete: 1 row read, 0 unchanged, 1 changed, 0 with an error. 0 rows of erp have an error now.';
    const reports = () =>
      log.lines.map(({ message }) => message).filter((text) => text.startsWith('The run of erp is'));
    await expect.poll(reports).toEqual([report, report]);
    expect(await ended()).toHaveLength(2);
    const begun = log.lines.map(({ message }) => message).filter((text) => text.endsWith('so a run is due.'));
    expect(begun).toEqual([
      'The export of erp is watched for the first time, so a run is due.',
      'The export of erp has changed, so a run is due.',
    ]);
  });

  it('a watched source is read again where its export changes while its run is ending', async () => {
    const { queues } = daemon.runtime;
    const failed = queues.failed.bind(queues);
    const pulling = vi.spyOn(daemon.runtime, 'pulling');
    const { promise: reported, resolve: report } = Promise.withResolvers<void>();
    let asked = 0;
    queues.failed = async (name) => {
      if (name === 'pull') {
        asked += 1;
        await reported;
      }
      return failed(name);
    };
    writeFileSync(file(), `${HEADER}A-1,Kettle,10\n`);
    await expect.poll(() => asked).toBe(1);
    // The run has been read to its end, and its failed jobs are being removed.
    expect(await ended()).toHaveLength(1);
    writeFileSync(file(), `${HEADER}A-1,Teapot,10\n`);
    try {
      // The daemon asks once a second which sources are pulled, before it looks at their exports every two seconds.
      pulling.mockClear();
      await expect.poll(() => pulling.mock.calls.length).toBeGreaterThan(8);
    } finally {
      report();
    }
    await expect.poll(names).toEqual(['Teapot']);
  });

  it('a watched source is not read while its export is being written', async () => {
    writeFileSync(file(), HEADER);
    // From here on the daemon checks the export every two seconds.
    await expect.poll(ended).toHaveLength(1);
    let row = 0;
    const writing = setInterval(() => {
      row += 1;
      appendFileSync(file(), `B-${row},Item ${row},10\n`);
    }, 300);
    await expect.poll(() => row).toBeGreaterThan(20);
    expect(await runs()).toHaveLength(1);
    clearInterval(writing);
    await expect.poll(ended).toMatchObject([{ streams: [{ read: row }] }, { streams: [{ read: 0 }] }]);
  });

  it('a watched source is read at the start where its export changed while no daemon ran, and only then', async () => {
    writeFileSync(file(), `${HEADER}A-1,Kettle,10\n`);
    await expect.poll(ended).toHaveLength(1);
    await daemon.stop();
    writeFileSync(file(), `${HEADER}A-1,Teapot,10\n`);
    ({ daemon, log } = await startDaemon(world));
    await expect.poll(names).toEqual(['Teapot']);
    await expect.poll(ended).toHaveLength(2);
    await daemon.stop();
    ({ daemon, log } = await startDaemon(world));
    await expect.poll(() => daemon.runtime.reads.daemonNote('dueRuns')).toBeNull();
    expect(await runs()).toHaveLength(2);
  });

  it('a source is watched again once a reload gives it a connector that can be watched', async () => {
    const withSource = (source: object) =>
      world.write(
        'dpp-sync.yaml',
        stringify({ ...(parse(readFileSync(world.configFile, 'utf8')) as object), sources: [source] }),
      );
    const { mappings } = PRODUCTS.source;
    const options = { dialect: 'sqlite', file: './erp.db', query: 'SELECT * FROM products', page: ['SKU'] };
    withSource({ id: 'erp', connector: 'sql', watch: true, options: { ...options, key: ['SKU'] }, mappings });
    expect(await daemon.reload('person')).toMatchObject({ ok: true });
    const unwatched = () => log.lines.filter(({ message }) => message.includes('has no method look'));
    await expect.poll(unwatched).toHaveLength(1);
    withSource({ ...PRODUCTS.source, watch: true });
    expect(await daemon.reload('person')).toMatchObject({ ok: true });
    writeFileSync(file(), `${HEADER}A-1,Kettle,10\n`);
    await expect.poll(names).toEqual(['Kettle']);
  });
});
