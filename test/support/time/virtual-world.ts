import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { z } from 'zod';
import type { ApiHealth } from '../../../src/delivery/admission/api-health.ts';
import { createDelivery } from '../../../src/delivery/create-delivery.ts';
import type { Engine } from '../../../src/delivery/engine.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate } from '../../../src/delivery/rate/request-gate.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { Item } from '../../../src/domain/item.ts';
import type { Encode } from '../../../src/domain/ports/deliveries.ts';
import type { PlatformReader, SentWrite, Target } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { items, text } from '../ledger/items.ts';
import { openLedger, plainEncode, plainEncodeImport } from '../ledger/ledger.ts';
import { REVISIONS } from '../ledger/ledger-revisions.ts';
import { pullAndMap, row } from '../ledger/records.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { seededRandom } from '../runner/chaos.ts';
import { createRecordingLog } from '../worlds/recording-log.ts';
import { createPlainQueues } from './plain-queues.ts';
import { syncedBySqlite } from './synced-by-sqlite.ts';
import { createVirtualTime, type VirtualTime } from './virtual-time.ts';

/** A request that the model of the API gets. */
export interface ModelRequest {
  what: 'write' | 'list' | 'ping';
  sku: string | null;
  at: number;
}

/**
 * The failure of a request to the model; null if it succeeds. With `landed` the write takes effect although the request
 * fails.
 */
export type ModelFailure = { outcome: Outcome; landed?: boolean; tookMs?: number } | null;

/** The real engine over a real ledger and a model of the API, in virtual time. */
export interface VirtualWorld {
  time: VirtualTime;
  ledger: SqliteLedger;
  health: ApiHealth;
  engine: Engine;
  /** Every request, in order. */
  requests: ModelRequest[];
  /** How many times each product was created, by SKU. */
  created: Map<string, number>;
  /** When each product was created first. */
  createdAt: Map<string, number>;
  /** Decides how each further request fails. */
  failing: (request: ModelRequest) => ModelFailure;
  /** Encodes each further write when it is claimed. */
  encode: Encode;
  /** The item of the row with this key, from now on. By default it is a product with the key as its SKU. */
  itemOf: (key: string) => Item;
  /** Decides whether the list contains a created product, from now on. */
  shows: (sku: string) => boolean;
  /** Stages one item for each key. */
  stage(keys: readonly string[]): Promise<void>;
  /** The number of attempts of each product's last delivery, by key. */
  attempts(): Record<string, number>;
  /** The number of products in each state. */
  states(): Record<string, number>;
  remove(): Promise<void>;
}

const LATENCY_MS = 20;
const unread = () => Promise.reject(new Error('Nobody reads this here.'));
const NO_READER: PlatformReader = {
  publications: async () => ({ complete: true, count: null }),
  reports: unread,
  passportPdf: unread,
  createReport: unread,
};

export async function createVirtualWorld(options: {
  profile?: z.input<typeof Profile>;
  seed?: number;
}): Promise<VirtualWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-virtual-'));
  const time = createVirtualTime();
  // The API of this world has no bulk import.
  const { imports, ...settings } = options.profile ?? {};
  const profile = Profile.parse({ ...settings, imports: { creates: 'off', ...imports } });
  const random = seededRandom(options.seed ?? 1);
  const requests: ModelRequest[] = [];
  const created = new Map<string, number>();
  const createdAt = new Map<string, number>();
  const ids = new Map<string, number>();

  async function request(what: ModelRequest['what'], sku: string | null): Promise<ModelFailure> {
    const one = { what, sku, at: time.now() };
    requests.push(one);
    const failure = world.failing(one);
    await time.sleep(failure?.tookMs ?? LATENCY_MS);
    return failure;
  }

  function create(sku: string): number {
    created.set(sku, (created.get(sku) ?? 0) + 1);
    if (!createdAt.has(sku)) createdAt.set(sku, time.now());
    const id = ids.get(sku) ?? ids.size + 1;
    ids.set(sku, id);
    return id;
  }

  const target: Target = {
    encode: plainEncode,
    encodeImport: plainEncodeImport,
    async send({ body }: SentWrite) {
      const { sku: name, code, position } = JSON.parse(body ?? '{}') as JsonObject;
      const sku = text(name ?? code ?? position);
      const failure = await request('write', sku);
      if (failure?.landed) create(sku);
      const outcome: Outcome = failure?.outcome ?? { kind: 'accepted', evidence: 'echo', remoteId: create(sku) };
      return { outcome, latencyMs: LATENCY_MS };
    },
    async list(_kind, onPage) {
      const failure = await request('list', null);
      if (failure) return { complete: false, outcome: failure.outcome };
      await onPage(
        [...ids]
          .filter(([sku]) => world.shows(sku))
          .map(([naturalKey, remoteId]) => ({ remoteId, naturalKey, fields: { sku: naturalKey } })),
        '',
      );
      return { complete: true, count: null };
    },
    count: async () => ({ ok: true, count: null }),
    async ping() {
      const failure = await request('ping', null);
      return failure?.outcome ?? { kind: 'accepted', evidence: 'echo', remoteId: null };
    },
    probe: () => Promise.reject(new Error('Nobody probes here.')),
    rereadKey: async () => false,
    close: async () => undefined,
  };
  const ledger = openLedger(join(folder, 'ledger.db'), {
    openLog: syncedBySqlite,
    profile,
    encode: (write) => world.encode(write),
    clock: time,
  });
  const { engine, health } = createDelivery({
    ledger,
    queues: createPlainQueues(),
    target,
    reader: NO_READER,
    profile,
    clock: time,
    random,
    emit: () => undefined,
    log: createRecordingLog(),
    scrub: (text) => text,
    connections: 32,
    gate: createRequestGate(createLearntRate(null, random), time),
    assumesEmpty: false,
    ownPublishKey: false,
    failedJobs: null,
    isStaging: () => false,
    eachRound: async () => undefined,
  });
  const staged: string[] = [];
  const world: VirtualWorld = {
    time,
    ledger,
    health,
    engine,
    requests,
    created,
    createdAt,
    failing: () => null,
    encode: plainEncode,
    itemOf: (key) => ({ kind: 'product', key, payload: { sku: key, name: key }, refs: [] }),
    shows: () => true,
    async stage(keys) {
      staged.push(...keys);
      await pullAndMap(
        ledger,
        staged.map((key) => row(key)),
        ({ id }) => {
          const key = text(id);
          return items(world.itemOf(key));
        },
      );
      engine.wake();
    },
    attempts() {
      const db = new Database(join(folder, 'ledger.db'), { readonly: true });
      const rows = db
        .prepare<[], [string, number]>(
          `SELECT i.key, d.attempts FROM ${REVISIONS} d JOIN items i ON i.id = d.item_id ORDER BY d.revision`,
        )
        .raw()
        .all();
      db.close();
      return Object.fromEntries(rows);
    },
    states: () => ledger.views.itemCounts().product ?? {},
    async remove() {
      const stopped = engine.stop();
      await time.pass(120_000);
      await stopped;
      await ledger.close();
      await removeFolder(folder);
    },
  };
  await engine.start();
  return world;
}
