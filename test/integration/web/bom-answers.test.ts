// The page "Needs attention": a person answers whether the BOM items of adopted products are at the platform.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const GATES_OFF = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
const ITEMS = SMALL.lines.length;

let world: World;
let daemon: Daemon;
let web: WebForms;

beforeEach(async () => {
  world = await createWorld({
    config: { web: { port: 0, token: WEB_TOKEN }, sources: SMALL_SOURCES },
    files: smallFiles(SMALL),
    sandbox: { duplicates: { taken: true }, gates: GATES_OFF },
  });
  // The platform has it all, and a new ledger knows nothing of that.
  expect(exitCodeOf(await world.sync())).toBe(0);
  rmSync(join(world.folder, 'data'), { recursive: true });
  const started = await startDaemon(world);
  daemon = started.daemon;
  web = webForms(started.url);
  for (const { id } of SMALL_SOURCES) await daemon.startRun(id, 'schedule');
  await vi.waitUntil(async () => (await daemon.runtime.reads.unansweredParts()).bomItems === ITEMS, SOON);
});
afterEach(async () => {
  await daemon.stop();
  await world.remove();
});

const THERE = { action: '/attention/parts', with: 'They are there' };
const atPlatform = () => world.contents().bomItems.length;

describe('the question about BOM items of products that were at the platform before', () => {
  it('the question about BOM items of adopted products is asked with its counts, and present BOM items are not sent', async () => {
    const asked = (await web.get('/attention')).text;
    expect(asked).toContain(`They are there: ${ITEMS} BOM items of `);
    const { to } = await web.press(asked, THERE);
    expect(await web.taskPage(to)).toMatch(new RegExp(`${ITEMS} BOM items of \\d products? settled\\.`));
    expect((await web.get('/attention')).text).not.toContain('They are there');
    expect((await daemon.runtime.reads.itemCounts()).bom_item).toEqual({ delivered: ITEMS });
    expect(atPlatform()).toBe(ITEMS);
    const [action] = (await daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action).toMatchObject({ action: 'parts.settle', outcome: expect.stringContaining(`${ITEMS} BOM items of`) });
  });

  it('the question about BOM items of adopted products takes no other answer than yes and no', async () => {
    for (const fields of [{}, { present: 'Yes' }, { presnt: 'yes' }, { present: 'no', products: 'P-1' }]) {
      expect([fields, (await web.post('/attention/parts', fields)).status]).toEqual([fields, 400]);
    }
    expect((await daemon.runtime.reads.unansweredParts()).bomItems).toBe(ITEMS);
  });

  it('the question about BOM items of adopted products has those created that a person calls absent', async () => {
    const asked = (await web.get('/attention')).text;
    const { to } = await web.press(asked, { ...THERE, with: 'They are not there' });
    await web.taskPage(to);
    await vi.waitUntil(async () => (await daemon.runtime.reads.itemCounts()).bom_item.delivered === ITEMS, SOON);
    expect(atPlatform()).toBe(2 * ITEMS);
  });

  it('the question about BOM items of adopted products takes no answer from a page that has shown another question', async () => {
    const asked = (await web.get('/attention')).text;
    const [line] = SMALL.lines;
    await daemon.runtime.ledger.answerParts({ products: [line?.product ?? ''], present: true });
    const left = await daemon.runtime.reads.unansweredParts();
    expect(left.bomItems).toBeLessThan(ITEMS);
    const answered = await web.press(asked, { ...THERE, with: 'They are not there' });
    expect(answered).toMatchObject({ status: 303, to: '/attention' });
    expect(await daemon.runtime.reads.unansweredParts()).toEqual(left);
    expect(atPlatform()).toBe(ITEMS);
  });
});
