// The csv connector reads files on real servers. These tests are the same for every protocol.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { describeFtp, startFtpServer } from '../../support/servers/ftp-server.ts';
import { describeSftp, startSftpServer } from '../../support/servers/sftp-server.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';
import { startS3Server } from './s3-server.ts';

/** A server of files with one folder that the tests write to. */
interface TestServer {
  /** The address of the folder, without a slash at its end. */
  address: string;
  access: object;
  /** The access with a wrong password or key, and the text of the refusal. */
  wrong: { access: object; refusal: RegExp };
  /** A text that must be in no message. */
  secret: string;
  put(name: string, content: string | Uint8Array, modified?: Date): Promise<void>;
  get(name: string): Promise<string | null>;
  /** The number of files in the test of a folder with many files. */
  many: number;
  clear(): Promise<void>;
  stop(): Promise<void>;
}

function onDisk(files: string): Pick<TestServer, 'put' | 'get' | 'clear'> {
  return {
    async put(name, content, modified) {
      await mkdir(dirname(join(files, name)), { recursive: true });
      await writeFile(join(files, name), content);
      if (modified !== undefined) await utimes(join(files, name), modified, modified);
    },
    get: async (name) => (existsSync(join(files, name)) ? readFileSync(join(files, name), 'utf8') : null),
    async clear() {
      for (const name of readdirSync(files)) await rm(join(files, name), { recursive: true });
    },
  };
}

async function sftp(): Promise<TestServer> {
  const { port, files, user, privateKey, hostKey, stop } = await startSftpServer();
  return {
    ...onDisk(files),
    address: `sftp://127.0.0.1:${port}${files}`,
    access: { sftp: { user, privateKey, hostKey } },
    wrong: {
      access: { sftp: { user, password: 'wrong-password-1', hostKey } },
      refusal: /could not be logged in to: .*authentication/i,
    },
    secret: 'wrong-password-1',
    many: 2_000,
    stop,
  };
}

function ftp(tls: 'none' | 'explicit' | 'implicit') {
  return async (): Promise<TestServer> => {
    const { port, files, user, password, ca, stop } = await startFtpServer(tls);
    const access = tls === 'none' ? { user, plain: true } : { user, ca };
    return {
      ...onDisk(files),
      address: `${tls === 'implicit' ? 'ftps' : 'ftp'}://127.0.0.1:${port}`,
      access: { ftp: { ...access, password } },
      wrong: {
        access: { ftp: { ...access, password: 'wrong-password-1' } },
        refusal: /could not be logged in to: 530/,
      },
      secret: 'wrong-password-1',
      many: tls === 'none' ? 2_000 : 100,
      stop,
    };
  };
}

async function s3(): Promise<TestServer> {
  const { endpoint, bucket, accessKeyId, secretAccessKey, put, get, stop } = await startS3Server();
  const common = { endpoint, pathStyle: true, accessKeyId };
  let round = 0;
  const at = (name: string) => `in-${round}/${name}`;
  return {
    get address() {
      return `s3://${bucket}/in-${round}`;
    },
    access: { s3: { ...common, secretAccessKey } },
    wrong: {
      access: { s3: { ...common, secretAccessKey: 'wrong-password-1' } },
      refusal: /does not accept the login \(403\)/,
    },
    secret: 'wrong-password-1',
    put: (name, content) => put(at(name), content),
    get: (name) => get(at(name)),
    // The server's continuation tokens need a cipher that OpenSSL 3 lacks, so a listing ends after the first thousand files.
    many: 900,
    async clear() {
      round += 1;
    },
    stop,
  };
}

type Suite = (name: string, body: () => void) => void;
const SERVERS: [string, Suite, () => Promise<TestServer>][] = [
  ['OpenSSH', describeSftp, sftp],
  ['ProFTPD without TLS', describeFtp, ftp('none')],
  ['ProFTPD with TLS', describeFtp, ftp('explicit')],
  ['ProFTPD with TLS from the start', describeFtp, ftp('implicit')],
  ['a stand-in for S3', describe, s3],
];

for (const [name, suite, start] of SERVERS) {
  suite(`files on ${name}`, () => {
    let server: TestServer;
    let temporary: TemporaryFolder;
    let world: FileWorld | undefined;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server?.stop());
    beforeEach(async () => {
      temporary = await temporaryFolder();
      await server.clear();
    });
    afterEach(async () => {
      await world?.close();
      world = undefined;
      // A download leaves no file behind, whether it has failed or not.
      expect(readdirSync(temporary.path)).toEqual([]);
      await temporary[Symbol.asyncDispose]();
    });

    async function open(streams: Record<string, object>, options: object = {}): Promise<FileWorld> {
      await world?.close();
      world = await openFileWorld({
        folder: temporary.path,
        options: { access: server.access, ...options, downloads: { folder: temporary.path, idleMs: 60_000 } },
        streams,
      });
      return world;
    }
    const at = (path: string, more: object = {}) => open({ default: { path: `${server.address}/${path}`, ...more } });

    it('files of a server are read by their names, also with spaces and signs in them', async () => {
      await server.put('a b+ü#1.csv', 'id\n1\n');
      expect(await (await at('a b+ü#1.csv')).ids()).toEqual(['1']);
      expect(await (await at('a b+ü#?.csv')).ids()).toEqual(['1']);
    });

    it('files of a server are found by patterns in folders, in the order of their names', async () => {
      await server.put('north/p-2.csv', 'id\n2\n');
      await server.put('north/p-1.csv', 'id\n1\n');
      await server.put('south/p-1.csv', 'id\n3\n');
      await server.put('south/.p-9.csv', 'id\n9\n');
      await server.put('other.txt', 'id\n9\n');
      const read = await (await at('*/p-*.csv')).pages();
      expect(read.flatMap((page) => page.rows.map((row) => row.place.file))).toEqual([
        'north/p-1.csv',
        'north/p-2.csv',
        'south/p-1.csv',
      ]);
    });

    it('packed files of a server are unpacked', async () => {
      await server.put('x.csv.gz', gzipSync('id\n1\n2\n'));
      expect(await (await at('x.csv.gz')).ids()).toEqual(['1', '2']);
    });

    it('files of a server may be empty', async () => {
      await server.put('x.csv', '');
      await expect((await at('x.csv')).ids()).rejects.toThrow('x.csv has no header row: it is empty.');
    });

    it(`many files of a server are listed`, async () => {
      for (let number = 0; number < server.many; number += 1) await server.put(`many-${number}.csv`, 'id\n');
      await server.put('many-wanted.csv', 'id\n1\n');
      const found = await at('many-*.csv', { files: 'latest' });
      expect(await found.ids()).toHaveLength(1);
    });

    it('a check of a file server shows in one line what is there', async () => {
      await server.put('x.csv', 'id,name\n1,A\n');
      expect(await (await at('x.csv')).check()).toBe('1 file, 12 B, columns id, name');
    });

    it('files that are not there are named, with their address', async () => {
      await server.put('x.csv', 'id\n');
      await expect((await at('y.csv')).ids()).rejects.toThrow(`${server.address}/y.csv does not exist.`);
      await expect((await at('y-*.csv')).ids()).rejects.toThrow(`No file matches ${server.address}/y-*.csv.`);
      expect(await (await at('y-*.csv', { absent: 'skip' })).ids()).toBe('nothing new');
    });

    it('files of a server are not read with wrong credentials, which are in no message', async () => {
      await server.put('x.csv', 'id\n1\n');
      const path = `${server.address}/x.csv`;
      const wrong = await open({ default: { path } }, { access: server.wrong.access });
      const error = await wrong.ids().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'source.unreadable', message: expect.stringMatching(server.wrong.refusal) });
      expect(JSON.stringify([error, String(error), wrong.log])).not.toContain(server.secret);
    });

    it('files of a server are archived there after the read, under free names', async () => {
      await server.put('x.csv', 'id\n1\n');
      await server.put('done/x.csv', 'id\n0\n');
      const read = await at('*.csv', { after: 'archive', archive: 'done' });
      expect(await read.ids()).toEqual(['1']);
      await read.acknowledge();
      expect(await server.get('x.csv')).toBeNull();
      expect(await server.get('done/x.csv')).toBe('id\n0\n');
      expect(await server.get('done/x-2.csv')).toBe('id\n1\n');
      expect(await read.ids()).toBe('nothing new');
    });

    it('files of a server are deleted after the read, and not where they were changed meanwhile', async () => {
      await server.put('x.csv', 'id\n1\n');
      await server.put('y.csv', 'id\n2\n');
      const read = await at('*.csv', { after: 'delete' });
      expect(await read.ids()).toEqual(['1', '2']);
      await server.put('y.csv', 'id\n2\n3\n');
      await server.put('z.csv', 'id\n4\n');
      await read.acknowledge();
      expect(await read.ids()).toEqual(['2', '3', '4']);
    });

    it('files of a server wait for their semaphores', async () => {
      await server.put('x.csv', 'id\n1\n', new Date('2026-01-02T03:04:05Z'));
      const read = await at('x.csv', { done: '.done' });
      expect(await read.ids()).toBe('nothing new');
      expect(read.log).toEqual([`${server.address}/x.csv is not read yet: its semaphore x.csv.done is not there.`]);
      await server.put('x.csv.done', '');
      expect(await read.ids()).toEqual(['1']);
    });

    it('files of a server are read one by one as changes, each once', async () => {
      await server.put('c-1.csv', 'id\n1\n', new Date('2026-01-01T00:00:00Z'));
      await server.put('c-2.csv', 'id\n2\n', new Date('2026-01-02T00:00:00Z'));
      const read = await at('c-*.csv', { contents: 'changes' });
      const first = await read.pages();
      expect(first.flatMap((page) => page.rows.map((row) => row.fields['id']))).toEqual(['1', '2']);
      const cursor = first.at(-1)?.cursor ?? null;
      expect(await read.ids('default', { cursor })).toBe('nothing new');
      await server.put('c-3.csv', 'id\n3\n');
      expect(await read.ids('default', { cursor })).toEqual(['3']);
    });

    it('files of a server are read no more after an abort', async () => {
      await server.put('x.csv', 'id\n1\n');
      const reason = new Error('stopped by the test');
      await expect((await at('x.csv')).pages('default', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });
  });
}
