// Items over OData (100,000 in the suites in full), read completely and then by delta links, while items change, come and go between and during the reads, and
// while the program is killed at requests for pages. The ledger is compared with what the server has.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startCli } from '../support/cli/cli.ts';
import { CATALOG_STREAM, type ChangingCatalog, createChangingCatalog } from '../support/rest/changing-catalog.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { scaled } from '../support/runner/chaos.ts';
import { API_KEY, createWorld, type World } from '../support/worlds/world.ts';

const ITEMS = scaled(20_000, 100_000);
/** A complete read takes 20 requests, and the changes of a round take three. */
const PAGE_ROWS = ITEMS / 20;
const CHANGES = { changed: 0.09 * ITEMS, added: 0.02 * ITEMS, removed: 0.015 * ITEMS };
/** Each pass that is disturbed has two requests at least, and a read gives up after three of them. */
const DISTURBED = 5;
const ROUNDS = scaled(1, 10);

let world: World;
let catalog: ChangingCatalog;
afterEach(async () => {
  await world.remove();
  await catalog.service.server.close();
});

/** Syncs in a process. It is killed while the server answers the request with this number, counted from now. */
async function sync(killedAt: number | null = null) {
  const program = startCli(['sync', '--json', '-c', world.configFile]);
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

it(`${ITEMS} items over OData that change, come and go are in the ledger exactly, after every kill between two pages`, async () => {
  const random = announcedRandom();
  catalog = await createChangingCatalog({ items: ITEMS, pageRows: PAGE_ROWS, random });
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'rest',
          options: { base: catalog.service.server.base, limits: { perSecond: 1_000 } },
          streams: { items: { ...CATALOG_STREAM, key: ['id'] } },
          guard: { maxMissingCount: ITEMS / 10 },
          mappings: [{ stream: 'items', to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.name' } }],
        },
      ],
    },
  });
  // The key may read no list, so nothing is created, and a sync ends after the read.
  world.sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['publish'], key: API_KEY });
  catalog.churnDuring(DISTURBED);
  expect((await sync(1 + Math.floor(random() * 20))).isKilled).toBe(true);
  catalog.churnDuring(DISTURBED);
  await sync();
  await syncQuietly();
  for (let round = 1; round <= ROUNDS; round += 1) {
    catalog.churn(CHANGES);
    catalog.churnDuring(Number.POSITIVE_INFINITY);
    expect((await sync(1 + Math.floor(random() * 3))).isKilled).toBe(true);
    await sync();
    await syncQuietly();
  }
});
