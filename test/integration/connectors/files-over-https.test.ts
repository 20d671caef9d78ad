// Files that are downloaded from a web server, and servers that are slow, broken or hostile.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';
import { type Handler, type HttpsTestServer, startHttpsServer } from './https-server.ts';

const CONTENT = 'id\n1\n2\n';

let server: HttpsTestServer;
let other: HttpsTestServer;
let temporary: TemporaryFolder;
let world: FileWorld | undefined;
beforeAll(async () => {
  [server, other] = await Promise.all([startHttpsServer(), startHttpsServer()]);
});
afterAll(async () => {
  await server.stop();
  await other.stop();
});
beforeEach(async () => {
  temporary = await temporaryFolder();
});
afterEach(async () => {
  await world?.close();
  expect(readdirSync(temporary.path)).toEqual([]);
  await temporary[Symbol.asyncDispose]();
});

async function open(stream: object = {}, { https = {}, downloads = {} } = {}): Promise<FileWorld> {
  await world?.close();
  world = await openFileWorld({
    folder: temporary.path,
    options: {
      access: { https: { ca: server.ca, ...https } },
      downloads: { folder: temporary.path, idleMs: 60_000, ...downloads },
    },
    streams: { default: { path: `${server.address}/x.csv`, ...stream } },
  });
  return world;
}

const giving =
  (content: string | Buffer, headers: Record<string, string> = {}): Handler =>
  (_request, response) =>
    void response.writeHead(200, { etag: '"1"', 'content-length': content.length, ...headers }).end(content);

describe('a file on a web server', () => {
  it('a file on a web server is read', async () => {
    server.answer(giving(CONTENT));
    expect(await (await open()).ids()).toEqual(['1', '2']);
    expect(await world?.check()).toBe('1 file, 7 B, columns id');
  });

  it('a file on a web server is read where its size is not stated', async () => {
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"' });
      response.write('id\n1\n');
      response.end('2\n');
    });
    const pages = await (await open()).pages();
    expect(pages.flatMap((page) => page.rows)).toHaveLength(2);
    expect(pages.at(-1)?.progress).toEqual({ done: 7, total: 7 });
  });

  it('a file on a web server is unpacked where the server packs it', async () => {
    server.answer(giving(gzipSync(CONTENT), { 'content-encoding': 'gzip' }));
    expect(await (await open()).ids()).toEqual(['1', '2']);
    server.answer(giving(CONTENT, { 'content-encoding': 'br' }));
    await expect((await open()).ids()).rejects.toThrow('could not be downloaded: it is encoded as br.');
  });

  it('a file on a web server is asked for with the credentials of the source', async () => {
    server.answer(giving(CONTENT));
    await (await open({}, { https: { user: 'exporter', password: 'sesame' } })).ids();
    const basic = `Basic ${Buffer.from('exporter:sesame').toString('base64')}`;
    expect(server.requests.map((request) => request.headers.authorization)).toEqual([basic, basic, basic]);
    await (await open({}, { https: { token: 'a-token', headers: { 'X-Api-Key': 'a-key' } } })).ids();
    expect(server.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer a-token', 'x-api-key': 'a-key' });
    await expect((await open({}, { https: { token: 'a-token', user: 'exporter' } })).ids()).rejects.toThrow(
      'has both a token and a user',
    );
  });

  it('a file on a web server has an address whose query is in no message and no place', async () => {
    server.answer((_request, response) => void response.writeHead(404).end());
    const path = `${server.address}/x.csv?signature=a-secret-signature`;
    const error = await (await open({ path })).ids().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: `${server.address}/x.csv does not exist.` });
    server.answer(giving(CONTENT));
    const pages = await (await open({ path, contents: 'changes' })).pages();
    expect(server.requests[0]?.url).toBe('/x.csv?signature=a-secret-signature');
    expect(JSON.stringify([pages, error, world?.log])).not.toContain('a-secret-signature');
    expect(pages[0]?.rows[0]?.place.file).toBe('x.csv');
  });

  it('a file on a web server is read again as changes only when its version is another one', async () => {
    server.answer(giving(CONTENT));
    const read = await open({ contents: 'changes' });
    const cursor = (await read.pages()).at(-1)?.cursor ?? null;
    expect(await read.ids('default', { cursor })).toBe('nothing new');
    server.answer(giving('id\n3\n4\n', { etag: '"2"' }));
    expect(await read.ids('default', { cursor })).toEqual(['3', '4']);
    server.answer((_request, response) => void response.writeHead(200, { 'content-length': 7 }).end(CONTENT));
    await expect(read.ids('default', { cursor })).rejects.toThrow('has neither a time nor an ETag');
  });

  it('a file on a web server cannot be moved or deleted', async () => {
    server.answer(giving(CONTENT));
    await expect((await open({ after: 'delete' })).ids()).rejects.toThrow('can neither be moved nor deleted');
  });
});

describe('a web server', () => {
  it('a web server whose certificate is not signed by a trusted authority is not believed', async () => {
    server.answer(giving(CONTENT));
    await expect((await open({}, { https: { ca: other.ca } })).ids()).rejects.toThrow('is not trusted');
    expect(server.requests).toEqual([]);
  });

  it('a web server that leads to another host is not believed, and that host is sent nothing', async () => {
    other.answer(giving(CONTENT));
    server.answer(
      (_request, response) => void response.writeHead(302, { location: `${other.address}/y.csv?key=a-secret` }).end(),
    );
    const refused = await (await open({}, { https: { token: 'a-token' } })).ids().catch((reason: unknown) => reason);
    expect(refused).toMatchObject({
      message: `${server.address}/x.csv could not be looked up: the server redirects to another address (302 to ${other.address}/y.csv), and dpp-sync follows no redirect.`,
    });
    expect(other.requests).toEqual([]);
  });

  it('a web server that refuses the login or fails is not believed', async () => {
    server.answer((_request, response) => void response.writeHead(401).end());
    await expect((await open()).ids()).rejects.toThrow('does not accept the login (401)');
    server.answer((_request, response) => void response.writeHead(500).end());
    await expect((await open()).ids()).rejects.toThrow('the server answers with 500.');
  });

  it('a web server that replaces the file while it is downloaded is not believed', async () => {
    // The first look, the download, and the look behind it.
    const tags = ['"1"', '"1"', '"2"'];
    server.answer((request, response) => giving(CONTENT, { etag: tags.shift() ?? '' })(request, response));
    await expect((await open()).ids()).rejects.toMatchObject({
      message: expect.stringContaining('x.csv was changed while it was read: it was overwritten.'),
      suggestion: expect.stringContaining('If the server makes a new export for each request'),
    });
  });

  it('a web server that replaces the file before it is downloaded is not believed', async () => {
    // Only the headers of the download say that it is another file.
    const tags = ['"1"', '"2"', '"1"'];
    server.answer((request, response) => giving(CONTENT, { etag: tags.shift() ?? '' })(request, response));
    await expect((await open()).ids()).rejects.toThrow('x.csv was changed while it was read: it was overwritten.');
  });

  it('a web server that cuts the connection in the middle is not believed', async () => {
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 1_000_000 });
      response.write('id\n1\n', () => response.destroy());
    });
    await expect((await open()).ids()).rejects.toThrow(/x\.csv could not be (?:looked up|downloaded): /);
  });

  it('a web server that gives fewer bytes than it has stated is not believed', async () => {
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 100 });
      response.write(CONTENT);
      response.socket?.end();
    });
    await expect((await open()).ids()).rejects.toThrow(/x\.csv could not be (?:looked up|downloaded): /);
  });

  it('a web server that stays silent is not believed', async () => {
    server.answer(() => undefined);
    const hasty = { downloads: { idleMs: 5_000 } };
    await expect((await open({}, hasty)).ids()).rejects.toThrow(
      'could not be looked up: the server was silent for 5000 ms.',
    );
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 100 });
      response.write('id\n');
    });
    await expect((await open({}, hasty)).ids()).rejects.toThrow(
      'could not be downloaded: the server was silent for 5000 ms.',
    );
  });

  it('a web server that drips for longer than a download may take is not believed', async () => {
    const timers: NodeJS.Timeout[] = [];
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"' });
      const timer = setInterval(() => response.write('1\n'), 20);
      timers.push(timer);
      response.on('close', () => clearInterval(timer));
    });
    const read = await open({}, { downloads: { totalMs: 5_000 } });
    await expect(read.ids()).rejects.toThrow('x.csv could not be downloaded within 5000 ms.');
    for (const timer of timers) clearInterval(timer);
  });

  it('a web server whose file never ends is not believed', async () => {
    let largest = 0;
    server.answer((_request, response) => {
      response.writeHead(200, { etag: '"1"' });
      const piece = Buffer.alloc(100_000, '1\n');
      const more = () => {
        for (const folder of readdirSync(temporary.path)) {
          for (const file of readdirSync(join(temporary.path, folder))) {
            largest = Math.max(largest, statSync(join(temporary.path, folder, file)).size);
          }
        }
        if (!response.destroyed) response.write(piece, more);
      };
      more();
    });
    const read = await open({}, { downloads: { maxBytes: 2_000_000 } });
    await expect(read.ids()).rejects.toThrow('x.csv is larger than 2000000 bytes');
    expect(largest).toBeLessThanOrEqual(2_000_000);
  });

  it('a web server that states too large a size is not believed, and nothing is downloaded', async () => {
    server.answer(giving(CONTENT));
    const read = await open({}, { downloads: { maxBytes: 6 } });
    await expect(read.ids()).rejects.toThrow('x.csv is larger than 6 bytes');
    expect(server.requests).toHaveLength(1);
  });
});
