import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import { openRuntime, type Runtime, type RuntimeOptions } from '../../../src/daemon/runtime.ts';
import { connectorLoader } from '../../../src/daemon/sources/load-connector.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import type { LogLevel } from '../../../src/lib/logging/logging.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { OrganizationSnapshot } from '../../../src/sandbox/control/inspection.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { createWakeableClock } from '../time/wakeable-clock.ts';
import { requestsSince } from './requests-since.ts';

export const API_KEY = 'dpp_test0123456789abcdefghij';
const PROFILES = join(import.meta.dirname, '../../../config/profiles');

export interface WorldOptions {
  /** The `sources` section, and all other settings that differ from the default config. */
  config: Record<string, unknown>;
  sandbox?: SandboxOptions;
  /** Further settings of the `target` section. */
  target?: Record<string, unknown>;
  queue?: string;
  /** The clock of dpp-sync. The sandbox uses the clock of the machine. */
  clock?: Clock;
  /** The files in the folder, by relative path. */
  files?: Record<string, string | Uint8Array>;
  /** The changes of a profile that extends the default one. */
  profile?: Record<string, unknown>;
}

/** A folder with a config and exports, a sandbox over real HTTP, and everything between them. */
export interface World {
  folder: string;
  configFile: string;
  baseUrl: string;
  sandbox: Sandbox;
  write(path: string, content: string | Uint8Array): void;
  /** Writes files by their paths. */
  writeAll(files: Record<string, string | Uint8Array>): void;
  open(options?: Pick<RuntimeOptions, 'readsApart'>): Promise<Runtime & AsyncDisposable>;
  /** Opens everything, syncs once, closes everything. */
  sync(options?: { waitMs?: number; abort?: AbortSignal; accept?: string[] }): Promise<SyncReport>;
  contents(): OrganizationSnapshot;
  /** The names of the products at the platform, sorted. */
  productNames(): string[];
  /** The number of requests since the last call, by operation. */
  requests(): Record<string, number>;
  /** Clears the faults of the sandbox, and ends the latency of the requests that the sandbox has received. */
  endLatency(): void;
  remove(): Promise<void>;
}

export async function createWorld(options: WorldOptions): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-world-'));
  const sandboxClock = createWakeableClock();
  const sandbox = await createSandbox(options.sandbox ?? {}, { clock: sandboxClock });
  sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['read', 'write', 'publish'], key: API_KEY });
  const baseUrl = await sandbox.listen();
  const clock = options.clock ?? systemClock;
  const configFile = join(folder, 'dpp-sync.yaml');

  const write = (path: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  if (options.profile) write('profile.yaml', stringify({ extends: 'default', ...options.profile }));
  write(
    'dpp-sync.yaml',
    stringify({
      target: {
        baseUrl,
        apiKey: API_KEY,
        ...(options.profile ? { profile: './profile.yaml' } : {}),
        ...options.target,
      },
      queue: options.queue ?? 'embedded',
      ledger: './data/ledger.db',
      ...options.config,
    }),
  );
  const writeAll: World['writeAll'] = (files) => {
    for (const [path, content] of Object.entries(files)) write(path, content);
  };
  writeAll(options.files ?? {});

  const world: World = {
    folder,
    configFile,
    baseUrl,
    sandbox,
    write,
    writeAll,
    async open(options = {}) {
      const secrets = createSecretStore();
      const config = await loadConfig({
        file: configFile,
        env: { DPP_BASE_URL: baseUrl, DPP_API_KEY: API_KEY },
        connectors: connectorLoader,
        profilesDir: PROFILES,
        secrets,
      });
      const log = createLogger({ level: logLevel(), secrets });
      const runtime = await openRuntime({
        config,
        command: 'sync',
        showFailedJobs: false,
        secrets,
        clock,
        log,
        version: '0.0.0',
        ...options,
      });
      return Object.assign(runtime, { [Symbol.asyncDispose]: () => runtime.close() });
    },
    async sync({ waitMs = 10_000, abort = new AbortController().signal, accept = [] } = {}) {
      await using runtime = await world.open();
      return await sync(runtime, { sources: [], accept, waitMs, abort }, clock);
    },
    contents: () => sandbox.inspect().organizations['acme'] as OrganizationSnapshot,
    productNames: () => (world.contents().products as { name: string }[]).map(({ name }) => name).toSorted(),
    requests: requestsSince(sandbox),
    endLatency() {
      sandbox.faults.clear();
      sandboxClock.wake();
    },
    async remove() {
      await sandbox.close();
      await removeFolder(folder);
    },
  };
  return world;
}

function logLevel(): LogLevel {
  return process.env['DPP_SYNC_TEST_LOG'] === undefined ? 'silent' : 'debug';
}
