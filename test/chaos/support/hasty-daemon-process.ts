import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import { runDaemon } from '../../../src/daemon/daemon.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { openWeb } from '../../../src/web/web-server.ts';
import { HASTY_TIMING } from '../../support/servers/hasty-timing.ts';

/** `dpp-sync start` with locks on its jobs that last half a second: `node hasty-daemon-process.ts … CONFIG`. */
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const secrets = createSecretStore();
const config = await loadRuntimeConfig(process.argv.at(-1) ?? '', secrets);
process.exitCode = await runDaemon({
  config,
  secrets,
  clock: systemClock,
  log: createLogger({ level: 'info', secrets }),
  version: '1.2.3',
  openWeb,
  openAdmin: openAdminChannel,
  queueTiming: HASTY_TIMING,
  signal: stop.signal,
  onReady: () => process.stdout.write('{}\n'),
});
