// Changes by delta links into a real ledger, with items that change, come and go while they are read, and with pulls that end between two
// pages. test/chaos/odata-deltas.test.ts does the same with 100,000 items and processes that are killed.

import { afterEach, expect, it } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import { CATALOG_STREAM, type ChangingCatalog, createChangingCatalog } from '../../support/rest/changing-catalog.ts';
import { announcedRandom } from '../../support/runner/announced-random.ts';
import { createPageWorld, type PageWorld, type ReadFrom } from '../../support/worlds/page-world.ts';

const ITEMS = 3_000;
const PAGE_ROWS = 250;
const ROUNDS = 4;

let world: PageWorld;
let catalog: ChangingCatalog;
afterEach(async () => {
  await world.remove();
  await catalog.service.server.close();
});

class Killed extends Error {}

/** Pulls the catalogue. The pull ends before it gets the page with this number. */
async function pull(killedAt: number | null = null): Promise<{ read: number; isKilled: boolean }> {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const options = rest.options.parse({ base: catalog.service.server.base, limits: { perSecond: 1_000 } });
  const source = await rest.open(options, { resolvePath: (path) => path, log });
  const target = { name: 'items', options: rest.streamOptions.parse(CATALOG_STREAM), key: ['id'] };
  async function* pages(from: ReadFrom) {
    let number = 0;
    for await (const page of source.pull({ ...target, ...from, signal: new AbortController().signal })) {
      number += 1;
      if (number === killedAt) throw new Killed();
      yield page;
    }
  }
  const request = { pages, reads: 'changes-and-snapshot', snapshotEveryMs: 7 * 86_400_000 } as const;
  try {
    const { runId } = await world.pull(request);
    return { read: world.ledger.views.run(runId)?.streams[0]?.read ?? 0, isKilled: false };
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    // What comes next is another process, on what this one has stored.
    await world.reopen();
    return { read: 0, isKilled: true };
  } finally {
    await source.close();
  }
}

/** Pulls while nothing changes, and compares. */
async function pullQuietly(): Promise<void> {
  catalog.churnDuring(0);
  const before = catalog.service.server.calls.length;
  const { read } = await pull();
  const [first] = catalog.service.server.calls.slice(before);
  expect(read).toBe(catalog.changedSince(first?.query.get('$deltatoken') ?? null));
  catalog.expectIn(world.file);
}

it('a catalogue whose items change, come and go between and during reads is in the ledger exactly, however often a pull ends', async () => {
  const random = announcedRandom();
  world = await createPageWorld();
  catalog = await createChangingCatalog({ items: ITEMS, pageRows: PAGE_ROWS, random });
  catalog.churnDuring(Number.POSITIVE_INFINITY);
  expect((await pull(3)).isKilled).toBe(true);
  // The first pass is disturbed, and the next one is not.
  catalog.churnDuring(4);
  await pull();
  await pullQuietly();
  let kills = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    catalog.churn({ changed: 400, added: 150, removed: 100 });
    catalog.churnDuring(Number.POSITIVE_INFINITY);
    for (const page of [2, 1]) if ((await pull(page)).isKilled) kills += 1;
    await pull();
    await pullQuietly();
  }
  expect(kills).toBe(2 * ROUNDS);
});
