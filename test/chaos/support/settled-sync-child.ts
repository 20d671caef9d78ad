import { openSync, writeSync } from 'node:fs';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { openRuntime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';

/**
 * `node settled-sync-child.ts CONFIG LOG [LINES]` syncs as `dpp-sync sync` does. For each decision of the API, it writes
 * a line into LOG after the ledger has stored the decision. After this many lines it kills itself.
 */
const [configFile = '', logFile = '', lines = 'Infinity'] = process.argv.slice(2);
const secrets = createSecretStore();
const config = await loadRuntimeConfig(configFile, secrets);
const log = createLogger({ level: 'silent', secrets });
const runtime = await openRuntime({
  config,
  command: 'sync',
  showFailedJobs: false,
  secrets,
  clock: systemClock,
  log,
  version: '0.0.0',
});
const logged = openSync(logFile, 'a');
let left = Number(lines);
runtime.bus.subscribe((event) => {
  if (event.type !== 'settled') return;
  const { kind, key, operation, state } = event;
  writeSync(logged, `${JSON.stringify({ kind, key, operation, state })}\n`);
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
});
const abort = new AbortController().signal;
const report = await sync(runtime, { sources: [], waitMs: 10_000, abort }, systemClock);
await runtime.close();
process.exitCode = exitCodeOf(report);
