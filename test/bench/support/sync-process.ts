import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as LoadConfig from '../../../src/config/load-config.ts';
import type * as OpenRuntime from '../../../src/daemon/runtime.ts';
import type * as LoadConnector from '../../../src/daemon/sources/load-connector.ts';
import type * as Sync from '../../../src/daemon/sync.ts';
import type * as SystemClock from '../../../src/lib/clock.ts';
import type * as LeanHeap from '../../../src/lib/lean-heap.ts';
import type * as Logging from '../../../src/lib/logging/logging.ts';
import type * as Secrets from '../../../src/lib/logging/secrets.ts';
import type * as Causes from '../../../src/observe/standing.ts';

// One sync of a checkout: `node sync-process.ts CHECKOUT CONFIG` prints what it used, as JSON. The modules are those of the
// checkout, so that two checkouts can be compared.

const [checkout = '', file = ''] = process.argv.slice(2);
const from = async (path: string): Promise<unknown> => import(pathToFileURL(join(checkout, 'src', path)).href);

const { loadConfig } = (await from('config/load-config.ts')) as typeof LoadConfig;
const { openRuntime } = (await from('daemon/runtime.ts')) as typeof OpenRuntime;
const { connectorLoader } = (await from('daemon/sources/load-connector.ts')) as typeof LoadConnector;
// Older checkouts have the exit code beside the sync.
const parts: unknown = Object.assign({}, await from('observe/standing.ts'), await from('daemon/sync.ts'));
const { exitCodeOf, sync } = parts as typeof Causes & typeof Sync;
const { systemClock } = (await from('lib/clock.ts')) as typeof SystemClock;
const { limitHeapGrowth } = (await from('lib/lean-heap.ts')) as typeof LeanHeap;
const { createLogger } = (await from('lib/logging/logging.ts')) as typeof Logging;
const { createSecretStore } = (await from('lib/logging/secrets.ts')) as typeof Secrets;

limitHeapGrowth();
const secrets = createSecretStore();
const profilesDir = join(checkout, 'config/profiles');
const config = await loadConfig({ file, env: {}, connectors: connectorLoader, profilesDir, secrets });
const runtime = await openRuntime({
  config,
  command: 'bench',
  showFailedJobs: false,
  secrets,
  clock: systemClock,
  log: createLogger({ level: 'silent', secrets }),
  version: '0.0.0',
});
await runtime.startWorkers();
const begun = performance.now();
const before = process.cpuUsage();
const abort = new AbortController().signal;
const report = await sync(runtime, { sources: [], waitMs: 60_000, abort }, systemClock);
const { user, system } = process.cpuUsage(before);
const ms = performance.now() - begun;
const { maxRSS } = process.resourceUsage();
await runtime.close();
if (exitCodeOf(report) !== 0) throw new Error(report.fault?.message ?? JSON.stringify(report.items));
process.stdout.write(`${JSON.stringify({ ms, cpuMs: (user + system) / 1000, peakMb: maxRSS / 1024 })}\n`);
