import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OTHER_USER } from '../../support/machine/as-another-user.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { freePort } from '../../support/servers/free-port.ts';
import { hasProgram, startServerProcess } from '../../support/servers/own-process.ts';
import { hasPostgres } from '../../support/servers/postgres-server.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';

/** A `describe` that is skipped if there is no PostgreSQL or no PgBouncer. */
export const describePgBouncer = describeWhere({
  isThere: hasPostgres && hasProgram(PGBOUNCER, '--version'),
  what: 'a PostgreSQL server and PgBouncer: install them with `apt-get install postgresql pgbouncer`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_PGBOUNCER',
});

/** Starts a pooler before a PostgreSQL server. It has one session, and gives it to whichever client begins a transaction. */
export async function startPgBouncer({ port: serverPort, password }: DatabaseServer) {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-pgbouncer-'));
  const as = process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${serverPort} user=reader password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
`,
  );
  if (as.uid !== undefined) for (const path of [folder, file]) await chown(path, as.uid, as.gid);
  const server = await startServerProcess(PGBOUNCER, [file], port, as);
  return {
    port,
    async stop(): Promise<void> {
      await server.stop('SIGINT');
      await removeFolder(folder);
    },
  };
}
