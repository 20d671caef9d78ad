// `node killed-apply-child.ts CONFIG CALLS plan FILE` applies a plan as `dpp-sync sync --plan` does, and with `accept SOURCE` it approves the
// held run of a source as `sync --accept` does. It kills itself at the call with this number. Calls are the events of the process, and each request before its first byte, after its last byte, and at its answer.

import { subscribe } from 'node:diagnostics_channel';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { openRuntime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';

const [configFile = '', calls = '', how = '', of = ''] = process.argv.slice(2);
const secrets = createSecretStore();
const config = await loadRuntimeConfig(configFile, secrets);
const log = createLogger({ level: 'silent', secrets });
const clock = systemClock;
const runtime = await openRuntime({
  config,
  command: 'sync',
  showFailedJobs: false,
  secrets,
  clock,
  log,
  version: '0.0.0',
});
let left = Number(calls);
function count(): void {
  left -= 1;
  if (left < 0) process.kill(process.pid, 'SIGKILL');
}
runtime.bus.subscribe(count);
for (const channel of ['undici:client:sendHeaders', 'undici:request:bodySent', 'undici:request:headers'])
  subscribe(channel, count);
const abort = new AbortController().signal;
const asked = how === 'plan' ? { sources: [], plan: of } : { sources: [of], accept: [of] };
const report = await sync(runtime, { ...asked, waitMs: 10_000, abort }, clock);
await runtime.close();
process.exitCode = exitCodeOf(report);
