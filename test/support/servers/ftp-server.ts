import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../machine/remove-folder.ts';
import { describeWhere } from '../runner/describe-where.ts';
import { makeCertificates } from './certificates.ts';
import { freePort } from './free-port.ts';
import { hasProgram, startServerProcess } from './own-process.ts';

const PROFTPD = '/usr/sbin/proftpd';

/** A `describe` that is skipped if there is no ProFTPD. */
export const describeFtp = describeWhere({
  isThere: hasProgram(PROFTPD, '-v'),
  what: 'ProFTPD with TLS: install it with `apt-get install proftpd-core proftpd-mod-crypto`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_FTP',
});

export interface FtpTestServer {
  port: number;
  /** The folder of the files on this machine; clients see it as `/`. */
  files: string;
  user: string;
  password: string;
  /** The certificate of the authority that has signed the certificate of the server. */
  ca: string;
  stop: () => Promise<void>;
}

/**
 * Starts ProFTPD on a free port, with one user. With `explicit` it uses TLS after `AUTH TLS`, with `implicit` from the
 * start.
 *
 * @param directives further lines of its config
 */
export async function startFtpServer(
  tls: 'none' | 'explicit' | 'implicit',
  directives: readonly string[] = [],
): Promise<FtpTestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-ftp-'));
  const files = join(folder, 'files');
  await mkdir(files);
  const { uid, gid, username } = userInfo();
  const password = 'sesame-of-the-test';
  const hash = execFileSync('openssl', ['passwd', '-6', password], { encoding: 'utf8' }).trim();
  await writeFile(join(folder, 'users'), `exporter:${hash}:${uid}:${gid}::${files}:/bin/false\n`, { mode: 0o600 });
  const { ca, certFile, keyFile } = makeCertificates(folder);
  const port = await freePort();
  const group = execFileSync('id', ['-gn'], { encoding: 'utf8' }).trim();
  const config = [
    ...(tls === 'none' ? [] : ['LoadModule mod_tls.c']),
    'ServerType standalone',
    'DefaultAddress 127.0.0.1',
    'SocketBindTight on',
    `Port ${port}`,
    `User ${username}`,
    `Group ${group}`,
    'RootLogin on',
    'RequireValidShell off',
    'AuthOrder mod_auth_file.c',
    `AuthUserFile ${join(folder, 'users')}`,
    'DefaultRoot ~',
    'AllowOverwrite on',
    'UseReverseDNS off',
    'WtmpLog off',
    'TransferLog none',
    `SystemLog ${join(folder, 'log')}`,
    `PidFile ${join(folder, 'pid')}`,
    `ScoreboardFile ${join(folder, 'scoreboard')}`,
    'DelayEngine off',
    ...directives,
    ...(tls === 'none'
      ? []
      : [
          'TLSEngine on',
          'TLSRequired on',
          `TLSRSACertificateFile ${certFile}`,
          `TLSRSACertificateKeyFile ${keyFile}`,
          `TLSOptions NoSessionReuseRequired${tls === 'implicit' ? ' UseImplicitSSL' : ''}`,
        ]),
  ];
  const text = config.join('\n').replaceAll('TLSRSA', 'TLSEC');
  await writeFile(join(folder, 'config'), `${text}\n`);
  const server = await startServerProcess(PROFTPD, ['-n', '-q', '-c', join(folder, 'config')], port);
  return {
    port,
    files,
    user: 'exporter',
    password,
    ca,
    async stop() {
      await server.stop();
      await removeFolder(folder);
    },
  };
}
