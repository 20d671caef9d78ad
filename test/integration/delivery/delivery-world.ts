import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { createApiClient } from '../../../src/api/api-client.ts';
import { createDelivery } from '../../../src/delivery/create-delivery.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate } from '../../../src/delivery/rate/request-gate.ts';
import { IMPORT_USES, type ImportProof, type ImportProofs } from '../../../src/domain/delivery/import-proof.ts';
import type { DueDelivery } from '../../../src/domain/ports/deliveries.ts';
import type { ContactRules } from '../../../src/domain/ports/ledger/contact-ledger.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { items, text } from '../../support/ledger/items.ts';
import { NO_CONTACT, openLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { createPlainQueues } from '../../support/time/plain-queues.ts';
import { createWakeableClock } from '../../support/time/wakeable-clock.ts';
import { requestsSince } from '../../support/worlds/requests-since.ts';
import { API_KEY } from '../../support/worlds/world.ts';

type Settings = z.input<typeof Profile>;

const QUICK: Settings = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 10, timeout: 10 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 10 } },
};

/** Imports of any size have proven themselves with each form of the sandbox's answers. */
export const PROVEN = {
  state: 'proven',
  size: 10_000,
  answersIds: true,
  form: [
    'counted as created',
    'counted as updated',
    'errors: object',
    'id: number',
    'index: number',
    'sku: string',
    'status = created',
    'status = updated',
    'status: string',
  ],
} as const satisfies ImportProof;

/** Ledger, delivery path and sandbox over real HTTP, without a queue between them. */
export interface DeliveryWorld {
  baseUrl: string;
  sandbox: Sandbox;
  ledger: SqliteLedger;
  /** The events since the ledger was opened. */
  events: ProgressEvent[];
  /** Stages products by id, each with only the given fields. */
  stage(products: Record<string, JsonObject>): Promise<void>;
  /** Sends these deliveries once, and settles them. */
  send(due: readonly DueDelivery[]): Promise<void>;
  /** Delivers and reads back until all automatic work is done. */
  drain(): Promise<void>;
  /** Closes the ledger and opens it again, as a new process does, with another profile if one is given. */
  reopen(settings?: Settings): Promise<void>;
  /** The products in the sandbox, by SKU. */
  products(): Record<string, JsonObject>;
  /** The names of the products in the sandbox, by SKU. */
  names(): Record<string, string>;
  /** The number of requests since the last call, by operation. */
  requests(): Record<string, number>;
  /** Ends the latency of the requests that the sandbox has received. */
  endLatency(): void;
  remove(): Promise<void>;
}

export async function createDeliveryWorld(options: {
  sandbox?: SandboxOptions;
  profile?: Settings;
  contact?: ContactRules;
  /** What imports have proven before; nothing by default. */
  proofs?: Partial<ImportProofs>;
}): Promise<DeliveryWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-delivery-'));
  const sandboxClock = createWakeableClock();
  const sandbox = await createSandbox(options.sandbox ?? {}, { clock: sandboxClock });
  sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['read', 'write'], key: API_KEY });
  const baseUrl = await sandbox.listen();
  const never = new AbortController().signal;

  async function storeProofs(ledger: SqliteLedger): Promise<void> {
    for (const use of IMPORT_USES) {
      const proof = options.proofs?.[use];
      if (proof !== undefined) await ledger.storeImportProof(use, proof);
    }
  }

  let isFirst = true;
  async function open(settings: Settings) {
    const profile = Profile.parse({ ...QUICK, ...settings });
    const secrets = createSecretStore();
    const log = createLogger({ level: 'silent', secrets });
    const apiKey = { read: () => Promise.resolve(API_KEY) };
    const gate = createRequestGate(createLearntRate(null, Math.random), systemClock);
    const tools = { secrets, pacing: gate, clock: systemClock, log };
    const client = createApiClient({ baseUrl, profile, apiKey, ...tools, version: '0.0.0' });
    const { target, reader } = client;
    const ledger = openLedger(join(folder, 'ledger.db'), {
      target: baseUrl,
      profile,
      contactRules: options.contact ?? NO_CONTACT,
      encode: target.encode.bind(target),
      encodeImport: target.encodeImport.bind(target),
    });
    await ledger.recover(profile.settlingDelayMs.reset);
    if (isFirst) await storeProofs(ledger);
    isFirst = false;
    const events: ProgressEvent[] = [];
    const delivery = createDelivery({
      ledger,
      queues: createPlainQueues(),
      target,
      reader,
      profile,
      clock: systemClock,
      random: Math.random,
      emit: (event) => void events.push(event),
      log,
      scrub: (text) => text,
      connections: 8,
      gate,
      assumesEmpty: false,
      ownPublishKey: false,
      failedJobs: null,
      isStaging: () => false,
      eachRound: async () => undefined,
    });
    delivery.path.start();
    return { ledger, target, events, delivery };
  }

  let parts = await open(options.profile ?? {});
  const world: DeliveryWorld = {
    baseUrl,
    sandbox,
    get ledger() {
      return parts.ledger;
    },
    get events() {
      return parts.events;
    },
    async stage(products) {
      const rows = Object.entries(products).map(([id, fields]) => row(id, fields));
      await pullAndMap(parts.ledger, rows, ({ id, ...fields }) => {
        const key = text(id);
        return items({ kind: 'product', key, payload: { sku: `SKU-${key}`, name: key, ...fields }, refs: [] });
      });
    },
    async send(due) {
      const { window } = parts.delivery;
      window.receive(due, false);
      while (window.size() > 0) await systemClock.sleep(1, never);
    },
    async drain() {
      for (;;) {
        const due = await parts.ledger.dueDeliveries({ afterId: 0, limit: 1000 });
        await world.send(due);
        const looked = await parts.delivery.unconfirmed.resolve(never);
        const moved = await parts.delivery.contact.advance(never);
        if (due.length > 0 || looked > 0 || moved) continue;
        const next = await parts.ledger.nextDueAt();
        if (next === null) return;
        await systemClock.sleep(Math.max(1, next - systemClock.now()), never);
      }
    },
    async reopen(settings) {
      await parts.delivery.path.stop();
      await parts.target.close();
      await parts.ledger.close();
      parts = await open(settings ?? options.profile ?? {});
    },
    products() {
      const listed = sandbox.inspect().organizations['acme']?.products ?? [];
      return Object.fromEntries(listed.map((product) => [text(product['sku']), product]));
    },
    names: () => Object.fromEntries(Object.entries(world.products()).map(([sku, { name }]) => [sku, text(name)])),
    requests: requestsSince(sandbox),
    endLatency: () => sandboxClock.wake(),
    async remove() {
      await parts.delivery.path.stop();
      await parts.target.close();
      await parts.ledger.close();
      await sandbox.close();
      await removeFolder(folder);
    },
  };
  return world;
}
