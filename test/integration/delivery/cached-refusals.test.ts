import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { changed, SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

interface Sent {
  path: string;
  body: string | null;
  key: string;
}

/** Keeps the requests that the ledger forgets: those that are answered for good. */
function keepRequests(): void {
  const db = new Database(ledgerFile());
  db.exec(`CREATE TABLE kept_requests AS SELECT * FROM requests;
    CREATE TRIGGER keep_requests BEFORE DELETE ON requests BEGIN
      INSERT INTO kept_requests SELECT * FROM requests WHERE id = old.id;
    END`);
  db.close();
}

const ledgerFile = (): string => join(world.folder, 'data/ledger.db');

/** The last request of an operation that has this text in its path or body. */
function lastSent(operation: string, about: string): Sent {
  const db = new Database(ledgerFile(), { readonly: true });
  try {
    const row = db
      .prepare<[{ operation: string; about: string }], Sent>(
        `SELECT path, body, idempotency_key AS key FROM kept_requests
         WHERE operation = @operation AND instr(path || coalesce(body, ''), @about) > 0 ORDER BY id DESC LIMIT 1`,
      )
      .get({ operation, about });
    if (!row) throw new Error(`no ${operation} was sent about ${about}`);
    return row;
  } finally {
    db.close();
  }
}

/** The refused request of the one product whose passport may not be published. */
function refusedPublish(): Sent {
  const product = world.contents().products.find(({ sku }) => text(sku) === 'SKU-P1');
  return lastSent('passport.publish', `/${JSON.stringify(product?.['id'])}/`);
}

/** The last refused request of the one product that is created with a wrong status. */
const refusedCreate = (): Sent => lastSent('product.create', '"SKU-P1"');

/** Sends the same once more with the same key, as a client would that does not end a revision. */
async function sendAgain({ path, body, key }: Sent) {
  const response = await fetch(`${world.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': API_KEY,
      'idempotency-key': key,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body,
  });
  await response.text();
  return { status: response.status, replayed: response.headers.get('idempotent-replayed') };
}

async function given(options: {
  export?: SmallExport;
  idempotency: 'honoured' | 'publish-only';
  publish: 'auto' | 'manual';
}): Promise<void> {
  const { idempotency, publish } = options;
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish } },
    files: smallFiles(options.export ?? SMALL),
    sandbox: {
      idempotency,
      gates: { materialData: { enabled: false }, review: { enabled: true, match: 'SKU-P1' } },
    },
    profile: idempotency === 'honoured' ? { idempotency } : {},
  });
  const runtime = await world.open();
  await runtime.close();
  keepRequests();
}

async function working<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await work(runtime);
}

/** Delivers what the ledger has, without a pull. */
const deliver = (runtime: Runtime) =>
  sync(runtime, { sources: [], waitMs: 10_000, abort: new AbortController().signal, pull: false }, systemClock);

const published = () => world.contents().publications.map(({ sku }) => text(sku));

describe('a platform that repeats its refusal for a key', () => {
  it(
    'a platform that repeats its refusal for a key publishes when a person asks again, once the business rule allows it',
    covers(['cached-refusal', 'gate'], 'I2', 'I6'),
    async () => {
      await given({ idempotency: 'publish-only', publish: 'manual' });
      await world.sync();
      const asked = { products: ['SKU-P1'], status: 'published' as const };
      await working(async (runtime) => {
        await runtime.ledger.askForPassports(asked);
        expect((await deliver(runtime)).passports).toEqual({ blocked: 1, initialized: 2 });
        world.sandbox.approvePassport('acme', 'SKU-P1');
        const refused = refusedPublish();
        expect(await sendAgain(refused)).toEqual({ status: 409, replayed: 'true' });
        await runtime.ledger.askForPassports(asked);
        expect((await deliver(runtime)).passports).toEqual({ published: 1, initialized: 2 });
        expect(await sendAgain(refused)).toEqual({ status: 409, replayed: 'true' });
      });
      expect(published()).toEqual(['SKU-P1']);
    },
  );

  it(
    'a platform that repeats its refusal for a key publishes after a replay, once the business rule allows it',
    covers(['cached-refusal', 'gate'], 'I2', 'I6'),
    async () => {
      await given({ idempotency: 'honoured', publish: 'auto' });
      expect((await world.sync()).passports).toEqual({ blocked: 1, published: 2 });
      world.sandbox.approvePassport('acme', 'SKU-P1');
      expect(await sendAgain(refusedPublish())).toEqual({ status: 409, replayed: 'true' });
      await working(async (runtime) => {
        const selection = { states: ['blocked'] as const, sources: [], keys: [], deliveryIds: [] };
        await runtime.replay({ selection, force: false, dryRun: false });
        expect((await deliver(runtime)).passports).toEqual({ published: 3 });
      });
      expect(published().toSorted()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
    },
  );

  it(
    'a platform that repeats its refusal for a key creates the refused items after the mapping is corrected, and those that were right all along',
    covers('cached-refusal', 'I2', 'I6'),
    async () => {
      await given({
        export: changed('products', 'P1', { status: 'NONSENSE' }),
        idempotency: 'honoured',
        publish: 'manual',
      });
      await world.sync();
      const refused = refusedCreate();
      expect(await sendAgain(refused)).toEqual({ status: 400, replayed: 'true' });
      const selection = { states: ['rejected'] as const, sources: [], keys: [], deliveryIds: [] };
      await working(async (runtime) => {
        // Nothing has changed. The request is sent again all the same, with a new key, so that the answer is a new one.
        await runtime.replay({ selection, force: false, dryRun: false });
        expect((await deliver(runtime)).items.product).toEqual({ delivered: 2, rejected: 1 });
        expect(refusedCreate().body).toBe(refused.body);
        expect(refusedCreate().key).not.toBe(refused.key);
      });
      const config = readFileSync(world.configFile, 'utf8');
      world.write('dpp-sync.yaml', config.replace('status: row.STATUS', `status: '"DRAFT"'`));
      await working(async (runtime) => {
        await runtime.replay({ selection, force: false, dryRun: false });
        const report = await deliver(runtime);
        expect(report.items).toEqual({
          product: { delivered: 3 },
          material: { delivered: 2 },
          bom_item: { delivered: 4 },
        });
        expect(exitCodeOf(report)).toBe(0);
      });
      expect(
        world
          .contents()
          .products.map(({ sku }) => text(sku))
          .toSorted(),
      ).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3']);
    },
  );
});
