import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { OTHER_USER } from '../machine/as-another-user.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { describeWhere } from '../runner/describe-where.ts';
import { makeCertificates } from './certificates.ts';
import type { DatabaseServer } from './database-server.ts';
import { freePort } from './free-port.ts';
import { startServerProcess } from './own-process.ts';

const MARIADB = ['/usr/sbin/mariadbd', '/usr/sbin/mysqld'].find(existsSync) ?? null;

/** A `describe` that is skipped if there is no MariaDB. */
export const describeMariaDb = describeWhere({
  isThere: MARIADB !== null,
  what: 'a MariaDB server: install it with `apt-get install mariadb-server`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_MARIADB',
});

const PASSWORD = 'the-password-of-the-reader';
const OWNER_PASSWORD = 'the-password-of-the-owner';
const USERS = `
CREATE DATABASE shop CHARACTER SET utf8mb4;
CREATE USER owner@'%' IDENTIFIED BY '${OWNER_PASSWORD}';
GRANT ALL ON *.* TO owner@'%' WITH GRANT OPTION;
CREATE USER reader@'%' IDENTIFIED BY '${PASSWORD}';
GRANT SELECT ON shop.* TO reader@'%';
`;

/** Starts MariaDB on a free port with a new folder, as a user without rights. */
export async function startMariaDb(): Promise<DatabaseServer> {
  if (MARIADB === null) throw new Error('There is no MariaDB.');
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-mariadb-'));
  const data = join(folder, 'data');
  const as = process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  await mkdir(data);
  await writeFile(join(folder, 'users.sql'), USERS);
  const { ca, certFile, keyFile } = makeCertificates(folder);
  if (as.uid !== undefined) {
    for (const path of [folder, data, join(folder, 'users.sql'), certFile, keyFile]) await chown(path, as.uid, as.gid);
  }
  execFileSync(
    'mariadb-install-db',
    ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
    // Two of these programs at once would remove each other's temporary tables.
    { ...as, cwd: folder, env: { ...process.env, TMPDIR: folder }, stdio: 'pipe' },
  );
  const port = await freePort();
  const settings = {
    datadir: data,
    port,
    'bind-address': '127.0.0.1',
    socket: join(folder, 'socket'),
    'pid-file': join(folder, 'pid'),
    'init-file': join(folder, 'users.sql'),
    'innodb-flush-log-at-trx-commit': 0,
    'innodb-buffer-pool-size': '64M',
    'ssl-cert': certFile,
    'ssl-key': keyFile,
  };
  const args = ['--no-defaults', ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)];
  const server = await startServerProcess(MARIADB, args, port, as);
  const owner = await createConnection({
    host: '127.0.0.1',
    port,
    user: 'owner',
    password: OWNER_PASSWORD,
    database: 'shop',
    rowsAsArray: true,
  });
  owner.on('error', () => {});
  const ask = async (text: string): Promise<unknown[][]> => {
    const [rows] = await owner.query(text);
    return Array.isArray(rows) ? (rows as unknown[][]) : [];
  };
  const run = async (text: string): Promise<void> => void (await ask(text));
  return {
    dialect: 'mariadb',
    port,
    ca,
    password: PASSWORD,
    options: { dialect: 'mariadb', host: '127.0.0.1', port, database: 'shop', user: 'reader', password: PASSWORD },
    run,
    ask,
    async endConnections() {
      for (const [id] of await ask("SELECT id FROM information_schema.processlist WHERE user = 'reader'")) {
        // The connection may have ended by itself.
        await run(`KILL ${String(id)}`).catch(() => {});
      }
    },
    kill: () => server.kill(),
    async stop() {
      owner.destroy();
      await server.stop();
      await removeFolder(folder);
    },
  };
}
