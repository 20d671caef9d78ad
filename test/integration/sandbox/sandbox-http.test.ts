import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Agent, request } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { endsAtOnce } from '../support/ends-at-once.ts';

const PATH = '/api/products/';

test.each([
  '/',
  '/api/',
  '/api/products',
  '/api//products/',
  '/API/products/',
  '/api/products/1/',
  '/api/materials/1/x/',
])('the sandbox answers the unknown path %s with 404', async (path) => {
  const { call } = await startSandbox();
  for (const method of ['GET', 'POST']) {
    const answer = await call(method, path, { headers: { 'content-type': 'text/plain' } });
    expect(answer).toMatchObject({ status: 404, body: { detail: 'Not found.' } });
  }
});

test.each([
  ['DELETE', PATH, 'GET, HEAD, POST'],
  ['PUT', PATH, 'GET, HEAD, POST'],
  ['OPTIONS', PATH, 'GET, HEAD, POST'],
  ['GET', '/api/materials/1/', 'PATCH'],
  ['GET', '/api/bom-items/', 'POST'],
  ['HEAD', '/api/bom-items/', 'POST'],
  ['PROPFIND', PATH, 'GET, HEAD, POST'],
  ['PURGE', '/api/dpp/1/init/', 'POST'],
  ['TRACE', PATH, 'GET, HEAD, POST'],
  ['POST', '/api/docs/', 'GET, HEAD'],
  ['DELETE', '/api/schema/', 'GET, HEAD'],
  ['PROPFIND', '/api/schema/', 'GET, HEAD'],
])('the sandbox answers %s %s with 405 and says what is allowed', async (method, path, allow) => {
  const { call } = await startSandbox();
  const answer = await call(method, path);
  expect(answer).toMatchObject({ status: 405, headers: { allow } });
  if (method !== 'HEAD') expect(answer.body).toEqual({ detail: 'Method not allowed.' });
  // The pages that are open to all are so with every method.
  const isOpen = path.startsWith('/api/docs') || path.startsWith('/api/schema');
  expect((await call(method, `${path}?a=b`, { key: null })).status).toBe(isOpen ? 405 : 401);
});

test('the sandbox checks the method before the body', async () => {
  const { call } = await startSandbox({ bodyBytesMax: 10 });
  const text = { body: 'x'.repeat(100), headers: { 'content-type': 'text/plain' } };
  expect((await call('PUT', PATH, text)).status).toBe(405);
  expect((await call('POST', '/api/nothing/', { body: 'x'.repeat(100) })).status).toBe(404);
});

test('the sandbox answers HEAD where it answers GET', async () => {
  const { call } = await startSandbox();
  expect(await call('HEAD', PATH)).toMatchObject({ status: 200, body: null });
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'json', ''])(
  'the sandbox answers a body of the type "%s" with 415',
  async (type) => {
    const { call } = await startSandbox();
    const answer = await call('POST', PATH, { body: '{"sku":"A","name":"x"}', headers: { 'content-type': type } });
    expect(answer.status).toBe(415);
    expect(typeof answer.body.detail).toBe('string');
  },
);

test.each(['gzip', 'br', 'identity, gzip'])('the sandbox answers the encoding %s with 415', async (encoding) => {
  const { call } = await startSandbox();
  const body = { sku: 'A', name: 'x' };
  expect(await call('POST', PATH, { body, headers: { 'content-encoding': encoding } })).toMatchObject({
    status: 415,
    body: { detail: 'Unsupported content encoding.' },
    headers: { 'accept-encoding': 'identity' },
  });
  expect((await call('POST', PATH, { body, headers: { 'content-encoding': 'Identity' } })).status).toBe(201);
});

test('the sandbox takes JSON with a charset', async () => {
  const { call } = await startSandbox();
  const type = 'application/json; charset=utf-8';
  const answer = await call('POST', PATH, { body: { sku: 'Ä', name: 'ß' }, headers: { 'content-type': type } });
  expect(answer).toMatchObject({ status: 201, body: { sku: 'Ä', name: 'ß' } });
});

test.each(['{', '{"sku":}', "{'sku':1}", 'NaN', '{"a":1}x'])('the malformed body %s gets 400', async (body) => {
  const { call } = await startSandbox();
  const answer = await call('POST', PATH, { body });
  expect(answer.status).toBe(400);
  expect(answer.body.detail).toMatch(/^JSON parse error/);
});

test('the sandbox answers a body that is not UTF-8 with 400', async () => {
  const { call } = await startSandbox();
  const answer = await call('POST', PATH, { body: Buffer.from('{"sku":"\u00e4","name":"x"}', 'latin1') });
  expect(answer).toMatchObject({ status: 400, body: { detail: 'JSON parse error - the body is not UTF-8.' } });
});

test('the sandbox asks for the required fields when there is no body', async () => {
  const { call } = await startSandbox();
  const answer = await call('POST', PATH);
  expect(answer).toMatchObject({ status: 400, body: { sku: ['This field is required.'] } });
});

test('the sandbox answers a body above the limit with 413, and takes one of exactly the limit', async () => {
  const { call } = await startSandbox({ bodyBytesMax: 100 });
  const sized = (bytes: number) => `{"sku":"A","name":"x"}${' '.repeat(bytes - 22)}`;
  const refused = await call('POST', PATH, { body: sized(101) });
  expect(refused.status).toBe(413);
  expect(typeof refused.body.detail).toBe('string');
  expect((await call('POST', PATH, { body: sized(100) })).status).toBe(201);
});

test.each([`/api/pro%ZZducts/`, `/api/materials/${'x'.repeat(2000)}/`])(
  'the sandbox answers the broken path %.30s… with 4xx',
  async (path) => {
    const { call } = await startSandbox();
    const answer = await call('PATCH', path, { body: {} });
    expect([400, 404, 414]).toContain(answer.status);
    expect(typeof answer.body.detail).toBe('string');
  },
);

/** Sends a request as text, and returns the answer as text once the server has closed the connection. */
async function exchange(baseUrl: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  socket.write(text);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

test.each([
  ['no HTTP', 'what?\r\n\r\n', '400 Bad Request', 'Malformed HTTP request.'],
  [
    'a request without a host',
    `GET ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`,
    '400 Bad Request',
    'The request has no Host header.',
  ],
  [
    'a strange expectation',
    `GET ${PATH} HTTP/1.1\r\nHost: x\r\nExpect: cake\r\nConnection: close\r\n\r\n`,
    '417 Expectation Failed',
    'The only expectation that can be met is 100-continue.',
  ],
])('the sandbox answers %s in the form of every error', async (what, text, status, detail) => {
  const { baseUrl, sandbox } = await startSandbox({ errors: 'problem' });
  const answer = await exchange(baseUrl, text);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\\r\\n`));
  expect(answer).toMatch(/\r\ncontent-type: application\/problem\+json\r\n/i);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status: parseInt(status, 10), detail });
  const entered = what === 'no HTTP' ? {} : { other: { [status.slice(0, 3)]: 1 } };
  expect(sandbox.statistics().requests).toEqual(entered);
});

test('the sandbox answers headers that are too large with 431 and JSON', async () => {
  const { call } = await startSandbox();
  const answer = await call('GET', PATH, { headers: { 'x-long': 'x'.repeat(20_000) } });
  expect(answer).toMatchObject({ status: 431, body: { detail: 'The headers are too large.' } });
});

test('the sandbox builds next links from the host that the client addressed, whatever it is', async () => {
  const { call } = await startSandbox({ pageSize: 1 });
  for (const sku of ['A', 'B']) await call('POST', PATH, { body: { sku, name: 'x' } });
  const answer = await call('GET', PATH, { headers: { host: 'dpp.example.com:8443' } });
  expect(answer.body.next).toBe(`http://dpp.example.com:8443${PATH}?page=2`);
  expect((await call('GET', PATH, { headers: { host: '%%%' } })).status).toBe(200);
});

test('the sandbox serves many requests over one connection', async () => {
  const { baseUrl, key } = await startSandbox();
  let connections = 0;
  const agent = new Agent({ connections: 1 }).on('connect', () => {
    connections += 1;
  });
  onTestFinished(() => agent.destroy());
  for (let index = 0; index < 5; index += 1) {
    const { statusCode, body } = await request(`${baseUrl}${PATH}`, {
      dispatcher: agent,
      headers: { 'x-api-key': key },
    });
    await body.dump();
    expect(statusCode).toBe(200);
  }
  expect(connections).toBe(1);
});

test('the sandbox closes at once although clients keep idle connections', async () => {
  const { call, sandbox } = await startSandbox();
  await Promise.all(Array.from({ length: 5 }, () => call('GET', PATH)));
  // The clients keep their connections for four seconds.
  expect(await endsAtOnce(sandbox.close())).toBe(true);
  await sandbox.close();
  await expect(call('GET', PATH)).rejects.toThrow();
});

test('the sandbox cuts delays short when it closes, and answers what was in progress', async () => {
  const { call, clock, sandbox } = await startSandbox({
    faults: [{ operation: 'product.create', kind: 'latency', ms: 3_600_000 }],
  });
  const slow = call('POST', PATH, { body: { sku: 'A', name: 'x' } });
  await clock.sleepers(1);
  // The clock of the test does not move, so the delay does not end by itself.
  const [answer] = await Promise.all([slow, sandbox.close()]);
  expect(answer).toMatchObject({ status: 201, headers: { connection: 'close' } });
  expect(sandbox.statistics()).toMatchObject({
    requests: { 'product.create': { 201: 1 } },
    writes: [{ naturalKey: 'A', count: 1 }],
  });
});

test('the sandbox closes although a client never finishes its request', async () => {
  const { baseUrl, key, sandbox } = await startSandbox();
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nExpect: 100-continue\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`);
  // The interim answer shows that the server has begun to wait for the body.
  await once(socket, 'data');
  socket.on('error', () => socket.destroy());
  const closed = once(socket, 'close');
  await sandbox.close();
  await closed;
});

test('the sandbox answers 500 in JSON, and shows the reason in its events, when its own storage fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => removeFolder(folder));
  const storage = join(folder, 'sandbox.db');
  const { call, sandbox } = await startSandbox({ storage });
  const vandal = new Database(storage);
  onTestFinished(() => void vandal.close());
  const body = { sku: 'A', name: 'x' };
  vandal.exec('ALTER TABLE product RENAME TO hidden');
  const answer = await call('POST', PATH, { body });
  expect(answer).toMatchObject({ status: 500, body: { detail: 'Internal server error.' } });
  vandal.exec('ALTER TABLE hidden RENAME TO product');
  expect(sandbox.inspect().events).toMatchObject([{ ending: 500, error: expect.stringContaining('no such table') }]);
  expect((await call('POST', PATH, { body })).status).toBe(201);
});

test('the sandbox lets nobody without a key hold connections with bodies that never come', async () => {
  const { baseUrl, call } = await startSandbox();
  const { hostname, port } = new URL(baseUrl);
  const head = `POST ${PATH} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{`;
  const closed = Array.from({ length: 300 }, async () => {
    const socket = connect(Number(port), hostname);
    let said = '';
    socket.setEncoding('utf8').on('data', (text: string) => (said += text));
    socket.write(head);
    await once(socket, 'close');
    return said;
  });
  for (const said of await Promise.all(closed)) expect(said).toMatch(/^HTTP\/1\.1 401 /);
  expect((await call('GET', PATH)).status).toBe(200);
});

test('the sandbox takes a bounded number of connections', async () => {
  const { baseUrl } = await startSandbox();
  const { hostname, port } = new URL(baseUrl);
  const states = Array.from({ length: 700 }, () => {
    const state = { socket: connect(Number(port), hostname), ended: false };
    state.socket.on('error', () => undefined).on('close', () => (state.ended = true));
    return state;
  });
  await vi.waitUntil(() => states.filter(({ ended }) => ended).length >= 700 - 512, { timeout: WAIT_MS });
  expect(states.filter(({ ended }) => !ended)).toHaveLength(512);
  for (const { socket } of states) socket.destroy();
});
