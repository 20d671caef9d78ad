// A night of a daemon over thousands of items, which stands still whenever a test wants to look at it.
//
// Three things move it, and a test holds all of them: the clock of dpp-sync, the answers of the platform, and the pages of the
// exports. What has begun then comes to its end, and nothing else happens until the night goes on.

import { join } from 'node:path';
import { setTimeout as passes } from 'node:timers/promises';
import type { FaultRule } from '../../../../src/sandbox/faults/faults.ts';
import { createManualClock } from '../../../support/time/manual-clock.ts';
import { type ServedWorld, startDaemon, WEB_TOKEN } from '../../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../../support/worlds/world.ts';
import { openBooks } from './books.ts';
import { CONNECTOR, serveExports, wholeExports } from './exports.ts';
import { createSpeedBook } from './speed.ts';

const STEP_MS = 50;
const STEP_MS_MAX = 2000;
/** Counts are kept for at most this long. */
const KEPT_MS = 31_000;
const REST_STEPS = 10;
/** The states in which a task counts a delivery as ended. */
const ENDED = new Set(['delivered', 'blocked', 'rejected', 'parked']);
const HOLD: FaultRule = { operation: '*', kind: 'latency', ms: 3_600_000 };

/** The sources, in the order of the config. */
export const SOURCES = ['erp', 'plm', 'bom'];

const source = (id: string, stream: string, url: string, key: string[], mapping: object) => ({
  id,
  connector: './paged.mjs',
  options: { url },
  streams: { [stream]: { key } },
  mappings: [{ stream, ...mapping }],
  guard: { maxMissing: '20%', maxDrop: '40%' },
});

const sources = (url: string) => [
  source('erp', 'products', url, ['SKU'], {
    to: 'product',
    key: 'row.SKU',
    fields: { sku: 'row.SKU', name: 'row.NAME', status: '"ACTIVE"', country_of_origin: 'country(row.COUNTRY)' },
  }),
  source('plm', 'materials', url, ['CODE'], {
    to: 'material',
    key: 'row.CODE',
    fields: {
      code: 'row.CODE',
      name: 'lookup("names.csv", row.CODE, row.NAME)',
      recycled_mass_fraction: 'decimal(row.SHARE)',
    },
  }),
  source('bom', 'boms', url, ['SKU', 'POS'], {
    to: 'bom_item',
    key: 'row.SKU + "/" + row.POS',
    refs: { product: 'row.SKU', material: 'row.PART' },
    fields: { quantity: 'decimal(row.QTY)', unit: '"KGM"' },
  }),
];

export type Night = Awaited<ReturnType<typeof createNight>>;

export async function createNight() {
  const exports = wholeExports();
  const server = await serveExports(exports);
  const clock = createManualClock(Date.UTC(2027, 2, 3, 1, 0));
  const world: World = await createWorld({
    clock,
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: sources(server.url),
      passports: { init: 'when-complete', publish: 'manual' },
      alerts: { when: {} },
    },
    profile: { timeouts: { headersMs: 600_000 } },
    files: { 'paged.mjs': CONNECTOR, 'names.csv': 'key,value\nM-1,First material\n' },
    sandbox: {
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    },
  });
  // The workers of the queue renew their jobs by the clock of the machine, which is slower than the clock of the night.
  const options = { clock, queueTiming: { lockMs: 24 * 3_600_000, stalledCheckMs: 24 * 3_600_000 } };
  let served: ServedWorld = await startDaemon(world, options);
  const books = openBooks(join(world.folder, 'data/ledger.db'));
  let faults: FaultRule[] = [];
  let isHeld = false;
  let events = 0;
  const done = { requests: 0, refused: 0, delivered: 0, failed: 0 };
  const speed = createSpeedBook(clock);
  let answered = 0;
  /** How many deliveries have ended since the ledger is new. */
  let ended = 0;
  let stopAt = Number.POSITIVE_INFINITY;

  function watch(): void {
    answered = 0;
    served.daemon.runtime.bus.subscribe((event) => {
      events += 1;
      speed.observe(event);
      if (event.type === 'request') {
        answered += 1;
        done.requests += 1;
        if (event.outcome === 'throttled') done.refused += 1;
      }
      if (event.type === 'settled') {
        if (event.state === 'delivered') done.delivered += 1;
        if (ENDED.has(event.state)) ended += 1;
        if (['blocked', 'rejected', 'parked'].includes(event.state) && !event.failedAgain) done.failed += 1;
      }
      if (events >= stopAt) hold();
    });
  }
  watch();

  function hold(): void {
    if (isHeld) return;
    isHeld = true;
    server.hold();
    world.sandbox.faults.add(HOLD);
  }

  function goOn(): void {
    isHeld = false;
    server.release();
    world.endLatency();
    for (const rule of faults) world.sandbox.faults.add(rule);
  }

  /** Lets time go on while something ends. */
  async function through<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = () => {
      ended = true;
    };
    void work.then(end, end);
    while (!ended) {
      clock.advance(STEP_MS);
      await passes(1);
    }
    return work;
  }

  return {
    world,
    exports,
    clock,
    books: books.read,
    /** What was counted since the ledger is new. */
    activity: () => ({ ...done }),
    /** How many requests of this daemon have ended. */
    answered: () => answered,
    ended: () => ended,
    speed: () => speed.read(),
    /**
     * Waits until what had begun has come to its end. Then so much time passes that no page shows an answer that was kept from
     * before.
     */
    async rest() {
      let before = '';
      for (let same = 0; same < 2; ) {
        for (let step = 0; step < REST_STEPS; step += 1) {
          clock.advance(KEPT_MS / REST_STEPS);
          await passes(1);
        }
        const now = JSON.stringify([books.glance(), answered, server.held()]);
        same = now === before ? same + 1 : 0;
        before = now;
      }
    },
    get served() {
      return served;
    },
    /** What the platform does wrong from now on. */
    setFaults(rules: FaultRule[]) {
      faults = rules;
    },
    /** Lets the night go on until so many more events were reported, or `isDone`. Then everything is held. */
    async goOn(count: number, isDone: () => boolean | Promise<boolean>) {
      stopAt = events + count;
      goOn();
      for (let step = STEP_MS, seen = events; !isHeld && !(await isDone()); seen = events) {
        clock.advance(step);
        await passes(1);
        // Where nothing happens, time goes faster.
        step = events === seen ? Math.min(2 * step, STEP_MS_MAX) : STEP_MS;
      }
      hold();
    },
    /** Ends the daemon and starts another one on its ledger. */
    async restart() {
      goOn();
      stopAt = Number.POSITIVE_INFINITY;
      await through(served.daemon.stop());
      speed.begin();
      served = await startDaemon(world, options);
      watch();
    },
    async remove() {
      goOn();
      books.close();
      await through(served.remove());
      await server.close();
    },
  };
}
