import type { AddressInfo } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import { createAdmission } from './admission.ts';
import { BOM_ITEM_COLUMNS, createBomItemCreation } from './bom-items.ts';
import { createCollection } from './collection.ts';
import { openDatabase } from './database.ts';
import type { OperationName } from './endpoints.ts';
import { createFaults, type Faults } from './faults.ts';
import { createHttpServer } from './http-server.ts';
import { createIdempotencyStore } from './idempotency.ts';
import { createIdScheme, type ResourceId } from './ids.ts';
import { createInspection, type SandboxSnapshot } from './inspection.ts';
import { createJournal } from './journal.ts';
import { createKeyStore, type IssuedKey, type KeyRequest, type Plan } from './keys.ts';
import { createMaterialCreation, createMaterialUpdate, MATERIAL_COLUMNS } from './materials.ts';
import type { Operation } from './operation.ts';
import { createListOperation } from './paging.ts';
import { createProcessor } from './processor.ts';
import { createProductCreation, PRODUCT_COLUMNS } from './products.ts';
import { type RateLimit, type SandboxOptions, SandboxSettings } from './settings.ts';

/** A server of the Enterprise Passport Integration API, to develop, try and test against. */
export interface Sandbox {
  /**
   * Begins to serve; port 0 takes a free one. Returns the base URL, without a slash at its end.
   *
   * @throws Fault when the address cannot be had.
   */
  listen(options?: { port?: number; host?: string }): Promise<string>;
  /** Ends delays, lets requests finish, closes connections and the storage. Calling it twice is harmless. */
  close(): Promise<void>;
  /** Creates a random key. Its full value is not stored and cannot be had again. */
  issueKey(request: KeyRequest): IssuedKey;
  /** Makes a key of the caller's choice work, now and after a restart on the same file. */
  ensureKey(request: KeyRequest & { key: string }): IssuedKey;
  /** False when there is no such key. */
  revokeKey(id: ResourceId): boolean;
  /** Only `enterprise` may use the API; the other plan gets 402. */
  setPlan(organization: string, plan: Plan): void;
  setRateLimit(limit: RateLimit): void;
  faults: Faults;
  /** What is stored and what happened. It reads everything: not for a hot path. */
  inspect(): SandboxSnapshot;
}

/** How long a closing sandbox waits for clients that are in the middle of a request. */
const CLOSE_GRACE_MS = 2000;

/**
 * Builds a sandbox. It imports nothing of the client's reading of the API, so that a mistake there shows here.
 *
 * @throws Fault when the storage cannot be used; ZodError when a setting is wrong.
 */
export async function createSandbox(options: SandboxOptions, { clock }: { clock: Clock }): Promise<Sandbox> {
  const settings = SandboxSettings.parse(options);
  const database = openDatabase(settings);
  const ids = createIdScheme(settings.ids);
  const products = createCollection(database, ids, { table: 'product', columns: PRODUCT_COLUMNS });
  const materials = createCollection(database, ids, { table: 'material', columns: MATERIAL_COLUMNS });
  const bomItems = createCollection(database, ids, { table: 'bom_item', columns: BOM_ITEM_COLUMNS });
  const operations: Record<OperationName, Operation> = {
    'product.list': createListOperation(products, settings),
    'product.create': createProductCreation(products),
    'material.list': createListOperation(materials, settings),
    'material.create': createMaterialCreation(materials),
    'material.update': createMaterialUpdate(materials, ids),
    'bom_item.create': createBomItemCreation({ products, materials, bomItems }, ids),
  };

  const keys = createKeyStore(database, ids);
  const admission = createAdmission(keys, settings.rateLimit);
  const faults = createFaults(settings.faults);
  const journal = createJournal(database, settings.eventsMax);
  const closing = new AbortController();
  const processRequest = createProcessor({
    database,
    operations,
    idempotency: createIdempotencyStore(database, settings.idempotencyRetentionMs),
    idempotencyMode: settings.idempotency,
    faults,
    journal,
    clock,
    closing: closing.signal,
  });
  const server = createHttpServer({
    admission,
    process: processRequest,
    journal,
    clock,
    bodyBytesMax: settings.bodyBytesMax,
    closing: closing.signal,
  });
  await server.ready();

  const close = async (): Promise<void> => {
    closing.abort();
    const grace = setTimeout(() => server.server.closeAllConnections(), CLOSE_GRACE_MS);
    try {
      await server.close();
    } finally {
      clearTimeout(grace);
      database.close();
    }
  };
  let closed: Promise<void> | undefined;

  return {
    async listen({ port = 0, host = '127.0.0.1' } = {}) {
      try {
        await server.listen({ port, host });
      } catch (error) {
        throw new Fault('sandbox.listen', 3, `The sandbox cannot listen on ${host}:${port}: ${messageOf(error)}.`, {
          suggestion: 'Choose another port; 0 takes a free one.',
          cause: error,
        });
      }
      return baseUrlOf(server.server.address() as AddressInfo);
    },
    close: () => (closed ??= close()),
    issueKey: (request) => keys.issue(request, clock.now()),
    ensureKey: (request) => keys.ensure(request, clock.now()),
    revokeKey: (id) => keys.revoke(id, clock.now()),
    setPlan: (organization, plan) => keys.setPlan(organization, plan),
    setRateLimit: (limit) => admission.setRateLimit(limit),
    faults,
    inspect: createInspection({ database, collections: { products, materials, bomItems }, keys, journal, faults }),
  };
}

/** An address that a client on this machine can use: one that listens everywhere is reached over loopback. */
function baseUrlOf({ address, port }: AddressInfo): string {
  if (address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (address === '::') return `http://[::1]:${port}`;
  return address.includes(':') ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
