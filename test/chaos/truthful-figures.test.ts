// A night over 10,000 items, or 20,000 under `npm run test:chaos`, with all that can go wrong. At random moments everything stands still, and each figure that dpp-sync shows
// is compared with plain counts over the tables of the ledger, the requests of the daemon and the content of the sandbox.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askWeb, visitWeb, type WebVisitor } from '../support/browser/web-visitor.ts';
import { text } from '../support/ledger/items.ts';
import { scaled, seededRandom } from '../support/runner/chaos.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { wholeExports } from './support/truth/exports.ts';
import type { Moment } from './support/truth/moment.ts';
import { createNight, type Night, SOURCES } from './support/truth/night.ts';
import { readAll } from './support/truth/readings.ts';

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

const countedNow = () => ({
  books: night.books(),
  answered: night.answered(),
  activity: night.activity(),
  ended: night.ended(),
  speed: night.speed(),
});

/** How often the figures were compared that are only shown at some moments. */
const seen: Moment['seen'] = new Map();
/** The run that was started on a page, and how many deliveries had ended before. */
let task: { path: string; endedBefore: number } | null = null;

/** Compares everything that is shown now with the books. */
async function look(of: string): Promise<void> {
  for (let taken = 1; ; taken += 1) {
    await night.rest();
    const counted = countedNow();
    const { books, answered, activity, ended, speed } = counted;
    const isTaskOpen = task !== null && (await taskState(task.path)) === 'running';
    const claims = await readAll({
      books,
      visitor,
      configFile: night.world.configFile,
      sources: SOURCES,
      running: night.served.daemon.runtime.pulling(),
      answered,
      speed,
      task: task === null || !isTaskOpen ? null : { path: task.path, ended: ended - task.endedBefore },
      seen,
      // Each run counts what it has stored.
      activity: { ...activity, rows: books.runs.reduce((sum, { read }) => sum + read, 0) },
    });
    const wrong = claims.filter(({ shown, is }) => shown !== is);
    if (wrong.length > 0 && JSON.stringify(counted) !== JSON.stringify(countedNow()) && taken < TAKEN_MAX) continue;
    expect({ of, taken, wrong }).toEqual({ of, taken, wrong: [] });
    return;
  }
}

async function isAtRest(): Promise<boolean> {
  const { runtime } = night.served.daemon;
  return runtime.pulling().length === 0 && !runtime.mapping.busy() && (await runtime.engine.status()).outstanding === 0;
}

/** Looks at so many moments, between which about so many things happen, or some minutes pass. Half of both is enough for the slice. */
async function lookOn(moments: number, events: number): Promise<void> {
  for (let at = 0; at < scaled(moments / 2, moments); at += 1) {
    const until = night.clock.now() + 5 * MINUTE_MS;
    await night.goOn(Math.ceil(random() * events * 2), async () => night.clock.now() > until || isAtRest());
    await look(`moment ${at}`);
  }
}

const run = async (...sources: string[]) => {
  for (const source of sources) await night.served.daemon.startRun(source, 'schedule');
};

/** Starts a run on its page, as a person does. */
async function startOnPage(source: string): Promise<void> {
  const endedBefore = night.ended();
  const { status, headers } = await visitor.post('/runs/start', { source });
  expect(status).toBe(303);
  task = { path: headers.location ?? '', endedBefore };
}

async function taskState(path: string): Promise<string> {
  return /<span class="badge \w+">([^<]*)</.exec((await visitor.get(path)).body)?.[1] ?? '';
}

async function ask(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${WEB_TOKEN}`, 'content-type': 'application/json' };
  const answer = askWeb(night.served.url, `/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect((await answer).status).toBeLessThan(300);
}

// 100 moments of one night, or 200, a test for each of its parts.
describe('every figure is what the ledger and the platform have', () => {
  beforeAll(async () => {
    night = await createNight();
    await login();
  });
  afterAll(() => night.remove());

  it('while the exports are read for the first time', async () => {
    await look('before the first run');
    await run(...SOURCES);
    await lookOn(50, 300);
  });

  it('while writes are refused, and answers of some that took effect are lost', async () => {
    night.setFaults([
      { operation: 'bom_item.create', kind: 'status', status: 409, probability: 0.02, seed: 1 },
      { operation: 'bom_item.create', kind: 'reset-after', probability: 0.01, seed: 2 },
      { operation: 'material.create', kind: 'status', status: 422, probability: 0.05, seed: 3 },
      { operation: '*', kind: 'status', status: 429, probability: 0.02, seed: 4, retryAfterSeconds: 1 },
    ]);
    await lookOn(40, 600);
  });

  it('during an outage of the platform', async () => {
    night.setFaults([{ operation: '*', kind: 'reset-before' }]);
    await lookOn(12, 100);
    night.setFaults([]);
  });

  it('after a restart', async () => {
    await night.restart();
    await login();
    await lookOn(20, 1000);
  });

  it('while the guard holds an export that lacks half of the materials', async () => {
    night.exports.materials.splice(0, night.exports.materials.length / 2);
    await run('plm');
    await lookOn(18, 400);
    night.exports.materials = wholeExports().materials;
  });

  it('while a changed lookup table makes all materials new', async () => {
    night.world.write(
      'names.csv',
      ['key,value', ...night.exports.materials.map(({ CODE }) => `${text(CODE)},New name of ${text(CODE)}`)].join('\n'),
    );
    await run('plm');
    await lookOn(20, 400);
  });

  it('while a person publishes 500 passports', async () => {
    const complete = night.exports.products.filter(({ COUNTRY }, n) => COUNTRY === 'DE' && n % 3 > 0);
    const products = complete.slice(0, PUBLISHED).map(({ SKU }) => text(SKU));
    await ask('operations/publish', { products, waitMs: 0 });
    await lookOn(20, 60);
  });

  it('while corrected rows are read and sent', async () => {
    for (const row of night.exports.products) row['COUNTRY'] = 'DE';
    await startOnPage('erp');
    // Few rows were corrected, so the run ends soon.
    await look('a run has begun');
    await lookOn(20, 60);
  });

  it('when all has come to its end', async () => {
    await night.goOn(Number.POSITIVE_INFINITY, isAtRest);
    await look('the end');
    const { products: made, materials, publications } = night.world.contents();
    const { facts } = night.books();
    expect([made.length, materials.length]).toEqual([
      facts['items product delivered'],
      facts['items material delivered'],
    ]);
    expect(publications.filter(({ status }) => status === 'published')).toHaveLength(PUBLISHED);
    expect(facts['passports published']).toBe(PUBLISHED);
    for (const figure of ['latency', 'usual latency', 'time left', 'task'] as const) {
      expect([figure, (seen.get(figure) ?? 0) > 0]).toEqual([figure, true]);
    }
  });
});
