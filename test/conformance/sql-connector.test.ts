// Checks the promises of every connector for the sql connector, on each kind of database that the tests can start.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { sql } from '../../connectors/sql/index.ts';
import { type ConnectorFixtures, connectorChecks } from '../../src/sdk/testing/index.ts';
import { serverFixtures, sqliteFixtures } from '../support/connectors/database-fixtures.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import type { DatabaseServer } from '../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../support/servers/postgres-server.ts';
import { CONTAINER_DATABASES, describeContainers, startContainerDatabase } from './support/container-database.ts';

/** The image of a container may have to be downloaded first. */
const START_MS_MAX = 900_000;
const MODES = [
  ['without a watermark', {}],
  ['with a watermark', { watermark: 'updated_at' }],
] as const;

/** Takes the names of the checks from the fixtures for SQLite, because the samples have the same names for each database. */
function suite(fixturesOf: (watermark: object) => Promise<ConnectorFixtures> | ConnectorFixtures): void {
  describe.each(MODES)('%s', (_name, watermark) => {
    for (const [at, { name }] of connectorChecks(sql, sqliteFixtures(folder, watermark)).entries()) {
      it(name, async () => {
        await connectorChecks(sql, await fixturesOf(watermark))[at]?.run();
      });
    }
  });
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-sql-'));
afterAll(() => removeFolder(folder));

function serverSuite(start: () => Promise<DatabaseServer>): void {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await start();
  }, START_MS_MAX);
  afterAll(() => server.stop());
  suite((watermark) => serverFixtures(server, watermark));
}

describe('the sql connector on SQLite', () => suite((watermark) => sqliteFixtures(folder, watermark)));
describePostgres('the sql connector on PostgreSQL', () => serverSuite(startPostgres));
describeMariaDb('the sql connector on MariaDB', () => serverSuite(startMariaDb));
for (const dialect of CONTAINER_DATABASES) {
  describeContainers(`the sql connector on ${dialect} in a container`, () =>
    serverSuite(() => startContainerDatabase(dialect)),
  );
}
