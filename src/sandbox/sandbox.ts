import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { type Fault, messageOf } from '../lib/errors.ts';
import { createAdmission } from './access/admission.ts';
import { createKeyStore, createSessionStore } from './access/keys.ts';
import { ENDPOINTS } from './api/endpoints.ts';
import { createControlServer, type Steering } from './control/control-server.ts';
import { createInspection, type SandboxStatistics } from './control/inspection.ts';
import { createFaults } from './faults/faults.ts';
import { withLies } from './lies/lies.ts';
import { approvePassport } from './operations/passports.ts';
import { createLateImports, createProductImport } from './operations/product-import.ts';
import { createOperations } from './operations.ts';
import { createSchemaPages } from './schema/openapi.ts';
import { createHttpServer } from './server/http-server.ts';
import { createProcessor } from './server/processor.ts';
import { createStyle, withRequestEnvelope } from './server/style.ts';
import { type Lies, type SandboxOptions, SandboxSettings } from './settings/settings.ts';
import { lockStorage, type StorageLock } from './storage/database.ts';
import { createIdempotencyStore } from './storage/idempotency.ts';
import { createJournal } from './storage/journal.ts';
import { sandboxFault } from './storage/sandbox-faults.ts';
import { openStorage, type Storage } from './storage/storage.ts';

/** A server of the Enterprise Passport Integration API, to develop, try and test against. */
export interface Sandbox extends Steering {
  /**
   * Begins to serve. With port 0 the system chooses a free port. Returns the base URL, without a slash at its end.
   *
   * @throws Fault if the server cannot listen at the address.
   */
  listen(options?: { port?: number; host?: string }): Promise<string>;
  /**
   * Begins to serve the control endpoint, only on loopback: faults, contents, statistics, organisations, keys and
   * tokens. Returns its base URL.
   *
   * @throws Fault if the server cannot listen at the port.
   */
  listenControl(options?: { port?: number }): Promise<string>;
  /**
   * Ends delays and the drawing of long documents, lets other requests finish, closes connections and the storage.
   * Calling it twice is harmless.
   */
  close(): Promise<void>;
}

/** How long a closing sandbox waits for clients whose requests are in progress. */
const CLOSE_GRACE_MS = 2000;

/**
 * Builds a sandbox. It shares no code with the client about the API, so that tests find a mistake of the client.
 *
 * @throws Fault when the storage cannot be used; ZodError when a setting is wrong.
 */
export async function createSandbox(options: SandboxOptions, { clock }: { clock: Clock }): Promise<Sandbox> {
  const settings = SandboxSettings.parse(options);
  const storage = openStorage(settings);
  const { database, ids, organizations, collections, writeCounts } = storage;
  const lock = lockOrClose(storage, settings);
  const keys = createKeyStore(database, organizations, ids);
  const sessions = createSessionStore(database, organizations);
  const lateImports = createLateImports(storage);
  const honest = createOperations({ collections, ids, keys, settings, lateImports });
  const toldWith = (lies: Lies) => withRequestEnvelope(withLies(honest, lies, { collections, ids }), settings.requests);
  const operations = toldWith(settings.lies);

  const admission = createAdmission(keys, sessions, settings.rateLimit);
  const faults = createFaults(settings.faults);
  const journal = createJournal(settings.eventsMax);
  const closing = new AbortController();
  const processRequest = createProcessor({
    storage,
    operations,
    lateImports,
    idempotency: createIdempotencyStore(storage.records, settings.idempotencyReplays),
    idempotencyMode: settings.idempotency,
    faults,
    clock,
    closing: closing.signal,
  });
  const server = createHttpServer({
    admission,
    process: processRequest,
    scopeOf: (operation) => (operation === 'report.create' ? settings.reportCreateScope : ENDPOINTS[operation].scope),
    style: createStyle(settings),
    pages: createSchemaPages(operations, settings),
    journal,
    refusesConnection: (now) => faults.refusesConnection(now),
    clock,
    bodyBytesMax: settings.bodyBytesMax,
    closing: closing.signal,
  });
  const inspection = createInspection({
    collections,
    organizations,
    keys,
    journal,
    writeCounts,
    faults,
    storeDue: () => lateImports.storeDue(clock.now()),
  });
  let told = settings.lies;
  const tell = (): void => void Object.assign(operations, toldWith(told));
  let closed: Promise<void> | undefined;
  let atTheEnd: SandboxStatistics | undefined;
  const steering: Steering = {
    issueKey: (request) => keys.issue(request, clock.now()),
    ensureKey: (request) => keys.ensure(request, clock.now()),
    revokeKey: (id) => keys.revoke(id, clock.now()),
    openSession: (request) => sessions.open(request, clock.now()),
    setPlan(organization, plan) {
      organizations.setPlan(organization, plan);
      keys.forget();
    },
    setRateLimit: (limit) => admission.setRateLimit(limit),
    setLies(lies) {
      told = SandboxSettings.parse({ ...settings, lies }).lies;
      tell();
    },
    setImport(options) {
      const { import: changed } = SandboxSettings.parse({ ...settings, import: options });
      honest['product.import'] = createProductImport(collections.products, { settings: changed, lateImports });
      tell();
    },
    approvePassport(organization, sku) {
      const organizationId = organizations.find(organization);
      return organizationId !== undefined && approvePassport(collections, { organizationId, sku, now: clock.now() });
    },
    faults,
    statistics: () => atTheEnd ?? inspection.statistics(),
    inspect: () => inspection.snapshot(),
  };
  const control = createControlServer({ ...steering, organizations, keys });
  await server.ready();

  const close = async (): Promise<void> => {
    closing.abort();
    const grace = setTimeout(() => server.server.closeAllConnections(), CLOSE_GRACE_MS);
    try {
      await Promise.all([server.close(), control.close()]);
    } finally {
      clearTimeout(grace);
      try {
        atTheEnd = inspection.statistics();
      } finally {
        database.close();
        lock.release();
      }
    }
  };
  return {
    async listen({ port = 0, host = '127.0.0.1' } = {}) {
      try {
        // For a name with several addresses Fastify would open additional servers, which an outage could not affect.
        const { address } = await lookup(host);
        await server.listen({ port, host: address });
      } catch (error) {
        throw listenFault(`${host}:${port}`, '--port', error);
      }
      return baseUrlOf(server.server.address() as AddressInfo);
    },
    async listenControl({ port = 0 } = {}) {
      try {
        return baseUrlOf(await control.listen(port));
      } catch (error) {
        throw listenFault(`127.0.0.1:${port}`, '--control-port', error);
      }
    },
    close: () => (closed ??= close()),
    ...steering,
  };
}

/**
 * A file is locked only after it was recognised as that of a sandbox, so that no lock file is made beside another
 * program's file.
 */
function lockOrClose({ database }: Storage, { storage }: SandboxSettings): StorageLock {
  try {
    return lockStorage(storage);
  } catch (error) {
    database.close();
    throw error;
  }
}

function listenFault(address: string, option: '--port' | '--control-port', error: unknown): Fault {
  return sandboxFault('sandbox.listen', `The sandbox cannot listen on ${address}: ${messageOf(error)}.`, {
    suggestion: `Choose another port with \`${option}\`; 0 takes a free one.`,
    cause: error,
  });
}

/** The address for a client on this machine. A server that listens at all addresses is reached over loopback. */
function baseUrlOf({ address, port }: AddressInfo): string {
  if (address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (address === '::') return `http://[::1]:${port}`;
  return address.includes(':') ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
