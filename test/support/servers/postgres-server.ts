import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { OTHER_USER } from '../machine/as-another-user.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { describeWhere } from '../runner/describe-where.ts';
import { makeCertificates } from './certificates.ts';
import type { DatabaseServer } from './database-server.ts';
import { freePort } from './free-port.ts';
import { startServerProcess } from './own-process.ts';

const POSTGRES = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted().at(-1) ?? null;

export const hasPostgres = POSTGRES !== null;

/** A `describe` that is skipped if there is no PostgreSQL. */
export const describePostgres = describeWhere({
  isThere: hasPostgres,
  what: 'a PostgreSQL server: install it with `apt-get install postgresql`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_POSTGRESQL',
});

const SUPERUSER = 'owner';
const OWNER_PASSWORD = 'the-password-of-the-owner';
const PASSWORD = 'the-password-of-the-reader';

/**
 * Starts PostgreSQL on a free port with a new folder. It runs as a user without rights, because PostgreSQL refuses to
 * run as root.
 */
export async function startPostgres(): Promise<DatabaseServer> {
  if (POSTGRES === null) throw new Error('There is no PostgreSQL.');
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-postgres-'));
  const data = join(folder, 'data');
  const as = process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  await writeFile(join(folder, 'password'), OWNER_PASSWORD);
  const { ca, certFile, keyFile } = makeCertificates(folder);
  if (as.uid !== undefined) {
    for (const path of [folder, join(folder, 'password'), certFile, keyFile]) await chown(path, as.uid, as.gid);
  }
  const setup = [
    '-D',
    data,
    '-U',
    SUPERUSER,
    '--auth=scram-sha-256',
    '--pwfile',
    join(folder, 'password'),
    '--no-sync',
  ];
  execFileSync(join(dirname(POSTGRES), 'initdb'), [...setup, '--encoding=UTF8', '--locale=C.UTF-8'], {
    ...as,
    cwd: folder,
    stdio: 'pipe',
  });
  const port = await freePort();
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: certFile,
    ssl_key_file: keyFile,
  };
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const server = await startServerProcess(POSTGRES, args, port, as);
  const owner = await untilLoggedIn(port);
  const run = async (text: string): Promise<void> => void (await owner.query(text));
  await run(`CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}'`);
  await run('GRANT pg_read_all_data TO reader');
  return {
    dialect: 'postgresql',
    port,
    ca,
    password: PASSWORD,
    options: {
      dialect: 'postgresql',
      host: '127.0.0.1',
      port,
      database: 'postgres',
      user: 'reader',
      password: PASSWORD,
    },
    run,
    async ask(text) {
      const { rows } = await owner.query<unknown[]>({ text, rowMode: 'array' });
      return rows;
    },
    endConnections: () => run("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'reader'"),
    kill: () => server.kill(),
    async stop() {
      await owner.end().catch(() => {});
      // At SIGTERM it would wait for its clients.
      await server.stop('SIGINT');
      // The children of a killed server end a moment after it, and may write a file until then.
      await removeFolder(folder);
    },
  };
}

/** The port answers a moment before the server accepts logins. */
async function untilLoggedIn(port: number): Promise<Client> {
  for (;;) {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: SUPERUSER,
      password: OWNER_PASSWORD,
      database: 'postgres',
      ssl: false,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      const isStarting = error instanceof Error && 'code' in error && error.code === '57P03';
      if (!isStarting) throw error;
    }
  }
}
