import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, openLedger } from '../../support/ledger/ledger.ts';
import { row } from '../../support/ledger/records.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeSmallDisk, mountSmallDisk, type SmallDisk } from '../../support/machine/small-disk.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS, interval: 20 };
const quiet = () => {};

describeSmallDisk('a ledger on a disk that is full', () => {
  let folder: string;
  let disk: SmallDisk;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dpp-full-'));
    disk = mountSmallDisk(folder, 8);
    file = join(folder, 'ledger.db');
  });
  afterEach(async () => {
    disk.remove();
    await removeFolder(folder);
  });

  const open = (): SqliteLedger => openLedger(file);
  const rowsOfPage = (page: number) =>
    Array.from({ length: 20 }, (_, at) => row(`${page}-${at}`, { filling: 'x'.repeat(500) }));

  it(
    'a ledger on a full disk refuses a page that it did not store, and takes the same page once there is room',
    covers('disk-full', 'I1', 'I5', 'I8'),
    async () => {
      const ledger = open();
      const streams = ['default'];
      // The second time the rows are known, and none of them may count as a duplicate in the same read.
      for (const known of [0, 20]) {
        const { runId } = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
        const page = { runId, source: 'erp', stream: 'default', seen: createBitmap(), deferMapping: false };
        const stagePage = (cursor: number) => ledger.stagePage({ ...page, records: rowsOfPage(cursor), cursor });
        await stagePage(1);
        disk.fill();
        await expect(stagePage(2)).rejects.toMatchObject({ code: 'ledger.unwritable', exitCode: 3 });
        await expect(stagePage(2)).rejects.toMatchObject({ code: 'ledger.unwritable' });
        const beside = openLedgerReads({ file, passportRules: NO_PASSPORTS, forms: FORMS });
        expect((await beside?.reads.run(runId))?.streams).toMatchObject([{ read: 20 }]);
        beside?.close();
        expect(await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 100 })).toHaveLength(20 + known);
        disk.clear();
        expect(await stagePage(2)).toMatchObject({ changed: 20 - known });
        const end = {
          ...page,
          read: 40,
          flagItems: true,
          creates: 'decide' as const,
          guard: { maxMissing: 0, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 0 },
        };
        expect(await ledger.endStream(end)).toEqual({ missing: 0, guarded: null, refused: null });
        await ledger.endRun({ runId, result: 'complete' });
        expect(ledger.views.run(runId)?.streams).toMatchObject([{ read: 40, missing: 0 }]);
        expect(await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 100 })).toHaveLength(40);
      }
      await ledger.close();
      expect(verifyLedger(file, quiet)?.findings).toEqual([]);
    },
  );

  it(
    'a ledger keeps what it acknowledged when its log can neither be moved into it nor restarted',
    covers('disk-full', 'I8'),
    async () => {
      let ledger = open();
      const streams = ['default'];
      const run = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
      const seen = createBitmap();
      let acknowledged = 0;
      disk.fill(2_000_000);
      // The log takes the space into which its pages would have to be moved.
      const fill = async () => {
        for (let page = 0; page < 500; page += 1) {
          await ledger.stagePage({
            ...run,
            source: 'erp',
            stream: 'default',
            records: rowsOfPage(page),
            seen,
            deferMapping: false,
          });
          acknowledged += 20;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'ledger.unwritable' });
      expect(acknowledged).toBeGreaterThan(100);
      disk.fill();
      const fails = await ledger.close().then(
        () => null,
        (error: { code: string }) => error.code,
      );
      expect([null, 'ledger.unwritable']).toContain(fails);
      let reopened: unknown = null;
      try {
        ledger = open();
        await ledger.close();
      } catch (error) {
        reopened = error;
      }
      if (reopened !== null) expect(reopened).toMatchObject({ code: 'ledger.unwritable', exitCode: 3 });
      disk.clear();
      ledger = open();
      const kept = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 100_000 });
      expect(kept).toHaveLength(acknowledged);
      await ledger.close();
      expect(verifyLedger(file, quiet)?.findings).toEqual([]);
    },
  );

  it(
    'a touch reports a full disk at once, and a disk without room for a page as soon as the page was refused',
    covers('disk-full', 'I8'),
    async () => {
      const clock = createManualClock();
      const ledger = openLedger(file, { clock });
      const run = await ledger.startRun({ source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' });
      const page = { ...run, source: 'erp', stream: 'default', seen: createBitmap(), deferMapping: false };
      const stage = (from: number, to: number) =>
        ledger.stagePage({
          ...page,
          records: Array.from({ length: to - from }, (_, at) => rowsOfPage(from + at)).flat(),
        });
      await stage(0, 20);
      // From now on, small writes use the room of the log again, so they succeed on a full disk too.
      const beside = new Database(file);
      beside.pragma('wal_checkpoint(RESTART)');
      beside.close();
      disk.fill();
      await expect(ledger.touch()).rejects.toMatchObject({ code: 'ledger.unwritable' });
      disk.clear();
      await ledger.touch();
      disk.fillTo(200_000);
      await ledger.touch();
      await expect(stage(20, 150)).rejects.toMatchObject({ code: 'ledger.unwritable' });
      await expect(ledger.touch()).rejects.toMatchObject({ code: 'ledger.unwritable' });
      disk.clear();
      await stage(20, 150);
      clock.advance(10_000);
      await ledger.touch();
      await ledger.close();
    },
  );

  it(
    'a ledger that is created or opened on a full disk fails with a clear error, and opens without a trace once there is room',
    covers('disk-full', 'I8'),
    async () => {
      disk.fill();
      expect(open).toThrow(expect.objectContaining({ code: 'ledger.unwritable', exitCode: 3 }));
      disk.clear();
      await open().close();
      disk.fill();
      expect(open).toThrow(expect.objectContaining({ code: 'ledger.unwritable', exitCode: 3 }));
      disk.clear();
      await open().close();
      expect(existsSync(file)).toBe(true);
      expect(verifyLedger(file, quiet)?.findings).toEqual([]);
    },
  );
});

describeSmallDisk('a daemon whose disk is full', () => {
  const queue = quickQueue();
  const COUNT = 400;
  const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
  let world: World;
  let disk: SmallDisk;
  beforeEach(async () => {
    world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
      queue: queue(),
      files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      profile: { imports: { creates: 'off' } },
      // Slow enough that requests are in flight when the disk becomes full.
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: 100 }] },
    });
    disk = mountSmallDisk(join(world.folder, 'data'), 32);
  });
  afterEach(async () => {
    disk.remove();
    await world.remove();
  });

  it(
    'a daemon whose disk is full shows that, reads no page, keeps the answers it received, and continues when there is room',
    covers('disk-full', 'I4', 'I5', 'I6', 'I8'),
    async () => {
      const { daemon, url } = await startDaemon(world);
      const arrived = () => world.contents().products.length;
      const health = async () => (await (await fetch(`${url}/healthz`)).json()) as { ledger: string; status: string };
      const page = async () => (await fetch(url, { headers: { authorization: `Bearer ${WEB_TOKEN}` } })).text();
      /** Makes space on the disk, and waits until the work continues. */
      const roomAgain = async (): Promise<void> => {
        const before = arrived();
        disk.clear();
        await expect.poll(arrived, SOON).toBeGreaterThan(before);
      };

      // While the disk is full, nothing is read.
      disk.fill();
      await daemon.startRun('erp', 'schedule');
      await expect.poll(health, SOON).toMatchObject({ status: 'unhealthy', ledger: 'unwritable' });
      // Kubernetes must not restart the pod, because the daemon continues by itself.
      expect([(await fetch(`${url}/readyz`)).status, (await fetch(`${url}/livez`)).status]).toEqual([503, 200]);
      expect(await page()).toContain('cannot be written');
      const status = await runHere(['status', '-c', world.configFile, '--json']);
      expect(status.json()).toMatchObject({ ledger: { freeBytes: 0 } });
      expect((await runHere(['status', '-c', world.configFile])).stdout).toContain('its disk is full');
      expect(arrived()).toBe(0);
      await roomAgain();

      // The disk becomes full while requests are in flight. Their answers are kept until they can be stored.
      await expect.poll(arrived, SOON).toBeGreaterThanOrEqual(10);
      disk.fill();
      await expect
        .poll(async () => (await daemon.runtime.engine.status()).trouble?.message, SOON)
        .toContain('disk is full');
      await expect.poll(health, SOON).toMatchObject({ ledger: 'unwritable' });
      await roomAgain();

      await expect
        .poll(async () => (await daemon.runtime.reads.itemCounts()).product, SOON)
        .toEqual({ delivered: COUNT });
      await expect
        .poll(() => daemon.runtime.reads.lastRuns({ source: 'erp', limit: 5 }), SOON)
        .toMatchObject([{ result: 'complete', streams: [{ read: COUNT, changed: COUNT, missing: 0 }] }]);
      await expect.poll(health, SOON).toMatchObject({ status: 'ok', ledger: 'ok' });
      expect(await daemon.runtime.reads.stuck(9)).toEqual([]);
      await daemon.stop();
      expect(
        world
          .contents()
          .products.map(({ sku }) => text(sku))
          .toSorted(),
      ).toEqual(rows.map((one) => one.slice(0, 6)));
      expect(world.requests()).toMatchObject({ 'product.create': COUNT });
      expect(verifyLedger(join(world.folder, 'data/ledger.db'), quiet)?.findings).toEqual([]);
    },
  );

  it('a pull by hand on a full disk ends when the run that it waits for rests longer than the person waits', async () => {
    const { daemon } = await startDaemon(world);
    const { runtime } = daemon;
    const { signal } = new AbortController();
    disk.fill();
    await daemon.startRun('erp', 'schedule');
    await expect.poll(() => runtime.pulling(), SOON).toEqual(['erp']);
    await expect(runtime.pull('erp', { trigger: 'cli' }, signal, 300)).rejects.toMatchObject({
      code: 'ledger.unwritable',
    });
    expect(runtime.pulling()).toEqual(['erp']);
    disk.clear();
    expect(await runtime.pull('erp', { trigger: 'cli' }, signal)).toMatchObject({ result: 'complete' });
    await daemon.stop();
  });

  it(
    'a sync on a full disk can be stopped, and the next start loses and doubles nothing',
    covers(['disk-full', 'shutdown'], 'I5', 'I6', 'I8'),
    async () => {
      const { daemon } = await startDaemon(world);
      await daemon.startRun('erp', 'schedule');
      await expect.poll(() => world.contents().products.length, SOON).toBeGreaterThanOrEqual(10);
      disk.fill();
      await expect
        .poll(async () => (await daemon.runtime.engine.status()).trouble?.message, SOON)
        .toContain('disk is full');
      await daemon.stop();
      disk.clear();
      const report = await world.sync();
      expect(report.items.product).toEqual({ delivered: COUNT });
      expect(
        world
          .contents()
          .products.map(({ sku }) => text(sku))
          .toSorted(),
      ).toEqual(rows.map((one) => one.slice(0, 6)));
      expect(world.sandbox.inspect().writes.filter(({ count }) => count !== 1)).toEqual([]);
      expect(verifyLedger(join(world.folder, 'data/ledger.db'), quiet)?.findings).toEqual([]);
    },
  );
});
