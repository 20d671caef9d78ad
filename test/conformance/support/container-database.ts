import { setTimeout as delay } from 'node:timers/promises';
import mssql from 'mssql';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';

const READY_WITHIN_MS = WAIT_MS;
/** SQL Server asks for a password with upper case, lower case and digits. */
const OWNER_PASSWORD = 'The-Passw0rd-of-the-owner';
const PASSWORD = 'The-Passw0rd-of-the-reader';

/** A user who may do everything, on a separate connection. */
interface Owner {
  ask(text: string): Promise<unknown[][]>;
  close(): Promise<void>;
}

interface Kind {
  image: string;
  port: number;
  database: string;
  environment: Record<string, string>;
  login(host: string, port: number): Promise<Owner>;
  /** The statements that make the user `reader`. */
  users: readonly string[];
  /** A query for the connections of `reader`. */
  connections: string;
  end: (id: string) => string;
}

const MYSQL: Omit<Kind, 'image' | 'environment'> = {
  port: 3306,
  database: 'shop',
  async login(host, port) {
    const user = { user: 'root', password: OWNER_PASSWORD, database: 'shop' };
    const connection = await createConnection({ host, port, ...user, rowsAsArray: true });
    connection.on('error', () => {});
    return {
      async ask(text) {
        const [rows] = await connection.query(text);
        return Array.isArray(rows) ? (rows as unknown[][]) : [];
      },
      close: async () => connection.destroy(),
    };
  },
  users: [`CREATE USER reader@'%' IDENTIFIED BY '${PASSWORD}'`, "GRANT SELECT ON shop.* TO reader@'%'"],
  connections: "SELECT id FROM information_schema.processlist WHERE user = 'reader'",
  end: (id) => `KILL ${id}`,
};

const KINDS: Readonly<Record<DatabaseServer['dialect'], Kind>> = {
  postgresql: {
    image: 'postgres:17-alpine',
    port: 5432,
    database: 'postgres',
    environment: { POSTGRES_PASSWORD: OWNER_PASSWORD },
    async login(host, port) {
      const user = { user: 'postgres', password: OWNER_PASSWORD, database: 'postgres' };
      const client = new Client({ host, port, ...user, ssl: false });
      client.on('error', () => {});
      await client.connect();
      return {
        ask: async (text) => (await client.query<unknown[]>({ text, rowMode: 'array' })).rows,
        close: () => client.end(),
      };
    },
    users: [`CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}'`, 'GRANT pg_read_all_data TO reader'],
    connections: "SELECT pid FROM pg_stat_activity WHERE usename = 'reader'",
    end: (id) => `SELECT pg_terminate_backend(${id}, 10000)`,
  },
  mariadb: {
    ...MYSQL,
    image: 'mariadb:11.4',
    environment: { MARIADB_ROOT_PASSWORD: OWNER_PASSWORD, MARIADB_DATABASE: 'shop' },
  },
  mysql: {
    ...MYSQL,
    image: 'mysql:8.4',
    environment: { MYSQL_ROOT_PASSWORD: OWNER_PASSWORD, MYSQL_DATABASE: 'shop' },
  },
  sqlserver: {
    image: 'mcr.microsoft.com/mssql/server:2022-latest',
    port: 1433,
    database: 'shop',
    environment: { ACCEPT_EULA: 'Y', MSSQL_SA_PASSWORD: OWNER_PASSWORD },
    async login(server, port) {
      const user = { user: 'sa', password: OWNER_PASSWORD };
      const options = { encrypt: false, trustServerCertificate: true };
      // A pool of one connection, so that USE counts for all later statements.
      const pool = new mssql.ConnectionPool({
        server,
        port,
        ...user,
        options,
        pool: { min: 1, max: 1 },
        arrayRowMode: true,
      });
      pool.on('error', () => {});
      await pool.connect();
      return {
        async ask(text) {
          const { recordset } = (await pool.request().batch(text)) as unknown as { recordset?: unknown[][] };
          return recordset ?? [];
        },
        close: () => pool.close(),
      };
    },
    users: [
      'CREATE DATABASE shop',
      `CREATE LOGIN reader WITH PASSWORD = '${PASSWORD}', DEFAULT_DATABASE = shop`,
      'USE shop',
      'CREATE USER reader FOR LOGIN reader',
      'ALTER ROLE db_datareader ADD MEMBER reader',
    ],
    connections: "SELECT session_id FROM sys.dm_exec_sessions WHERE login_name = 'reader'",
    end: (id) => `KILL ${id}`,
  },
};

export const CONTAINER_DATABASES = Object.keys(KINDS) as DatabaseServer['dialect'][];

const isDockerThere = await getContainerRuntimeClient().then(
  () => true,
  () => false,
);

/** A `describe` that is skipped if there is no Docker. */
export const describeContainers = describeWhere({
  isThere: isDockerThere,
  what: 'Docker, to run a database server in a container',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_DOCKER',
});

/** Starts a database server in a separate container. Its certificate cannot be trusted. */
export async function startContainerDatabase(dialect: DatabaseServer['dialect']): Promise<DatabaseServer> {
  const kind = KINDS[dialect];
  const container = await new GenericContainer(kind.image)
    .withEnvironment(kind.environment)
    .withExposedPorts(kind.port)
    .withStartupTimeout(READY_WITHIN_MS)
    .start();
  // `localhost` may be resolved to an IPv6 address, where the port is not open.
  const host = container.getHost() === 'localhost' ? '127.0.0.1' : container.getHost();
  const port = container.getMappedPort(kind.port);
  const owner = await untilLoggedIn(() => kind.login(host, port));
  const run = async (text: string): Promise<void> => void (await owner.ask(text));
  for (const text of kind.users) await run(text);
  const reader = { user: 'reader', password: PASSWORD, database: kind.database };
  return {
    dialect,
    port,
    ca: '',
    password: PASSWORD,
    options: { dialect, host, port, ...reader, tls: 'off' },
    run,
    ask: (text) => owner.ask(text),
    async endConnections() {
      for (const [id] of await owner.ask(kind.connections)) {
        // The connection may have ended by itself.
        await run(kind.end(String(id))).catch(() => {});
      }
    },
    kill: async () => void (await container.stop({ remove: false, timeout: 0 })),
    async stop() {
      await owner.close().catch(() => {});
      await container.stop();
    },
  };
}

/** The port answers before the server accepts logins. */
async function untilLoggedIn(login: () => Promise<Owner>): Promise<Owner> {
  const end = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      return await login();
    } catch (error) {
      if (Date.now() > end) throw error;
      await delay(500);
    }
  }
}
