import { expect } from 'vitest';
import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import { createDaemon, type Daemon, type DaemonOptions } from '../../../src/daemon/daemon.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { openWeb } from '../../../src/web/web-server.ts';
import { createRecordingLog, type RecordingLog } from './recording-log.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export const WEB_TOKEN = 'web-token-0123456789';

/** A source of two products. `status.csv` translates their statuses. */
export const PRODUCTS = {
  source: {
    id: 'erp',
    connector: 'csv',
    options: { path: './products.csv', key: ['SKU'] },
    mappings: [
      {
        to: 'product',
        key: 'row.SKU',
        fields: {
          sku: 'row.SKU',
          name: 'row.NAME',
          status: 'lookup("status.csv", row.STATE)',
          country_of_origin: '"DE"',
        },
      },
    ],
  },
  files: {
    'products.csv': 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,Toaster,20\n',
    /** The API does not know the second status. */
    'status.csv': 'key,value\n10,DRAFT\n20,RETIRED\n',
  },
  fixed: { 'status.csv': 'key,value\n10,DRAFT\n20,ARCHIVED\n' },
} as const;

/** A world with the source of products and a dashboard. */
export function createProductsWorld(options: Partial<WorldOptions> = {}): Promise<World> {
  return createWorld({
    config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
    files: PRODUCTS.files,
    ...options,
  });
}

/**
 * Makes the platform refuse to create a product if its request contains this text, until the faults of the sandbox are
 * cleared. After that a retry succeeds without a changed file. A daemon would read a changed file automatically.
 */
export function refuseCreates({ sandbox }: Pick<World, 'sandbox'>, match: string): void {
  sandbox.faults.add({ operation: 'product.create', match, kind: 'status', status: 422, body: REFUSAL });
}

export const REFUSAL = 'This product is locked at the platform.';

export interface ServedWorld {
  world: World;
  daemon: Daemon;
  log: RecordingLog;
  /** The address of the dashboard, or an empty text where the config has none. */
  url: string;
  /** Stops the daemon and removes the world. */
  remove(): Promise<void>;
}

/** Starts a daemon in this process, with the config of a world. */
export async function startDaemon(world: World, options: Partial<DaemonOptions> = {}): Promise<ServedWorld> {
  const secrets = createSecretStore();
  const config = await loadRuntimeConfig(world.configFile, secrets);
  const log = createRecordingLog();
  const daemon = await createDaemon({
    config,
    secrets,
    clock: systemClock,
    log,
    version: '1.2.3',
    openWeb,
    openAdmin: openAdminChannel,
    ...options,
  });
  return {
    world,
    daemon,
    log,
    url: daemon.url ?? '',
    async remove() {
      await daemon.stop();
      await world.remove();
    },
  };
}

/** Runs a source to its end. */
export async function runSource(daemon: Daemon, source: string): Promise<void> {
  const { runtime } = daemon;
  const last = async () => (await runtime.reads.lastRuns({ source, limit: 1 }))[0]?.id ?? 0;
  const before = await last();
  await daemon.startRun(source, 'schedule');
  await expect.poll(async () => (await last()) > before && !runtime.pulling().includes(source)).toBe(true);
}
