import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../machine/remove-folder.ts';
import { describeWhere } from '../runner/describe-where.ts';
import { freePort } from './free-port.ts';
import { hasProgram, startServerProcess } from './own-process.ts';

const SSHD = '/usr/sbin/sshd';

/** A `describe` that is skipped if there is no OpenSSH server. */
export const describeSftp = describeWhere({
  isThere: hasProgram(SSHD, '-V'),
  what: 'an OpenSSH server: install it with `apt-get install openssh-server`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_SFTP',
});

export interface SftpTestServer {
  port: number;
  /** The folder of the files. It has the same path on the server. */
  files: string;
  user: string;
  privateKey: string;
  /** The fingerprint of the server's key. */
  hostKey: string;
  stop: () => Promise<void>;
}

/** Starts an OpenSSH server on a free port, with new keys and a new folder. The user of the tests can log in. */
export async function startSftpServer(): Promise<SftpTestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-sshd-'));
  const files = join(folder, 'files');
  await mkdir(files);
  for (const name of ['host', 'user']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  }
  // If OpenSSH runs as root, it needs this folder.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const port = await freePort();
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(folder, 'host')}`,
    `AuthorizedKeysFile ${join(folder, 'user.pub')}`,
    `PidFile ${join(folder, 'pid')}`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PasswordAuthentication yes',
    'Subsystem sftp internal-sftp',
  ];
  await writeFile(join(folder, 'config'), `${config.join('\n')}\n`);
  const server = await startServerProcess(SSHD, ['-D', '-e', '-f', join(folder, 'config')], port);
  const fingerprint = execFileSync('ssh-keygen', ['-l', '-E', 'sha256', '-f', join(folder, 'host.pub')], {
    encoding: 'utf8',
  });
  return {
    port,
    files,
    user: userInfo().username,
    privateKey: readFileSync(join(folder, 'user'), 'utf8'),
    hostKey: fingerprint.split(' ')[1] ?? '',
    async stop() {
      await server.stop();
      await removeFolder(folder);
    },
  };
}
