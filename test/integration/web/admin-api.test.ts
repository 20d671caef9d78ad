import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TaskDocument } from '../../../src/operations/documents.ts';
import { OPERATIONS } from '../../../src/operations/list.ts';
import { API_OPERATIONS } from '../../../src/web/api/api-routes.ts';
import type { ApiOperation } from '../../../src/web/api/operation.ts';
import { Problem } from '../../../src/web/server/answers.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createProductsWorld, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

interface Given {
  method?: string;
  body?: unknown;
  token?: string;
}

describe('the admin API', () => {
  let web: ServedWorld;

  beforeAll(async () => {
    web = await startDaemon(await createProductsWorld());
    const { daemon } = web;
    await daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await daemon.runtime.queues.failed('deliver')).length === 1, { timeout: WAIT_MS });
    await vi.waitUntil(async () => (await daemon.runtime.reads.itemCounts()).product.delivered === 1, {
      timeout: WAIT_MS,
    });
  });
  afterAll(() => web.remove());

  async function ask(path: string, { method = 'GET', body, token = WEB_TOKEN }: Given = {}): Promise<Response> {
    return fetch(`${web.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
  async function problemOf(answer: Response) {
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    return Problem.parse(await answer.json());
  }
  /** The result of an operation once it has ended. */
  async function resultOf(answer: Response): Promise<unknown> {
    expect(answer.status).toBe(202);
    const { id } = TaskDocument.parse(await answer.json());
    expect(answer.headers.get('location')).toBe(`/api/v1/operations/${id}`);
    return vi.waitUntil(
      async () => {
        const { outcome } = TaskDocument.parse(await (await ask(`/operations/${id}`)).json());
        return outcome;
      },
      { timeout: WAIT_MS },
    );
  }

  it('the admin API has each operation, with its role', () => {
    const roles = new Map(API_OPERATIONS.map(({ id, role }) => [id, role]));
    const idOf = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    expect(OPERATIONS.map(({ name }) => roles.get(idOf(name)))).toEqual(OPERATIONS.map(({ role }) => role));
  });

  it('the admin API serves an OpenAPI document that has each operation, with an id of its own', async () => {
    const document = (await (await ask('/openapi.json')).json()) as {
      openapi: string;
      paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
    };
    expect(document.openapi).toBe('3.1.1');
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(described).toHaveLength(API_OPERATIONS.length);
    expect(new Set(described.map((line) => line.split(' ')[2])).size).toBe(API_OPERATIONS.length);
    expect(JSON.stringify(document)).not.toContain('$schema');
  });

  it('the admin API gives, for each GET without a parameter in its path, an answer that fits its schema', async () => {
    // A daemon without a file of cases has nothing to test: test-api.test.ts.
    const isPlain = ({ method, path }: ApiOperation) => method === 'GET' && !path.includes(':') && path !== '/test';
    const plain = API_OPERATIONS.filter(isPlain);
    expect(plain.length).toBeGreaterThan(8);
    for (const operation of plain) await assertFits(operation, operation.path);
  });

  it('the admin API shows an item, its passport and why it is not published', async () => {
    await assertFits(operationOf('showItem'), '/items/product/A-1');
    await assertFits(operationOf('why'), '/why/A-1');
    const { rows } = (await (await ask('/items?kind=product&search=A-')).json()) as { rows: { key: string }[] };
    expect(rows.map(({ key }) => key).sort()).toEqual(['A-1', 'A-2']);
  });

  it('the admin API lists the causes of what is stuck, with their members', async () => {
    const causes = (await (await ask('/causes')).json()) as { id: string; count: number; type: string }[];
    expect(causes).toEqual([expect.objectContaining({ type: 'rejected', count: 1 })]);
    const id = causes[0]?.id ?? '';
    await assertFits(operationOf('showCause'), `/causes/${id}`);
    await assertFits(operationOf('listCauseMembers'), `/causes/${id}/members`);
    const noted = await ask(`/causes/${id}/note`, {
      method: 'PUT',
      body: { text: 'Asked the ERP team.', owner: 'Kim' },
    });
    expect(noted.status).toBe(200);
    const { note } = (await (await ask(`/causes/${id}`)).json()) as { note: unknown };
    expect(note).toMatchObject({ text: 'Asked the ERP team.', owner: 'Kim', by: 'token' });
  });

  it('the admin API gives a list page by page', async () => {
    const first = (await (await ask('/items?limit=1')).json()) as { rows: { key: string }[]; next: string };
    const second = (await (await ask(`/items?limit=1&after=${encodeURIComponent(first.next)}`)).json()) as typeof first;
    expect([...first.rows, ...second.rows].map(({ key }) => key).sort()).toEqual(['A-1', 'A-2']);
  });

  it('the admin API counts by a dry run what a replay would send, as an operation that ends', async () => {
    const started = await ask('/operations/replay', { method: 'POST', body: { states: ['rejected'], dryRun: true } });
    expect(await resultOf(started)).toMatchObject({ ok: true, result: { dryRun: true } });
  });

  it('the admin API replays all stuck items where no state is named, as the command does', async () => {
    for (const body of [{}, { keys: ['A-2'] }]) {
      const started = await ask('/operations/replay', { method: 'POST', body: { ...body, dryRun: true } });
      expect(await resultOf(started)).toMatchObject({ ok: true, result: { records: 1 } });
    }
  });

  it('the admin API sends by force only items that are named by key, and lets operators alone replay so', async () => {
    const causes = (await (await ask('/causes')).json()) as { id: string }[];
    for (const body of [{}, { keys: ['A-2'], cause: causes[0]?.id }]) {
      const started = await ask('/operations/replay', { method: 'POST', body: { ...body, force: true, dryRun: true } });
      expect(await resultOf(started)).toMatchObject({ ok: false, code: 'usage' });
    }
    const named = await ask('/operations/replay', {
      method: 'POST',
      body: { keys: ['A-2'], force: true, dryRun: true },
    });
    expect(await resultOf(named)).toMatchObject({ ok: true });
    expect([operationOf('replay').role, operationOf('replayCause').role]).toEqual(['operator', 'editor']);
  });

  it('the admin API writes its operations to the audit log, with the person and the outcome', async () => {
    await resultOf(await ask('/operations/sync', { method: 'POST', body: {} }));
    const { rows } = (await (await ask('/audit')).json()) as { rows: object[] };
    expect(rows).toContainEqual(
      expect.objectContaining({
        who: 'token',
        via: 'api',
        action: 'sync',
        outcome: expect.stringMatching(/^Done\. erp\/default: 2 rows read, /),
      }),
    );
  });

  it('the admin API sets a value of a lookup table, and removes it', async () => {
    expect((await ask('/lookup-values/status.csv/20', { method: 'PUT', body: { value: 'ARCHIVED' } })).status).toBe(
      200,
    );
    const values = (await (await ask('/lookup-values')).json()) as object[];
    expect(values).toEqual([
      expect.objectContaining({ lookup: 'status.csv', key: '20', value: 'ARCHIVED', by: 'token' }),
    ]);
    expect((await ask('/lookup-values/status.csv/20', { method: 'DELETE' })).status).toBe(200);
    expect(await (await ask('/lookup-values')).json()).toEqual([]);
  });

  it('the admin API shows the state of the daemon, and has a queue paused and resumed', async () => {
    const status = async () => (await (await ask('/status')).json()) as Record<string, unknown>;
    expect(await status()).toMatchObject({
      status: 'ok',
      guarded: [],
      sources: [{ source: 'erp', nextRunAt: null, pausedUntil: null }],
      pausedQueues: [],
      requestsPerSecond: { allowed: null },
    });
    const send = async (path: string) => (await ask(path, { method: 'POST' })).json();
    expect(await send('/queues/map/pause')).toEqual({ paused: true });
    expect(await status()).toMatchObject({ pausedQueues: ['map'] });
    expect(await send('/queues/map/resume')).toEqual({ paused: false });
    expect(await status()).toMatchObject({ pausedQueues: [] });
  });

  it('the admin API shows an item by a key in the query, which a path may be too short for', async () => {
    const [byPath, byQuery] = ['/items/product/A-1', '/items/product?key=A-1'];
    expect(await (await ask(byQuery)).json()).toEqual(await (await ask(byPath)).json());
    const long = 'A'.repeat(5000);
    const problem = await problemOf(await ask(`/items/product/${long}`));
    expect(problem).toMatchObject({ status: 414, title: 'The address is too long' });
    expect(problem.detail).toContain('/items/product?key=');
    expect(await problemOf(await ask(`/items/product?key=${long}`))).toMatchObject({ status: 404 });
  });

  it('the admin API checks the sources, the queue and the API', async () => {
    const result = await resultOf(await ask('/operations/check-settings', { method: 'POST' }));
    expect(result).toMatchObject({
      ok: true,
      result: { streams: [{ source: 'erp', problem: null }], queue: { problem: null }, api: { problem: null } },
    });
  });

  it('the admin API reads the publications of the platform, a page a line', async () => {
    const answer = await ask('/publications');
    expect(answer.headers.get('content-type')).toContain('application/x-ndjson');
    // Nothing was published, so there is no page.
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('');
  });

  describe('answers with a problem document', () => {
    it('the admin API answers with a problem document where the token is wrong', async () => {
      const answer = await ask('/items', { token: 'not-the-token-0123456789' });
      expect(answer.status).toBe(401);
      expect(await problemOf(answer)).toMatchObject({ status: 401, title: 'Not logged in' });
    });

    it('the admin API answers with a problem document where there is no such operation', async () => {
      const answer = await ask('/nothing');
      expect(answer.status).toBe(404);
      expect(await problemOf(answer)).toMatchObject({ status: 404 });
    });

    it.each(['%', '%zz', 'A%FF'])(
      'the admin API answers with a problem document where the address has %s, which cannot be decoded',
      async (key) => {
        const answer = await ask(`/items/product/${key}`);
        expect(answer.status).toBe(400);
        expect(await problemOf(answer)).toMatchObject({ status: 400, detail: expect.stringContaining('%25') });
        const page = await fetch(`${web.url}/items/product/${key}`, { headers: { accept: 'text/html' } });
        expect(page.status).toBe(400);
        expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(await page.text()).toContain('<p>The address cannot be read:');
      },
    );

    it('the admin API answers with a problem document where the item is unknown', async () => {
      const answer = await ask('/items/product/nobody');
      expect(answer.status).toBe(404);
      expect((await problemOf(answer)).detail).toBe('There is no product "nobody" in the ledger.');
    });

    it('the admin API answers with a problem document where the body does not fit, and names the member', async () => {
      const answer = await ask('/operations/replay', { method: 'POST', body: { states: ['lost'] } });
      expect(answer.status).toBe(422);
      expect((await problemOf(answer)).errors?.map(({ path }) => path)).toEqual(['body.states.0']);
    });

    it('the admin API answers with a problem document where the body is no JSON', async () => {
      const answer = await fetch(`${web.url}/api/v1/operations/sync`, {
        method: 'POST',
        headers: { authorization: `Bearer ${WEB_TOKEN}`, 'content-type': 'application/json' },
        body: '{"sources":',
      });
      expect(answer.status).toBe(400);
      expect(await problemOf(answer)).toMatchObject({ status: 400 });
    });

    it('the admin API answers with a problem document where a query parameter is unknown, and names the known ones', async () => {
      const answer = await ask('/passports?stat=published');
      expect(answer.status).toBe(422);
      const message = 'Unrecognized key: "stat". Allowed is: state, source, search, after, limit.';
      expect((await problemOf(answer)).errors).toEqual([{ path: 'query', message }]);
    });

    it('the admin API answers with a problem document where a member of the body is unknown, and starts nothing', async () => {
      for (const [path, body] of [
        ['replay', { state: ['rejected'] }],
        ['change-passports', { status: 'unpublished', products: null, filter: { stat: 'initialized' } }],
      ] as const) {
        const answer = await ask(`/operations/${path}`, { method: 'POST', body });
        expect(answer.status).toBe(422);
        const [error] = (await problemOf(answer)).errors ?? [];
        expect(error?.message).toMatch(/^Unrecognized key: "stat/);
      }
    });

    it('no operation of the admin API ignores a query parameter or a member of the body', () => {
      const ignores = (schema: ApiOperation['query'] | ApiOperation['body']) =>
        schema !== null &&
        schema.safeParse({ colour: 'red' }).error?.issues.some(({ code }) => code === 'unrecognized_keys') !== true;
      const lax = API_OPERATIONS.filter(({ query, body }) => ignores(query) || ignores(body));
      expect(lax.map(({ id }) => id)).toEqual([]);
    });
  });

  function operationOf(id: string): ApiOperation {
    const operation = API_OPERATIONS.find((one) => one.id === id);
    if (operation === undefined) throw new Error(`There is no operation ${id}.`);
    return operation;
  }

  async function assertFits({ answer: expected }: ApiOperation, path: string): Promise<void> {
    const answer = await ask(path);
    expect(answer.status, path).toBe(expected.status);
    if ('contentType' in expected) {
      expect(answer.headers.get('content-type'), path).toContain(expected.contentType);
      return;
    }
    expect(expected.schema.safeParse(await answer.json()).error?.issues ?? [], path).toEqual([]);
  }
});
