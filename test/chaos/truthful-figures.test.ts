// A night over 20,000 items with all that can go wrong. At random moments everything stands still, and each figure that dpp-sync shows
// is compared with plain counts over the tables of the ledger, the requests of the daemon and the content of the sandbox.

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askWeb, visitWeb, type WebVisitor } from '../support/browser/web-visitor.ts';
import { text } from '../support/ledger/items.ts';
import { IS_FULL, seededRandom } from '../support/runner/chaos.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { type Books, readBooks } from './support/truth/books.ts';
import { wholeExports } from './support/truth/exports.ts';
import { createNight, type Night, SOURCES } from './support/truth/night.ts';
import { readAll } from './support/truth/readings.ts';

/** How many moments each part of the night has: 200 in all. */
const MOMENTS = {
  reading: 50,
  conflicts: 40,
  outage: 12,
  restart: 20,
  half: 18,
  mapping: 20,
  publication: 20,
  corrected: 20,
};
/** A moment at which something has still happened is taken again, at most so many times. */
const TAKEN_MAX = 20;
/** How many passports a person publishes. */
const PUBLISHED = 500;
const MINUTE_MS = 60_000;

let night: Night;
let visitor: WebVisitor;
const random = seededRandom(16);

async function login(): Promise<void> {
  visitor = await visitWeb(night.served.url, { password: WEB_TOKEN });
}

const booksNow = (): Books => readBooks(join(night.world.folder, 'data/ledger.db'));

/** Compares everything that is shown now with the books. */
async function look(of: string): Promise<void> {
  for (let taken = 1; ; taken += 1) {
    await night.rest(() => JSON.stringify(booksNow()));
    const books = booksNow();
    const counted = { answered: night.answered(), activity: night.activity() };
    const claims = await readAll({
      books,
      visitor,
      configFile: night.world.configFile,
      sources: SOURCES,
      running: night.served.daemon.runtime.pulling(),
      answered: counted.answered,
      // Each run counts what it has stored.
      activity: { ...counted.activity, rows: books.runs.reduce((sum, { read }) => sum + read, 0) },
    });
    const isStill =
      JSON.stringify([books, counted]) ===
      JSON.stringify([booksNow(), { answered: night.answered(), activity: night.activity() }]);
    const wrong = claims.filter(({ shown, is }) => shown !== is);
    if (wrong.length > 0 && !isStill && taken < TAKEN_MAX) continue;
    expect({ of, taken, wrong }).toEqual({ of, taken, wrong: [] });
    return;
  }
}

async function isAtRest(): Promise<boolean> {
  const { runtime } = night.served.daemon;
  return runtime.pulling().length === 0 && !runtime.mapping.busy() && (await runtime.engine.status()).outstanding === 0;
}

/** Looks at so many moments, between which about so many things happen, or some minutes pass. */
async function lookOn(of: keyof typeof MOMENTS, events: number): Promise<void> {
  for (let at = 0; at < MOMENTS[of]; at += 1) {
    const until = night.clock.now() + 5 * MINUTE_MS;
    await night.goOn(Math.ceil(random() * events * 2), async () => night.clock.now() > until || isAtRest());
    await look(`${of} ${at}`);
  }
}

const run = async (...sources: string[]) => {
  for (const source of sources) await night.served.daemon.startRun(source, 'schedule');
};

async function ask(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${WEB_TOKEN}`, 'content-type': 'application/json' };
  const answer = askWeb(night.served.url, `/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect((await answer).status).toBeLessThan(300);
}

// The night takes some minutes, so it is a part of `npm run test:chaos` alone.
describe.skipIf(!IS_FULL)('the figures (needs DPP_SYNC_TEST_CHAOS=full)', () => {
  beforeEach(async () => {
    night = await createNight();
    await login();
  });
  afterEach(() => night.remove());

  it('every figure is what the ledger and the platform have, at random moments of a night', async () => {
    await look('before the first run');
    await run(...SOURCES);
    await lookOn('reading', 300);

    // Some writes are refused with 409, and the answers of some that took effect are lost.
    night.setFaults([
      { operation: 'bom_item.create', kind: 'status', status: 409, probability: 0.02, seed: 1 },
      { operation: 'bom_item.create', kind: 'reset-after', probability: 0.01, seed: 2 },
      { operation: 'material.create', kind: 'status', status: 422, probability: 0.05, seed: 3 },
      { operation: '*', kind: 'status', status: 429, probability: 0.02, seed: 4, retryAfterSeconds: 1 },
    ]);
    await lookOn('conflicts', 600);

    night.setFaults([{ operation: '*', kind: 'reset-before' }]);
    await lookOn('outage', 100);
    night.setFaults([]);

    await night.restart();
    await login();
    await lookOn('restart', 1000);

    // Half of the materials are missing from the export.
    night.exports.materials.splice(0, night.exports.materials.length / 2);
    await run('plm');
    await lookOn('half', 400);
    night.exports.materials = wholeExports().materials;

    night.world.write(
      'names.csv',
      ['key,value', ...night.exports.materials.map(({ CODE }) => `${text(CODE)},New name of ${text(CODE)}`)].join('\n'),
    );
    await run('plm');
    await lookOn('mapping', 400);

    const complete = night.exports.products.filter(({ COUNTRY }, n) => COUNTRY === 'DE' && n % 3 > 0);
    const products = complete.slice(0, PUBLISHED).map(({ SKU }) => text(SKU));
    await ask('operations/publish', { products, waitMs: 0 });
    await lookOn('publication', 60);

    for (const row of night.exports.products) row['COUNTRY'] = 'DE';
    await run('erp');
    await lookOn('corrected', 400);

    await night.goOn(Number.POSITIVE_INFINITY, isAtRest);
    await look('the end');
    const { products: made, materials, publications } = night.world.contents();
    const { facts } = booksNow();
    expect([made.length, materials.length]).toEqual([
      facts['items product delivered'],
      facts['items material delivered'],
    ]);
    expect(publications.filter(({ status }) => status === 'published')).toHaveLength(PUBLISHED);
    expect(facts['passports published']).toBe(PUBLISHED);
  });
});
