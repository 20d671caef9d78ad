// `connector record` writes what a REST source answers, without secrets and without what is about people, and the kit plays it back.

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { rest } from '../../../connectors/rest/index.ts';
import type { Recording } from '../../../src/sdk/rest/exchange.ts';
import { restChecks } from '../../../src/sdk/testing/index.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { type RestCall, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'dpp-record-'));
const TOKEN = 'the-token-of-the-shop-47';
const rows = Array.from({ length: 25 }, (_, at) => ({
  id: at + 1,
  name: `Part ${at + 1}`,
  buyer: `P-${at % 2}`,
  ownerEmail: `person${at % 3}@example.com`,
  contact: { name: at % 2 === 0 ? 'Änne Müller' : 'John Smith', phone: '+49 30 1234567' },
  remark: 'Ask anna.berg@example.org first.',
}));

let server: RestServer;

function answer({ query, path, base }: RestCall) {
  if (path === '/api/export') return { body: { id: 7 } };
  if (path === '/api/jobs/7') return { body: { state: 'DONE', url: `${base}/files/7.jsonl`, lines: rows.length } };
  if (path === '/files/7.jsonl') return { text: rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
  if (path !== '/api/items') return { status: 404 };
  const offset = Number(query.get('offset') ?? 0);
  const since = query.get('since');
  const given = since === null ? rows : rows.slice(0, 2);
  const next = offset + 10 < given.length ? `${base}/api/items?offset=${offset + 10}&after=person0@example.com` : null;
  const text = JSON.stringify({ items: given.slice(offset, offset + 10), next, token: TOKEN, serial: '@' });
  return { text: text.replace('"@"', '9007199254740993') };
}

const STREAM = {
  get: 'items',
  rows: '$.items',
  page: { by: 'nextLink', next: '$.next', size: 10 },
  key: ['id'],
  changes: { by: '$.updated', query: { since: '{{since}}' } },
  reconcile: '7d',
};

const JOB = {
  get: 'export',
  method: 'POST',
  page: {
    by: 'bulkJob',
    status: { get: 'jobs/{{job}}' },
    job: '$.id',
    state: '$.state',
    running: ['RUNNING'],
    done: ['DONE'],
    result: '$.url',
    count: '$.lines',
  },
  key: ['id'],
};

function write(name: string, sources: object[]): string {
  const file = join(folder, name);
  const target = { baseUrl: 'http://127.0.0.1:1', apiKey: 'dpp_of_this_test_0123456789' };
  writeFileSync(file, stringify({ target, ledger: './ledger.db', sources }));
  return file;
}

let config: string;
beforeAll(async () => {
  server = await startRestServer(answer);
  writeFileSync(join(folder, 'items.csv'), 'id\n1\n');
  const mappings = [
    {
      stream: 'items',
      to: 'product',
      key: 'string(row.id)',
      fields: { sku: 'string(row.id)', name: 'string(row.id)' },
    },
  ];
  const options = { base: `${server.base}/api`, auth: { by: 'bearer', token: TOKEN }, limits: { perSecond: 1_000 } };
  config = write('dpp-sync.yaml', [
    { id: 'shop', connector: 'rest', options, streams: { items: STREAM }, mappings },
    { id: 'jobs', connector: 'rest', options, streams: { items: JOB }, mappings },
    { id: 'files', connector: 'csv', streams: { items: { path: './items.csv' } }, mappings },
  ]);
});
afterAll(async () => {
  await server.close();
  await removeFolder(folder);
});

const record = (...args: string[]) => runHere(['connector', 'record', ...args, '-c', config]);
const recordingIn = (file: string): Recording => JSON.parse(readFileSync(file, 'utf8')) as Recording;

describe('connector record', () => {
  it('connector record writes each request of a snapshot and of the changes, and nothing else', async () => {
    const out = join(folder, 'whole');
    const { exitCode, json } = await record('shop', '--out', out, '--redact', 'buyer', '--json');
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({ ok: true, files: [{ stream: 'items', snapshot: 3, changes: 1, whole: true }] });
    const { stream, snapshot, changes } = recordingIn(join(out, 'items.json'));
    expect([stream, snapshot.length, changes.length]).toEqual(['items', 3, 1]);
    expect(changes[0]?.request.path).toContain('since=');
    expect(existsSync(join(folder, 'ledger.db'))).toBe(false);
  });

  it('connector record replaces secrets, the address and what is about people: the same value by the same one, in the same form', () => {
    const file = join(folder, 'whole/items.json');
    const text = readFileSync(file, 'utf8');
    for (const hidden of [
      TOKEN,
      'example.com',
      'example.org',
      'Müller',
      'Smith',
      '1234567',
      new URL(server.base).host,
    ]) {
      expect(text).not.toContain(hidden);
    }
    const items = recordingIn(file).snapshot.flatMap(
      ({ answer: { body } }) => (JSON.parse(body) as { items: typeof rows }).items,
    );
    expect(items.map(({ id, name }) => ({ id, name }))).toEqual(rows.map(({ id, name }) => ({ id, name })));
    for (const of of ['ownerEmail', 'buyer'] as const) {
      const pairs = new Set(items.map((item, at) => `${rows[at]?.[of]} ${item[of]}`));
      expect([...pairs]).toHaveLength(new Set(rows.map((row) => row[of])).size);
    }
    expect(items[0]?.contact.name).toMatch(/^[A-Z][a-z]{3} [A-Z][a-z]{5}$/);
    expect(items[0]?.contact.phone).toMatch(/^\+\d\d \d\d \d{7}$/);
    expect(items[0]?.remark).toMatch(/^Ask \w{4}\.\w{4}@\w{7}\.\w{3} first\.$/);
    expect(text).toContain('9007199254740993');
  });

  it('a value in a link is replaced as in the rows, and the address of the server by a placeholder', () => {
    const [first] = recordingIn(join(folder, 'whole/items.json')).snapshot;
    const { items, next } = JSON.parse(first?.answer.body ?? '') as { items: typeof rows; next: string };
    expect(next).toBe(`https://recorded.invalid/api/items?offset=10&after=${items[0]?.ownerEmail}`);
  });

  it('connector record says what it has replaced, and when it has only the first pages', async () => {
    const { exitCode, stdout } = await record('shop', '--out', join(folder, 'short.json'), '--pages', '2');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Only the first 2 pages');
    expect(stdout).toContain('ownerEmail (3 values)');
    const { snapshot, changes } = recordingIn(join(folder, 'short.json'));
    expect([snapshot.length, changes.length]).toEqual([2, 0]);
  });

  it('connector record refuses a source that sends no requests', async () => {
    const { exitCode, stderr } = await record('files', '--out', join(folder, 'files'));
    expect(exitCode).toBe(2);
    expect(stderr).toContain('sends no requests to a REST API');
    expect(existsSync(join(folder, 'files'))).toBe(false);
  });

  it('connector record refuses a stream that the source does not have', async () => {
    const { exitCode, stderr } = await record('shop', '--stream', 'item', '--out', join(folder, 'none'));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Did you mean items?')]);
  });

  it('the kit plays a recording back, and the rest connector passes', async () => {
    const records = recordingIn(join(folder, 'whole/items.json'));
    const { changes: _, reconcile: __, key, ...stream } = STREAM;
    const checks = restChecks(rest, {
      settings: (base) => ({
        options: { base: `${base}/api`, limits: { perSecond: 1_000, attempts: 1 } },
        stream,
        key,
      }),
      api: { path: '/api/items', rows: '$.items', page: { by: 'nextLink', next: '$.next', size: 10 } },
      records,
    });
    for (const name of [
      'describes the API that was recorded',
      'gives each row once',
      'fails: the way to the next page is lost',
    ]) {
      const check = checks.find((one) => one.name === name);
      expect(check, name).toBeDefined();
      await check?.run();
    }
  });

  it('the kit says where the description of an API differs from its recording', async () => {
    const records = recordingIn(join(folder, 'whole/items.json'));
    const page = { by: 'nextLink', next: '$.following', size: 10 } as const;
    const settings = () => ({
      key: ['id'],
      options: { base: 'http://127.0.0.1:1' },
      stream: { get: 'items', page: { by: 'none' } },
    });
    const checks = restChecks(rest, { settings, api: { path: '/api/items', rows: '$.items', page }, records });
    const check = checks.find(({ name }) => name === 'describes the API that was recorded');
    await expect(check?.run()).rejects.toThrow('leads to no other page, and another one follows');
  });

  it('the file of a bulk job is recorded too, and played back', async () => {
    const out = join(folder, 'job.json');
    expect(await record('jobs', '--out', out)).toMatchObject({ exitCode: 0 });
    const records = recordingIn(out);
    expect(records.snapshot.map(({ request }) => request.path)).toEqual([
      '/api/export',
      '/api/jobs/7',
      '/files/7.jsonl',
    ]);
    const { key, ...stream } = JOB;
    const checks = restChecks(rest, {
      settings: (base) => ({
        options: { base: `${base}/api`, limits: { perSecond: 1_000, attempts: 1 } },
        stream,
        key,
      }),
      api: {
        path: '/api/export',
        rows: '$',
        page: {
          by: 'bulkJob',
          status: '/api/jobs',
          job: '$.id',
          state: '$.state',
          done: 'DONE',
          result: '$.url',
          count: '$.lines',
        },
      },
      records,
    });
    for (const name of ['gives each row once', 'fails: the file of the job lacks its last lines']) {
      const check = checks.find((one) => one.name === name);
      expect(check, name).toBeDefined();
      await check?.run();
    }
  });
});
