import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { type Evidence, violations } from '../../support/ledger/invariants.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

async function synced(): Promise<Evidence> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(SMALL),
  });
  await world.sync();
  return {
    ledgerFile: join(world.folder, 'data/ledger.db'),
    platform: world.sandbox.inspect(),
    source: SMALL,
    bomItems: 'delivered',
    // The materials of the other products lack a field that a gate of the platform requires.
    published: ['SKU-P1'],
    secrets: [API_KEY],
  };
}

it('the check of the invariants finds nothing wrong with a sync that went well, and finds each thing that is made wrong', async () => {
  const good = await synced();
  expect(violations(good)).toEqual([]);

  const acme = good.platform.organizations['acme']!;
  const told = (change: Partial<Evidence>): string[] =>
    violations({ ...good, ...change }).map(({ invariant, message }) => `${invariant} ${message}`);
  const platform = (change: Partial<typeof acme>): Partial<Evidence> => ({
    platform: { ...good.platform, organizations: { acme: { ...acme, ...change } } },
  });
  expect(told(platform({ products: acme.products.slice(1) }))).toContain('I8 product SKU-P1 is lost');
  expect(told(platform({ materials: [...acme.materials, ...acme.materials] }))).toContain(
    'I6 material M1 is there 2 times',
  );
  expect(told(platform({ bomItems: acme.bomItems.slice(1) }))).toContain(
    'I8 BOM item 1 counts as delivered and is not there',
  );
  expect(told(platform({ bomItems: [...acme.bomItems, ...acme.bomItems] }))).toContain(
    'I6 8 BOM items there, 4 delivered and 0 unconfirmed here',
  );
  expect(told(platform({ publications: acme.publications.slice(1) }))).toContain('I8 publication SKU-P1 is lost');
  expect(told({ source: { ...SMALL, lines: [...SMALL.lines, ...SMALL.lines] } })).toContain(
    'I1 boms: 8 rows in the source, 4 in the ledger',
  );
  expect(told({ secrets: ['SKU-P1'] })[0]).toMatch(/^I7 .* holds the key SKU-P1…$/);

  const db = new Database(good.ledgerFile);
  for (const id of [1_000, 1_001])
    db.exec(
      `INSERT INTO requests (id, operation, sends, claimed_at, idempotency_key, path) VALUES (${id}, '', 1, 0, 'same', '')`,
    );
  db.exec("UPDATE items SET acknowledged = 2, baseline = '{}', baseline_hash = 'other' WHERE key = 'M1'");
  db.exec('UPDATE run_streams SET read = read + 1');
  db.close();
  const spoilt = told({});
  expect(spoilt).toContain('I4 material M1 differs from its baseline; it is delivered');
  expect(spoilt.some((line) => /^I2 \d+ requests have the idempotency key same$/.test(line))).toBe(true);
  expect(spoilt.some((line) => line.startsWith('I5 a run has read'))).toBe(true);
});
