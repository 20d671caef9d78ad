// Servers of files that fail, lie or are hostile, for the protocols beside HTTPS.

import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FileServer } from '../../../src/sdk/files/file-store.ts';
import { filterOf, locate } from '../../../src/sdk/files/location.ts';
import { createRemoteStore } from '../../../src/sdk/files/remote-store.ts';
import { createS3Server } from '../../../src/sdk/files/servers/s3-server.ts';
import { versionOf } from '../../../src/sdk/files/source-file.ts';
import { createTemporaryFiles } from '../../../src/sdk/files/temporary-files.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { describeFtp, type FtpTestServer, startFtpServer } from '../../support/servers/ftp-server.ts';
import { describeSftp, type SftpTestServer, startSftpServer } from '../../support/servers/sftp-server.ts';
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';

const ROWS = 3_000;
const LARGE = `id\n${`${'x'.repeat(999)}\n`.repeat(ROWS)}`;
const OTHER_KEY = `SHA256:${Buffer.alloc(32, 7).toString('base64').replace('=', '')}`;

let temporary: TemporaryFolder;
let world: FileWorld | undefined;
beforeEach(async () => {
  temporary = await temporaryFolder();
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  expect(readdirSync(temporary.path)).toEqual([]);
  await temporary[Symbol.asyncDispose]();
});

/** Long, so that a server on a busy machine is not silent for so long. */
const IDLE_MS = 60_000;
/** For servers that are silent. A server on a busy machine is not silent for so long. */
const SHORT_IDLE_MS = 5_000;

async function open(path: string, access: object, idleMs = IDLE_MS): Promise<FileWorld> {
  world = await openFileWorld({
    folder: temporary.path,
    options: { access, downloads: { folder: temporary.path, idleMs } },
    streams: { default: { path } },
  });
  return world;
}

describeSftp('an SFTP server', () => {
  let server: SftpTestServer;
  let proxy: TcpProxy;
  beforeAll(async () => {
    server = await startSftpServer();
    proxy = await startTcpProxy(server.port);
    await writeFile(join(server.files, 'x.csv'), LARGE);
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });
  const read = (access: object = {}, idleMs?: number) => {
    const { user, privateKey, hostKey } = server;
    const path = `sftp://127.0.0.1:${proxy.port}${server.files}/x.csv`;
    return open(path, { sftp: { user, privateKey, hostKey, ...access } }, idleMs);
  };

  it('an SFTP server with another key than the expected one is sent neither user nor password', async () => {
    const wrong = await read({ hostKey: OTHER_KEY });
    await expect(wrong.ids()).rejects.toMatchObject({
      message: `sftp://127.0.0.1:${proxy.port} is not the expected server: its key has the fingerprint ${server.hostKey}.`,
      suggestion: expect.stringContaining('`access.sftp.hostKey`'),
    });
  });

  it('an SFTP server may have one of several keys', async () => {
    expect(await (await read({ hostKey: [OTHER_KEY, server.hostKey] })).ids()).toHaveLength(ROWS);
  });

  it('an SFTP server needs a fingerprint and a way to log in', async () => {
    await expect((await read({ hostKey: 'MD5:aa:bb' })).ids()).rejects.toThrow('is not the fingerprint of a key');
    await expect((await read({ privateKey: undefined })).ids()).rejects.toThrow('neither a password nor a private key');
  });

  it('an SFTP server that has a link without its file names that link', async () => {
    await symlink(join(server.files, 'none'), join(server.files, 'gone-1.csv'));
    const { user, privateKey, hostKey } = server;
    const folder = `sftp://127.0.0.1:${server.port}${server.files}`;
    const linked = await open(`${folder}/gone-*.csv`, { sftp: { user, privateKey, hostKey } });
    await expect(linked.ids()).rejects.toThrow(`${folder}/gone-1.csv is a link to a file that does not exist`);
  });

  it('a file server that cuts the connection during a download gives no row', async () => {
    await proxy.set({ kind: 'reset', toward: 'client', afterBytes: 1_000_000 });
    await expect((await read()).ids()).rejects.toThrow(/x\.csv could not be downloaded: /);
    await proxy.set();
  });

  it('a file server that does not answer is left after a while', async () => {
    await proxy.set({ kind: 'half-open' });
    await expect((await read({}, SHORT_IDLE_MS)).ids()).rejects.toThrow(
      /the server was silent for 5000 ms|could not be logged in to/,
    );
    await proxy.set();
  });

  it('a file server that vanishes during a download is left after a while', async () => {
    const reading = await read({}, SHORT_IDLE_MS);
    const files = reading.check();
    await files;
    await proxy.set({ kind: 'vanished', toward: 'client' });
    await expect(reading.ids()).rejects.toThrow(/the server was silent for 5000 ms/);
    await proxy.set();
  });

  it('a file server may take longer for a listing than it may be silent', async () => {
    for (let number = 0; number < 1_000; number += 1) await writeFile(join(server.files, `many-${number}.txt`), '');
    await proxy.set({ kind: 'bandwidth', bytesPerSecond: 20_000 });
    const { user, privateKey, hostKey } = server;
    const path = `sftp://127.0.0.1:${proxy.port}${server.files}/*.none`;
    const listed = await open(path, { sftp: { user, privateKey, hostKey } }, SHORT_IDLE_MS);
    const before = performance.now();
    await expect(listed.ids()).rejects.toThrow('No file matches');
    expect(performance.now() - before).toBeGreaterThan(SHORT_IDLE_MS);
    await proxy.set();
  });

  it('a file server is logged in to again after a connection was lost', async () => {
    const reading = await read({});
    expect(await reading.ids()).not.toEqual([]);
    await proxy.set({ kind: 'down' });
    await expect(reading.ids()).rejects.toThrow(/could not be/);
    await proxy.set();
    expect(await reading.ids()).not.toEqual([]);
  });
});

describeFtp('an FTP server', () => {
  let server: FtpTestServer;
  beforeAll(async () => {
    server = await startFtpServer('none');
    await writeFile(join(server.files, 'x.csv'), 'id\n1\n');
  });
  afterAll(() => server?.stop());
  const read = (access: object) => {
    const { user, password } = server;
    return open(`ftp://127.0.0.1:${server.port}/x.csv`, { ftp: { user, password, ...access } });
  };

  it('an FTP server without TLS is sent no password, unless that is set', async () => {
    const refused = await read({});
    await expect(refused.ids()).rejects.toMatchObject({
      message: expect.stringContaining('could not be logged in to'),
      suggestion: expect.stringContaining('`access.ftp.plain: true`'),
    });
    await world?.close();
    expect(await (await read({ plain: true })).ids()).toEqual(['1']);
  });

  it('an FTP server may be read from the folder of the login', async () => {
    const { user, password, port } = server;
    const access = { ftp: { user, password, plain: true } };
    expect(await (await open(`ftp://127.0.0.1:${port}/~/x.csv`, access)).ids()).toEqual(['1']);
    await world?.close();
    expect(await (await open(`ftp://127.0.0.1:${port}/~/?.csv`, access)).ids()).toEqual(['1']);
  });
});

describeFtp('an FTP server that lists its files as text', () => {
  let server: FtpTestServer;
  let folder: string;
  beforeAll(async () => {
    server = await startFtpServer('none', ['FactsAdvertise off']);
    folder = `ftp://127.0.0.1:${server.port}`;
    await mkdir(join(server.files, 'day-1'));
    await writeFile(join(server.files, 'day-1', 'x.csv'), 'id\n1\n');
    await symlink('day-1', join(server.files, 'day-2'));
    await symlink('day-1/x.csv', join(server.files, 'linked.csv'));
    await symlink('none', join(server.files, 'gone-1.csv'));
  });
  afterAll(() => server?.stop());
  const read = (path: string) => {
    const { user, password } = server;
    return open(`${folder}/${path}`, { ftp: { user, password, plain: true } });
  };

  it('an FTP server that lists its files as text gives the files behind links, and in folders behind links', async () => {
    expect(await (await read('day-*/*.csv')).ids()).toEqual(['1', '1']);
    await world?.close();
    expect(await (await read('linked*.csv')).ids()).toEqual(['1']);
  });

  it('an FTP server that has a link without its file names that link', async () => {
    await expect((await read('gone-*.csv')).ids()).rejects.toThrow(
      `${folder}/gone-1.csv is a link, and the server shows neither a file nor a folder behind it`,
    );
  });
});

describeFtp('an FTP server with a certificate of its own', () => {
  let server: FtpTestServer;
  beforeAll(async () => {
    server = await startFtpServer('explicit');
  });
  afterAll(() => server?.stop());

  it('an FTP server is sent no password if no trusted authority has signed its certificate', async () => {
    const { user, password, port } = server;
    const read = await open(`ftp://127.0.0.1:${port}/x.csv`, { ftp: { user, password } });
    await expect(read.ids()).rejects.toThrow('is not trusted');
  });
});

describe('a hostile FTP server', () => {
  let server: Server;
  let sockets: Socket[];
  let isRefusing = false;
  const said: string[] = [];
  beforeEach(async () => {
    sockets = [];
    said.length = 0;
    isRefusing = false;
    const answers: Record<string, string> = {
      USER: '331 Password please.',
      PASS: '230 Welcome.',
      PWD: '257 "/" is the folder.',
      EPSV: '500 Not known.',
      // Another host, to which the data connection is to lead.
      PASV: '227 Entering Passive Mode (192,0,2,1,10,10).',
      SIZE: '213 5',
      MDTM: '213 20260101000000',
      CWD: '250 Done.',
    };
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.write('220 Hello.\r\n');
      socket.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\r\n').filter((one) => one !== '')) {
          said.push(line);
          const refusal = isRefusing && line.startsWith('PASS') ? `530 Not allowed: ${line}` : undefined;
          socket.write(`${refusal ?? answers[line.split(' ')[0] ?? ''] ?? '200 Fine.'}\r\n`);
        }
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  it('a hostile FTP server cannot have a password shown by repeating it', async () => {
    isRefusing = true;
    const { port } = server.address() as AddressInfo;
    const access = { ftp: { user: 'exporter', password: 'sesame-1', plain: true } };
    const read = await open(`ftp://127.0.0.1:${port}/x.csv`, access);
    await expect(read.ids()).rejects.toThrow(/could not be logged in to: 530 Not allowed: PASS …\.$/);
  });

  it('a hostile FTP server cannot have data fetched from another host', async () => {
    const { port } = server.address() as AddressInfo;
    const access = { ftp: { user: 'exporter', password: 'sesame-1', plain: true } };
    const read = await open(`ftp://127.0.0.1:${port}/x.csv`, access);
    await expect(read.ids()).rejects.toThrow(
      `ftp://127.0.0.1:${port}/x.csv could not be downloaded: the server names another host for the data, and dpp-sync does not connect to another host.`,
    );
    expect(said).toContain('PASV');
  });
});

describe('a storage that speaks S3', () => {
  const PAGES = 10;
  let tokens: (string | null)[] = [];
  /** How an answer says where the next one begins. */
  const tokenAfter = (page: number) => `<NextContinuationToken>a/b+${page + 1}+==</NextContinuationToken>`;
  let restOf = tokenAfter;
  const server = createHttpServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://storage');
    const token = searchParams.get('continuation-token');
    tokens.push(token);
    const page = token === null ? 0 : Number(token.split('+')[1]);
    const contents = Array.from(
      { length: 1_000 },
      (_, at) => `<Contents><Key>in%2Fx-${page}-${at}+%C3%BC.txt</Key><Size>1</Size><ETag>"1"</ETag></Contents>`,
    );
    if (page === 0) contents.unshift('<Contents><Key>in%2F</Key><Size>0</Size><ETag>"0"</ETag></Contents>');
    const isTruncated = page + 1 < PAGES;
    const rest = isTruncated ? restOf(page) : '';
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated><EncodingType>url</EncodingType>${contents.join('')}${rest}</ListBucketResult>`,
    );
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => void server.close());

  async function listed(pattern: string): Promise<string[]> {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const access = { pathStyle: true, accessKeyId: 'an-id', secretAccessKey: 'a-secret', region: 'eu', endpoint };
    const address = { scheme: 's3', host: 'bucket', port: null } as const;
    const storage = createS3Server(address, { access, idleMs: IDLE_MS, label: (path) => path });
    const wanted = filterOf(pattern, 'file', '');
    const found = await storage.list('in', wanted, new AbortController().signal, () => undefined);
    await storage.close();
    return found.map(({ name }) => name);
  }

  it('a storage that speaks S3 gives no file for the empty object that stands for the folder', async () => {
    const names = await listed('*');
    expect(names).toHaveLength(PAGES * 1_000);
    expect(names).not.toContain('');
  });

  it('a storage that speaks S3 is asked for every part of a listing', async () => {
    tokens = [];
    expect(await listed('x-9-999 *.txt')).toEqual(['x-9-999 ü.txt']);
    expect(tokens.filter((token) => token !== null)).toEqual(
      Array.from({ length: PAGES - 1 }, (_, at) => `a/b+${at + 1}+==`),
    );
  });

  it.each([
    ['no place for the rest', () => ''],
    ['a marker of the first version of listings', () => '<NextMarker>in/x-0-999</NextMarker>'],
    ['the same place again', () => tokenAfter(0)],
  ])('a storage that speaks S3 and says that a listing goes on gives no file with %s', async (_, rest) => {
    restOf = rest;
    try {
      await expect(listed('*')).rejects.toThrow('says that there are more files, and not where they begin');
    } finally {
      restOf = tokenAfter;
    }
  });

  it('a storage that speaks S3 over a way that is not encrypted is not used', async () => {
    const access = {
      s3: { endpoint: 'http://storage.example.com', accessKeyId: 'an-id', secretAccessKey: 'a-secret' },
    };
    await expect((await open('s3://bucket/x.csv', access)).ids()).rejects.toThrow(
      '`access.s3.endpoint` is not encrypted',
    );
  });
});

describe('a server of any kind', () => {
  const signal = new AbortController().signal;
  const location = locate('sftp://host/x.csv', (path) => path);
  const entry = {
    name: 'x.csv',
    kind: 'file',
    bytes: 5,
    version: versionOf({ modifiedNs: 1n, bytes: 5, tag: '' }),
  } as const;
  const file = { path: '/x.csv', label: location.label('/x.csv'), name: 'x.csv', bytes: 5, version: entry.version };
  const limits = { maxBytes: 1_000, idleMs: IDLE_MS, totalMs: IDLE_MS };

  /** Downloads the file from a server that gives `content`, and says `after` of it when it is asked again. */
  async function copy(content: string, after: Awaited<ReturnType<FileServer['stat']>>) {
    const temporaryFiles = createTemporaryFiles(temporary.path);
    const server: FileServer = {
      stat: async () => after,
      list: async () => [],
      async download(_file, target) {
        target.progress(content.length);
        await writeFile(target.path, content);
      },
      interrupt() {},
      async close() {},
    };
    try {
      const store = createRemoteStore({ location, server, limits, temporary: temporaryFiles });
      return await store.copy(file, signal);
    } finally {
      await temporaryFiles.close();
    }
  }

  it('a file server is not believed where it gives another number of bytes than it has stated', async () => {
    expect(await copy('12345', entry)).toMatchObject({ file: { bytes: 5 } });
    await expect(copy('123', entry)).rejects.toThrow('was not downloaded completely: 3 of 5 bytes arrived.');
    await expect(copy('1234567', entry)).rejects.toThrow('was not downloaded completely: 7 of 5 bytes arrived.');
    await expect(copy('1'.repeat(1_001), entry)).rejects.toThrow('is larger than 1000 bytes');
  });

  it('a file server is not believed where the file is another one after the download', async () => {
    const later = versionOf({ modifiedNs: 2n, bytes: 5, tag: '' });
    await expect(copy('12345', { ...entry, version: later })).rejects.toThrow('was changed while it was read');
    await expect(copy('12345', null)).rejects.toThrow('was changed while it was read: the file was removed.');
  });
});

describe('options without what a server needs', () => {
  it.each([
    ['sftp://127.0.0.1:1/x.csv', 'the options of the source have no `access.sftp`'],
    ['ftp://127.0.0.1:1/x.csv', 'the options of the source have no `access.ftp`'],
    ['s3://bucket/x.csv', 'the options of the source have no `access.s3`'],
  ])('options that lack a setting of the server are refused for %s', async (path, message) => {
    await expect((await open(path, {})).ids()).rejects.toThrow(message);
  });
});
