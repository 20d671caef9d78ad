import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { idsOf, readFrom, upTo } from '../../../support/rest/read-from.ts';
import { readRest } from '../../../support/rest/read-rest.ts';
import { type RestCall, type RestReply, type RestServer, startRestServer } from '../../../support/rest/rest-server.ts';
import { endServer } from '../../../support/servers/local-server.ts';

const JOB = {
  get: 'jobs',
  method: 'POST',
  page: {
    by: 'bulkJob',
    job: '$.id',
    status: { get: 'jobs/{{job}}' },
    state: '$.state',
    running: ['RUNNING'],
    done: ['DONE'],
    result: '$.file',
    count: '$.lines',
    parent: 'parent',
  },
};
const FILE = upTo(4)
  .flatMap((id) => [{ id }, { id: id * 10, parent: id }])
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

let server: RestServer;
let storage: RestServer;
let file: (call: RestCall) => RestReply;
/** What the server says about the job. */
let job: { state: string; lines: unknown; file: string | null };

beforeEach(async () => {
  file = () => ({ text: FILE });
  storage = await startRestServer((call) => file(call));
  job = { state: 'DONE', lines: 8, file: `${storage.base}/result?signature=signed-for-us` };
  const headers = { date: 'Mon, 01 Jun 2026 12:00:00 GMT' };
  server = await startRestServer(({ path }) => ({ headers, body: path === '/jobs' ? { id: 7 } : job }));
});
afterEach(async () => {
  await server.close();
  await storage.close();
});

const read = (stream: object = JOB, request: Parameters<typeof readRest>[2] = {}, limits: object = {}) =>
  readRest(
    rest,
    {
      options: { base: server.base, headers: { 'X-Shop': 'key-of-the-shop' }, limits: { perSecond: 1000, ...limits } },
      stream,
    },
    request,
  );

describe('a bulk job', () => {
  it('has an issue for a line in which an object has a name twice', async () => {
    file = () => ({ text: '{"id":1}\n{"id":2,"name":"a","name":"b"}\n{"id":3}\n' });
    job.lines = 3;
    const { rows, error } = await read();
    expect([error, idsOf(rows)]).toEqual([null, [1, 2, 3]]);
    expect(rows.map(({ issues }) => issues?.map(({ code }) => code))).toEqual([
      undefined,
      ['row.duplicate'],
      undefined,
    ]);
  });

  it('is not read if the answer about it has a name twice', async () => {
    const { base } = storage;
    await server.close();
    server = await startRestServer(({ path }) =>
      path === '/jobs'
        ? { body: { id: 7 } }
        : { text: `{"state":"DONE","lines":8,"file":"${base}/a","file":"${base}/b"}` },
    );
    expect((await read()).error?.message).toContain(
      'The answer for the state of the bulk job of items has the name "file" twice in the object at $',
    );
  });

  it('gives the lines without a parent, or those with one', async () => {
    expect(idsOf((await read()).rows)).toEqual([1, 2, 3, 4]);
    const children = await read({ ...JOB, page: { ...JOB.page, children: true } });
    expect(idsOf(children.rows)).toEqual([10, 20, 30, 40]);
    expect(storage.calls.map(({ headers }) => headers['x-shop'])).toEqual([undefined, undefined]);
  });

  it.each([
    ['gives nothing if it has no file and no lines', 0, null],
    ['is incomplete if it has lines and no file', 3, 'is complete and has 3 lines, and no file'],
    ['is incomplete if it does not state how many lines it has', null, 'has null as the number of its lines'],
  ])('%s', async (_, lines, message) => {
    Object.assign(job, { file: null, lines });
    const { rows, error } = await read();
    expect(rows).toEqual([]);
    if (message === null) expect(error).toBeNull();
    else expect(error?.message).toContain(message);
  });

  it('whose file is not there for a moment is downloaded again, and not started again', async () => {
    file = () => (storage.calls.length === 1 ? { status: 503 } : { text: FILE });
    const { rows, error } = await read();
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 2, 3, 4]);
    expect(server.calls.filter(({ path }) => path === '/jobs')).toHaveLength(1);
  });

  it.each([
    ['has ended', { status: 403, text: 'x'.repeat(100_000) }, 'the server answers with 403'],
    ['is elsewhere', { status: 302, headers: { location: 'https://example.com/' } }, 'the server answers with 302'],
    ['does not come', { cut: true as const }, 'could not be downloaded'],
  ])('whose file %s is an incomplete read without the signature', async (_, reply, message) => {
    file = () => reply;
    const { error, cursor } = await read(JOB, {}, { attempts: 1 });
    expect(error?.message).toContain(message);
    expect(JSON.stringify([error?.message, error?.suggestion])).not.toContain('signed-for');
    expect(cursor).toBeUndefined();
  });

  it.each(['http://files.example.com/result', 'file:///etc/passwd', 'result.jsonl'])(
    'whose file lies at %s is refused',
    async (address) => {
      job.file = address;
      expect((await read()).error?.message).toContain('is not one with https');
    },
  );

  it('is asked for changes with all parts that `changes` has', async () => {
    const changes = { by: '$.at', headers: { 'X-Since': '{{since}}' }, query: { kind: 'changed' } };
    const stream = { ...JOB, changes, reconcile: '7d' };
    const { cursor = null } = await read(stream);
    const { error } = await read(stream, { mode: 'changes', cursor });
    expect(error).toBeNull();
    const asked = server.calls.filter(({ path }) => path === '/jobs').at(-1);
    expect(asked?.headers['x-since']).toBe('2026-06-01T11:50:00Z');
    expect(asked?.url).toBe('/jobs?kind=changed');
  });
});

it('a file without a length and without a number of its lines may be cut off, so it is refused', async () => {
  const raw = createServer((request) => {
    request.socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${FILE}`);
  });
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
  job.file = `http://127.0.0.1:${(raw.address() as AddressInfo).port}/result`;
  try {
    const { count: _, ...page } = JOB.page;
    expect((await read({ ...JOB, page })).error?.message).toContain('has no length');
    expect(idsOf((await read()).rows)).toEqual([1, 2, 3, 4]);
  } finally {
    await new Promise((resolve) => raw.close(resolve));
  }
});

describe('a body that is left before its end', () => {
  let endless: Server;
  beforeEach(async () => {
    // Sends until the reader leaves.
    endless = createServer((_, response) => {
      const more = (): void => {
        while (response.write(`{"id":1}\nno json\n${' '.repeat(10_000)}\n`));
        response.once('drain', more);
      };
      more();
    });
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await endServer(endless);
  });
  const base = () => `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;

  it('is an error of the read and not of the process: a file with a wrong line', async () => {
    job.file = `${base()}/result`;
    expect((await read()).error?.message).toContain('has a file whose line 2 is not JSON');
  });

  it('is an error of the read and not of the process: an answer that is too long', async () => {
    const stream = { get: 'items', page: { by: 'none' } };
    const options = { base: base(), limits: { answerBytes: 100_000 } };
    const { error } = await readFrom(() => ({}), stream, { options });
    expect(error?.message).toContain('has more than 100000 bytes');
  });
});
