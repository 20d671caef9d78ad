// 100,000 items over OData, read completely and then by delta links, while items change, come and go between and during the reads, and
// while the program is killed at requests for pages. The ledger is compared with what the server has.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startCli } from '../support/cli/cli.ts';
import { CATALOG_STREAM, type ChangingCatalog, createChangingCatalog } from '../support/rest/changing-catalog.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { scaled } from '../support/runner/chaos.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

const ITEMS = 100_000;
const PAGE_ROWS = 5_000;
const ROUNDS = scaled(1, 10);
/** The platform cannot be reached, so a sync ends after the read. */
const NOWHERE = { baseUrl: 'http://127.0.0.1:1' };

let world: World;
let catalog: ChangingCatalog;
afterEach(async () => {
  await world.remove();
  await catalog.service.server.close();
});

/** Syncs in a process. It is killed while the server answers the request with this number, counted from now. */
async function sync(killedAt: number | null = null) {
  const program = startCli(['sync', '--wait', '1', '--json', '-c', world.configFile]);
  let isKilled = false;
  if (killedAt !== null) {
    catalog.atRequest(killedAt, () => {
      isKilled = true;
      program.signal('SIGKILL');
    });
  }
  const ended = await program.ended;
  if (isKilled) expect(ended.signal).toBe('SIGKILL');
  else expect(ended, ended.stderr).toMatchObject({ exitCode: 3 });
  return { isKilled, ended };
}

/** Syncs while nothing changes, and compares. */
async function syncQuietly(): Promise<void> {
  catalog.churnDuring(0);
  const before = catalog.service.server.calls.length;
  const { ended } = await sync();
  const [first] = catalog.service.server.calls.slice(before);
  const { runs } = ended.json() as { runs: { read: number }[] };
  expect(runs[0]?.read).toBe(catalog.changedSince(first?.query.get('$deltatoken') ?? null));
  catalog.expectIn(join(world.folder, 'data/ledger.db'));
}

it('100,000 items over OData that change, come and go are in the ledger exactly, after every kill between two pages', async () => {
  const random = announcedRandom();
  catalog = await createChangingCatalog({ items: ITEMS, pageRows: PAGE_ROWS, random });
  world = await createWorld({
    target: NOWHERE,
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'rest',
          options: { base: catalog.service.server.base, limits: { perSecond: 1_000 } },
          streams: { items: { ...CATALOG_STREAM, key: ['id'] } },
          guard: { maxMissingCount: 10_000 },
          mappings: [{ stream: 'items', to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.name' } }],
        },
      ],
    },
  });
  catalog.churnDuring(Number.POSITIVE_INFINITY);
  expect((await sync(1 + Math.floor(random() * 20))).isKilled).toBe(true);
  // The first pass is disturbed, and the next one is not.
  catalog.churnDuring(10);
  await sync();
  await syncQuietly();
  for (let round = 1; round <= ROUNDS; round += 1) {
    catalog.churn({ changed: 9_000, added: 2_000, removed: 1_500 });
    catalog.churnDuring(Number.POSITIVE_INFINITY);
    expect((await sync(1 + Math.floor(random() * 3))).isKilled).toBe(true);
    await sync();
    await syncQuietly();
  }
});
