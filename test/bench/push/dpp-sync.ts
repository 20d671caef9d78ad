// dpp-sync: the runtime that the commands use, with its ledger on the disk.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import { openRuntime } from '../../../src/daemon/runtime.ts';
import { connectorLoader } from '../../../src/daemon/sources/load-connector.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { limitHeapGrowth } from '../../../src/lib/lean-heap.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { API_KEY, compete } from '../support/contender.ts';

const PROFILES = join(import.meta.dirname, '../../../config/profiles');

limitHeapGrowth();

await compete(async ({ baseUrl, csv, folder, connections, redisUrl, creates }) => {
  const file = join(folder, 'dpp-sync.yaml');
  const source = {
    id: 'erp',
    connector: 'csv',
    options: { path: csv, key: ['SKU'] },
    mappings: [
      {
        to: 'product',
        key: 'row.SKU',
        fields: { sku: 'row.SKU', name: 'row.NAME', status: '"DRAFT"', country_of_origin: 'country(row.COUNTRY)' },
      },
    ],
  };
  const queue = redisUrl === '' ? 'embedded' : redisUrl;
  writeFileSync(join(folder, 'profile.yaml'), stringify({ extends: 'default', imports: { creates } }));
  const target = { baseUrl, apiKey: API_KEY, profile: './profile.yaml' };
  writeFileSync(file, stringify({ target, queue, ledger: './ledger.db', sources: [source] }));
  const secrets = createSecretStore();
  const config = await loadConfig({ file, env: {}, connectors: connectorLoader, profilesDir: PROFILES, secrets });
  const log = createLogger({ level: 'silent', secrets });
  const options = {
    config,
    command: 'bench',
    showFailedJobs: false,
    secrets,
    clock: systemClock,
    log,
    version: '0.0.0',
    connections: connections === 0 ? undefined : connections,
  };
  const runtime = await openRuntime(options);
  await runtime.startWorkers();
  return async () => {
    const request = { sources: [], waitMs: 60_000, abort: new AbortController().signal };
    const report = await sync(runtime, request, systemClock);
    // Rows in quarantine are no error here, because only the benchmark knows whether it expects some.
    if (exitCodeOf({ ...report, quarantined: 0 }) !== 0) {
      throw new Error(report.fault?.message ?? JSON.stringify(report.items));
    }
  };
});
