import { rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPackage } from '../../../src/lib/package.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const ME = userInfo().username;

let world: World;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  stops = [];
  world = await createWorld({
    config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
    files: PRODUCTS.files,
  });
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await world.remove();
});

const run = (...args: string[]) => runHere([...args, '-c', world.configFile, '--json']);

/** The audit log of the ledger, the newest entry first. */
async function actions() {
  await using runtime = await world.open();
  return (await runtime.reads.actions({ limit: 10 })).rows;
}

describe('commands on the terminal', () => {
  it('commands on the terminal are in the audit log with their user and their result', async () => {
    await run('sync', 'erp', '--wait', '5');
    await run('sync', 'nowhere');
    expect(await actions()).toEqual([
      expect.objectContaining({
        who: ME,
        via: 'command',
        action: 'sync',
        detail: expect.objectContaining({ sources: 'erp', waitMs: 5000 }),
        outcome: 'Done, and something needs attention.',
      }),
    ]);
    await run('settle', 'A-9', '--rejected');
    expect((await actions())[0]).toMatchObject({
      who: ME,
      action: 'settle',
      outcome: expect.stringMatching(/^Failed: .*A-9/),
    });
  });

  it('commands on the terminal that could not finish have the reason in the audit log', async () => {
    rmSync(join(world.folder, 'products.csv'));
    expect(await run('sync', 'erp', '--wait', '5')).toMatchObject({ exitCode: 3 });
    expect(await actions()).toMatchObject([
      { action: 'sync', outcome: expect.stringMatching(/^Not finished: .*products\.csv/) },
    ]);
  });

  it('commands on the terminal are in the audit log where a daemon does the work, and so is who has asked for a run', async () => {
    const { daemon } = await startDaemon(world, { version: findPackage().version });
    stops.push(() => daemon.stop());
    await run('sync');
    await run('publish', 'A-1');
    const { reads } = daemon.runtime;
    const { rows } = await reads.actions({ limit: 10 });
    expect(rows.map(({ who, via, action }) => [who, via, action])).toEqual([
      [ME, 'command', 'publish'],
      [ME, 'command', 'sync'],
    ]);
    expect((await reads.runs({}, { limit: 1 })).rows).toMatchObject([{ trigger: 'cli', askedBy: ME }]);
  });

  it('commands on the terminal that only read are not in the audit log', async () => {
    await run('sync');
    const { daemon } = await startDaemon(world, { version: findPackage().version });
    stops.push(() => daemon.stop());
    expect(await run('publications')).toMatchObject({ exitCode: 0 });
    const { rows } = await daemon.runtime.reads.actions({ limit: 10 });
    expect(rows.map(({ action }) => action)).toEqual(['sync']);
  });
});
