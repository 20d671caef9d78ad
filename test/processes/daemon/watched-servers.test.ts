// `watch: true` for exports on a file server.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { watchExports } from '../../../src/daemon/schedules/due-runs.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { describeFtp, startFtpServer } from '../../support/servers/ftp-server.ts';
import { describeSftp, startSftpServer } from '../../support/servers/sftp-server.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { startS3Server } from '../connectors/s3-server.ts';

const SOON = { timeout: WAIT_MS };
const NAME = 'products.csv';

interface WatchedServer {
  /** The address of the folder. */
  address: string;
  access: object;
  put(text: string): Promise<void>;
  stop(): Promise<void>;
}

async function sftp(): Promise<WatchedServer> {
  const { port, files, user, privateKey, hostKey, stop } = await startSftpServer();
  const address = `sftp://127.0.0.1:${port}${files}`;
  return { address, access: { sftp: { user, privateKey, hostKey } }, put: into(files), stop };
}

async function ftp(): Promise<WatchedServer> {
  const { port, files, user, password, stop } = await startFtpServer('none');
  const access = { ftp: { user, password, plain: true } };
  return { address: `ftp://127.0.0.1:${port}`, access, put: into(files), stop };
}

async function s3(): Promise<WatchedServer> {
  const { endpoint, bucket, accessKeyId, secretAccessKey, put, stop } = await startS3Server();
  const access = { s3: { endpoint, pathStyle: true, accessKeyId, secretAccessKey } };
  return { address: `s3://${bucket}`, access, put: (text) => put(NAME, text), stop };
}

function into(folder: string): WatchedServer['put'] {
  return (text) => writeFile(join(folder, NAME), text);
}

/** The daemon checks a server once a minute, so the clock of the test is fast. */
const TIMES = 60;
const fastClock: Clock = {
  now: () => systemClock.now(),
  ticks: () => TIMES * systemClock.ticks(),
  sleep: (ms, signal) => systemClock.sleep(ms / TIMES, signal),
};

type Suite = (name: string, body: () => void) => void;
const SERVERS: [string, Suite, () => Promise<WatchedServer>][] = [
  ['SFTP', describeSftp, sftp],
  ['FTP', describeFtp, ftp],
  ['S3', describe, s3],
];

for (const [name, suite, start] of SERVERS) {
  suite(`an export that is watched over ${name}`, () => {
    const abort = new AbortController();
    let world: World;
    let server: WatchedServer;
    let watching: Promise<void>;
    afterEach(async () => {
      abort.abort();
      await watching;
      await world.remove();
      await server.stop();
    });

    it('an export on a server makes a run due when it appears and when it changes', async () => {
      server = await start();
      const options = { path: `${server.address}/${NAME}`, key: ['SKU'], access: server.access };
      world = await createWorld({
        config: { sources: [{ ...PRODUCTS.source, watch: true, options }] },
        files: { 'status.csv': PRODUCTS.files['status.csv'] },
      });
      const config = await loadRuntimeConfig(world.configFile, createSecretStore());
      const asked: string[] = [];
      const parts = {
        ledger: { noteDaemon: async () => undefined },
        note: null,
        dueRuns: { add: async () => undefined },
        scheduler: { request: (source: string, why = 'schedule') => void asked.push(`${source} ${why}`) },
        pulling: () => [],
      };
      const log = createRecordingLog();
      watching = watchExports({ config, ...parts, clock: fastClock, log }, abort.signal);
      await server.put('SKU,NAME,STATE\nA-1,Kettle,10\n');
      await expect.poll(() => asked, SOON).toEqual(['erp file']);
      await server.put('SKU,NAME,STATE\nA-1,Large teapot,10\n');
      await expect.poll(() => asked, SOON).toEqual(['erp file', 'erp file']);
    });
  });
}
