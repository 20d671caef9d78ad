// Delivers the items in the ledger of a config twice: first without a free file descriptor, then with free ones. Prints
// both reports as one line of JSON. Run it with a low `ulimit -n`.

import { closeSync, openSync } from 'node:fs';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { openRuntime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { systemCodeOf } from '../../../src/lib/errors.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const secrets = createSecretStore();
const config = await loadRuntimeConfig(process.argv[2] ?? '', secrets);
const log = createRecordingLog();
const common = { command: 'sync', showFailedJobs: false, clock: systemClock, version: '0.0.0' };
const runtime = await openRuntime({ ...common, config, secrets, log });

const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch (error) {
  if (systemCodeOf(error) !== 'EMFILE') throw error;
}
const deliver = (waitMs: number) =>
  sync(runtime, { sources: [], waitMs, abort: new AbortController().signal, pull: false }, systemClock);
const without = await deliver(1500);
for (const descriptor of taken) closeSync(descriptor);
// After a list could not be read, the program waits as long as the failed read took. So this delivery gets a long time.
const restored = await deliver(60_000);
await runtime.close();
const shown = ({ fault, items, requests }: typeof without) => ({
  fault: fault && { code: fault.code, exitCode: fault.exitCode, message: fault.message },
  items,
  requests,
});
const logged = log.lines.filter(({ level }) => level === 'warn' || level === 'error').map(({ message }) => message);
process.stdout.write(`${JSON.stringify({ without: shown(without), restored: shown(restored), logged })}\n`);
