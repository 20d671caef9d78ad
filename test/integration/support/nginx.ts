import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { freePort } from '../../support/servers/free-port.ts';
import { hasProgram, startServerProcess } from '../../support/servers/own-process.ts';

const NGINX = '/usr/sbin/nginx';

/** A `describe` that is left out if there is no nginx. */
export const describeNginx = describeWhere({
  isThere: hasProgram(NGINX, '-v'),
  what: 'nginx: install it with `apt-get install nginx-light`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_NGINX',
});

/** What nginx keeps in files, which would otherwise be in folders of the system. */
const FILES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface Nginx {
  url: string;
  /** The log of its errors, to show it after a failure. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts an nginx with one server, from the lines of its `server` block. */
export async function startNginx(lines: string): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-nginx-'));
  const port = await freePort();
  const temporary = FILES.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n');
  const config = join(folder, 'nginx.conf');
  // One process, without a change of the user.
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${join(folder, 'nginx.pid')}; error_log stderr;
events {}
http {
access_log off;
${temporary}
server {
listen 127.0.0.1:${port};
${lines}}
}
`,
  );
  const server = await startServerProcess(NGINX, ['-p', folder, '-e', 'stderr', '-c', config], port);
  return {
    url: `http://127.0.0.1:${port}`,
    output: server.output,
    async stop() {
      await server.stop();
      await removeFolder(folder);
    },
  };
}
