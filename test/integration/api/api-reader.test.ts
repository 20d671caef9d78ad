import { expect, onTestFinished, test } from 'vitest';
import type { ByteSink, Publication, Report } from '../../../src/domain/ports/target.ts';
import { API_KEY, setUpClient } from './client-setup.ts';
import { answerWith, type Reply, startScriptedServer } from './scripted-server.ts';

const PDF = Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n', 'latin1');

/** An answer with bytes as its body, in pieces of the given size. */
function answerBytes(bytes: Buffer, headers: Record<string, string> = { 'content-type': 'application/pdf' }): Reply {
  const lines = Object.entries({ 'content-length': String(bytes.length), ...headers }).map((line) => line.join(': '));
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${lines.join('\r\n')}\r\n\r\n`);
    socket.write(bytes);
  };
}

function collector(): { sink: ByteSink; bytes: () => Buffer } {
  const chunks: Uint8Array[] = [];
  return {
    sink: {
      write(chunk) {
        chunks.push(Buffer.from(chunk));
        return Promise.resolve();
      },
    },
    bytes: () => Buffer.concat(chunks),
  };
}

test('a passport comes as PDF, byte for byte', async () => {
  const { server, client } = await setUpClient();
  server.script(answerBytes(PDF));
  const { sink, bytes } = collector();
  expect(await client.reader.passportPdf('a b/c', sink)).toEqual({ ok: true, bytes: PDF.length });
  expect(bytes().equals(PDF)).toBe(true);
  expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/api/exports/passport/a%20b%2Fc.pdf', body: '' });
  expect(server.requests[0]?.headers).toMatchObject({
    'x-api-key': API_KEY,
    accept: 'application/pdf, application/json;q=0.9',
  });
  expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
});

test('a PDF that comes in pieces of one byte is put together, and a slow sink holds the reading back', async () => {
  const { server, client } = await setUpClient();
  const large = Buffer.concat([PDF.subarray(0, 9), Buffer.alloc(4_000_000, 0x20), PDF.subarray(9)]);
  server.script((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (const byte of large.subarray(0, 7))
      socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte, 13, 10])]));
    const rest = large.subarray(7);
    socket.write(Buffer.concat([Buffer.from(`${rest.length.toString(16)}\r\n`), rest, Buffer.from('\r\n0\r\n\r\n')]));
  });
  const { sink, bytes } = collector();
  let atOnce = 0;
  let most = 0;
  const slow: ByteSink = {
    async write(chunk) {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise(setImmediate);
      await sink.write(chunk);
      atOnce -= 1;
    },
  };
  expect(await client.reader.passportPdf(7, slow)).toEqual({ ok: true, bytes: large.length });
  expect(bytes().equals(large)).toBe(true);
  expect(most).toBe(1);
});

test.each<[string, Reply, string]>([
  ['a page of HTML', answerWith(200, '<html>Sign in</html>'), 'text/html in place of a PDF'],
  ['JSON', answerWith(200, { detail: 'soon' }), 'application/json in place of a PDF'],
  ['something else under the type of a PDF', answerBytes(Buffer.from('<html>Sign in')), 'does not begin like a PDF'],
  ['four bytes of something else', answerBytes(Buffer.from('PK\x03\x04')), 'does not begin like a PDF'],
  ['the first bytes alone', answerBytes(PDF.subarray(0, 3)), 'sent nothing'],
  ['nothing', answerBytes(Buffer.alloc(0)), 'sent nothing'],
  ['a PDF without its end', answerBytes(PDF.subarray(0, 30)), 'has no end'],
])('%s is no PDF', async (_name, reply, words) => {
  const { server, client } = await setUpClient();
  server.script(reply);
  const { sink, bytes } = collector();
  expect(await client.reader.passportPdf(7, sink)).toMatchObject({
    ok: false,
    outcome: { kind: 'ambiguous', cause: 'unreadable_answer', detail: { message: expect.stringContaining(words) } },
  });
  if (!words.includes('end')) expect(bytes()).toHaveLength(0);
  expect(server.requests).toHaveLength(1);
});

test('a PDF without a type is recognised by its first bytes', async () => {
  const { server, client } = await setUpClient();
  server.script((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${PDF.length}\r\n\r\n`);
    socket.write(PDF);
  });
  expect(await client.reader.passportPdf(7, collector().sink)).toEqual({ ok: true, bytes: PDF.length });
});

test('a PDF that is longer than the profile allows is given up', async () => {
  const { server, client } = await setUpClient({ profile: { pdfBytesMax: 1_024 } });
  server.script(answerBytes(Buffer.concat([PDF, Buffer.alloc(200_000)])));
  const { sink, bytes } = collector();
  expect(await client.reader.passportPdf(7, sink)).toMatchObject({
    ok: false,
    outcome: { kind: 'ambiguous', detail: { message: expect.stringContaining('longer than 1024 bytes') } },
  });
  expect(bytes().length).toBeLessThanOrEqual(1_024);
});

test('a PDF is asked for again as long as nothing of it has come', async () => {
  const { server, client, waits } = await setUpClient();
  server.script(
    answerWith(429, '', { 'retry-after': '7' }),
    answerWith(202, { detail: 'queued' }, { 'retry-after': '3' }),
    answerWith(502, 'Bad gateway'),
    answerBytes(PDF),
  );
  expect(await client.reader.passportPdf(7, collector().sink)).toEqual({ ok: true, bytes: PDF.length });
  expect(waits.slice(0, 2)).toEqual([7_000, 3_000]);
  expect(waits).toHaveLength(3);

  server.script((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 500\r\n\r\n`);
    socket.end(PDF);
  }, answerBytes(PDF));
  const before = server.requests.length;
  expect(await client.reader.passportPdf(7, collector().sink)).toMatchObject({
    ok: false,
    outcome: { kind: 'ambiguous', cause: 'reset' },
  });
  expect(server.requests.length - before).toBe(1);
});

test.each([
  [403, { kind: 'denied', by: 'scope' }],
  [402, { kind: 'denied', by: 'plan' }],
  [404, { kind: 'refused' }],
  [409, { kind: 'gated' }],
])('the answer %i for a PDF has its meaning', async (status, outcome) => {
  const { server, client } = await setUpClient();
  server.script(answerWith(status, { detail: 'No.' }));
  const result = await client.reader.passportPdf(7, collector().sink);
  expect(result).toMatchObject({ ok: false, outcome: { ...outcome, detail: { status, message: 'No.' } } });
});

test('an error of the sink of a PDF is thrown, and the reading ends', async () => {
  const { server, client } = await setUpClient();
  server.script(answerBytes(Buffer.concat([PDF, Buffer.alloc(3_000_000), PDF])));
  let writes = 0;
  const full: ByteSink = {
    write() {
      writes += 1;
      return Promise.reject(new Error('no space left on device'));
    },
  };
  await expect(client.reader.passportPdf(7, full)).rejects.toThrow('no space left');
  expect(writes).toBe(1);
});

test('publications are listed over all their pages, wherever an entry has its values', async () => {
  const { server, client } = await setUpClient();
  server.script(
    answerWith(200, {
      count: 4,
      next: '/api/dpp/publications/?page=2',
      results: [
        {
          id: 'p-1',
          product_id: 7,
          sku: 'A',
          status: 'PUBLISHED',
          published_at: '2026-01-02T03:04:05Z',
          url: 'https://dpp.example.com/p/1',
        },
        { uuid: 'p-2', product: { id: 8, sku: 'B' }, state: 'withdrawn', public_url: '/p/2' },
      ],
    }),
    answerWith(200, {
      count: 4,
      next: null,
      results: [
        { product: 9, unpublished_at: '2026-01-03', url: 'javascript:alert(1)' },
        { product: 9, published_at: '2026-01-04' },
      ],
    }),
  );
  const found: Publication[] = [];
  expect(await client.reader.publications((page) => found.push(...page))).toMatchObject({ complete: true });
  const none = { id: null, productId: null, sku: null, status: null, publishedAt: null, withdrawnAt: null, url: null };
  expect(found).toEqual([
    {
      id: 'p-1',
      productId: 7,
      sku: 'A',
      status: 'PUBLISHED',
      isPublic: true,
      publishedAt: '2026-01-02T03:04:05Z',
      withdrawnAt: null,
      url: 'https://dpp.example.com/p/1',
    },
    { ...none, id: 'p-2', productId: 8, sku: 'B', status: 'withdrawn', isPublic: false, url: `${server.baseUrl}/p/2` },
    { ...none, productId: 9, isPublic: false, withdrawnAt: '2026-01-03' },
    { ...none, productId: 9, isPublic: true, publishedAt: '2026-01-04' },
  ]);
  expect(server.requests.map(({ path }) => path)).toEqual([
    '/api/dpp/publications/?page_size=500',
    '/api/dpp/publications/?page=2',
  ]);
});

test.each(['A<b>1', '<img src=x>', 'two  spaces', ' A ', 'A\u00a0B', 'x'.repeat(400)])(
  'the SKU of a publication is the text of the platform, to the last character: %j',
  async (sku) => {
    const { server, client } = await setUpClient();
    server.script(answerWith(200, [{ id: 1, sku, status: 'published' }]));
    const found: Publication[] = [];
    await client.reader.publications((page) => found.push(...page));
    expect(found).toMatchObject([{ id: 1, productId: null, sku, isPublic: true }]);
  },
);

test.each([
  ['has the API key in it', `A ${API_KEY} 1`],
  ['is longer than any SKU', 'x'.repeat(3_000)],
  ['is empty', ''],
])('a text that %s is no SKU of a publication', async (_, sku) => {
  const { server, client } = await setUpClient();
  server.script(answerWith(200, [{ id: 1, sku, status: 'published' }]));
  const found: Publication[] = [];
  await client.reader.publications((page) => found.push(...page));
  expect(found).toMatchObject([{ id: 1, sku: null }]);
});

test('a list of publications of which nobody knows what they are of is incomplete', async () => {
  const { server, client } = await setUpClient();
  server.script(answerWith(200, [{ status: 'published' }]));
  expect((await client.reader.publications(() => undefined)).complete).toBe(false);
});

test('reports are listed and created', async () => {
  const { server, client } = await setUpClient();
  const entry = { id: 3, report_type: 'coverage', status: 'ready', created_at: '2026-01-02', rows: [1] };
  server.script(answerWith(200, { data: [entry], next: null }), answerWith(201, { data: { id: 4 } }));
  const found: Report[] = [];
  expect(await client.reader.reports((page) => found.push(...page))).toMatchObject({ complete: true });
  expect(found).toEqual([{ id: 3, type: 'coverage', status: 'ready', createdAt: '2026-01-02', content: entry }]);
  const { outcome } = await client.reader.createReport({ body: { type: 'coverage' }, idempotencyKey: 'r-1' });
  expect(outcome).toMatchObject({ kind: 'accepted', remoteId: 4 });
  expect(server.requests[1]).toMatchObject({ method: 'POST', path: '/api/reports/', body: '{"type":"coverage"}' });
  expect(server.requests[1]?.headers).toMatchObject({ 'idempotency-key': 'r-1', 'content-type': 'application/json' });
  server.script((socket) => void socket.resetAndDestroy());
  const lost = await client.reader.createReport({ body: {}, idempotencyKey: 'r-2' });
  expect(lost.outcome).toMatchObject({ kind: 'ambiguous', cause: 'reset' });
});

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoib3duZXIifQ.c2lnbmF0dXJlLXRoYXQtaXMtc2VjcmV0';

test('a key is revoked with only the token, and the token is in no output', async () => {
  const { server, client, lines } = await setUpClient();
  server.script(answerWith(204), answerWith(403, { detail: `Bearer ${TOKEN} has not the role.` }));
  const revoke = { keyId: 12, token: `${TOKEN}\n`, idempotencyKey: 'k-1' };
  expect((await client.admin.revokeKey(revoke)).outcome).toMatchObject({ kind: 'accepted', remoteId: null });
  expect(server.requests[0]).toMatchObject({ method: 'POST', path: '/api/api-keys/12/revoke/', body: '' });
  expect(server.requests[0]?.headers).toEqual({
    host: server.baseUrl.replace('http://', ''),
    connection: 'keep-alive',
    authorization: `Bearer ${TOKEN}`,
    accept: 'application/json',
    'user-agent': 'dpp-sync/1.2.3',
    'idempotency-key': 'k-1',
    'content-length': '0',
  });
  const denied = await client.admin.revokeKey(revoke);
  expect(denied.outcome).toMatchObject({ kind: 'denied', by: 'scope', detail: { status: 403 } });
  expect(JSON.stringify(denied) + lines.join('')).not.toContain(TOKEN.slice(8));
});

test('a token that no header can carry is never sent', async () => {
  const { server, client } = await setUpClient();
  for (const token of ['', '  ', 'a b', 'a\r\nX-Evil: 1']) {
    const { outcome } = await client.admin.revokeKey({ keyId: 1, token, idempotencyKey: 'k' });
    expect(outcome).toMatchObject({ kind: 'denied', by: 'key', detail: { status: null } });
  }
  expect(server.requests).toHaveLength(0);
});

test('a token follows no redirect', async () => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  const { server, client } = await setUpClient();
  server.script(answerWith(307, '', { location: `${other.baseUrl}/` }));
  const { outcome } = await client.admin.revokeKey({ keyId: 1, token: TOKEN, idempotencyKey: 'k' });
  expect(outcome.kind).toBe('refused');
  expect(other.connections).toBe(0);
});
