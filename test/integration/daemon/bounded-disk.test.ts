// A bounded run is tried on a copy of the ledger, for which a disk may have no room.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeSmallDisk, mountSmallDisk } from '../../support/machine/small-disk.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld } from '../../support/worlds/world.ts';

describeSmallDisk('a bounded run on a disk that is full', () => {
  it('waits in a daemon until the disk has room for the trial, as a run without bounds waits, and then goes on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dpp-bounded-'));
    const disk = mountSmallDisk(folder, 16);
    onTestFinished(async () => {
      disk.remove();
      await removeFolder(folder);
    });
    const world = await createWorld({
      config: {
        ledger: join(folder, 'ledger.db'),
        sources: [{ ...PRODUCTS.source, approve: { changes: 1 } }],
      },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    await world.sync();
    const served = await startDaemon(world);
    const { daemon, log } = served;
    onTestFinished(() => served.remove());
    const lastRun = async () => (await daemon.runtime.reads.lastRuns({ source: 'erp', limit: 1 }))[0];
    const before = await lastRun();
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Steel kettle,10\nA-2,Toaster,20\n');

    disk.fill();
    await daemon.startRun('erp', 'schedule');
    const isPaused = () =>
      log.lines.some(({ message }) => message.startsWith('The run of erp is paused: The disk of the ledger has 0 MB'));
    await expect.poll(isPaused).toBe(true);
    expect(daemon.runtime.pulling()).toEqual(['erp']);

    disk.clear();
    await expect.poll(async () => (await lastRun())?.id !== before?.id && !daemon.runtime.pulling().length).toBe(true);
    expect(await lastRun()).toMatchObject({ result: 'complete' });
    await expect.poll(() => world.productNames()).toContain('Steel kettle');
  });
});
