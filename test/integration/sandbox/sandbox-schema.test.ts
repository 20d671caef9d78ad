import { expect, test } from 'vitest';
import { z } from 'zod';
import { createKeyStore } from '../../../src/sandbox/access/keys.ts';
import { ENDPOINTS, OPERATION_NAMES } from '../../../src/sandbox/api/endpoints.ts';
import { createLateImports } from '../../../src/sandbox/operations/product-import.ts';
import { createOperations } from '../../../src/sandbox/operations.ts';
import { describeApi } from '../../../src/sandbox/schema/openapi.ts';
import { type SandboxOptions, SandboxSettings } from '../../../src/sandbox/settings/settings.ts';
import { openStorage } from '../../../src/sandbox/storage/storage.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { CASES, prepareGround } from '../../support/sandbox/sandbox-cases.ts';

type Schema = Parameters<typeof z.fromJSONSchema>[0];

interface Media {
  schema: Schema;
}

interface Described {
  operationId: string;
  'x-required-scope': string;
  parameters?: { name: string; in: string }[];
  requestBody?: { required: boolean; content: { 'application/json': Media } };
  responses: Record<string, { content: Record<string, Media> }>;
}

interface Description {
  openapi: string;
  paths: Record<string, Record<string, Described>>;
  components: { schemas: { Error: Schema } };
}

async function startDescribed(options: SandboxOptions = {}) {
  const running = await startSandbox(options);
  const { body, status } = await running.call('GET', '/api/schema/', { key: null });
  expect(status).toBe(200);
  return { ...running, description: body as unknown as Description };
}

test('the OpenAPI document of the sandbox describes every operation once, with its scope, in version 3.1', async () => {
  const { description } = await startDescribed({ reportCreateScope: 'write' });
  expect(description.openapi).toMatch(/^3\.1\./);
  const described = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      [operation.operationId, method.toUpperCase(), path, operation['x-required-scope']].join(' '),
    ),
  );
  const table = OPERATION_NAMES.map((name) => {
    const { method, path, scope } = ENDPOINTS[name];
    return [name, method, path, name === 'report.create' ? 'write' : scope].join(' ');
  });
  expect(new Set(described)).toEqual(new Set(table));
  expect(described).toHaveLength(table.length);
});

const STYLES: [string, SandboxOptions][] = [
  ['the default style', {}],
  ['UUIDs, a cursor and problems', { ids: 'uuid', paging: 'cursor', envelope: 'data', errors: 'problem' }],
  ['nested ids, Link headers and messages', { idAt: 'data.id', paging: 'link-header', errors: 'message' }],
  [
    'other names, 202 and an import that says little',
    { idAt: 'pk', successCodes: 'accepted', import: { answer: 'none' } },
  ],
  [
    '200 throughout, no paging and a summary',
    { idAt: 'uuid', successCodes: 'ok', paging: 'none', import: { answer: 'summary' } },
  ],
  ['an import that is worked on later', { import: { answer: 'later', storesAfterMs: 0 } }],
  ['pages as OData has them', { paging: 'odata' }],
  ['pages as Spring has them', { paging: 'spring' }],
  ['edges as Relay has them, and other ids', { paging: 'relay', idAt: 'uuid' }],
  ['hasMore', { paging: 'has-more', envelope: 'items' }],
  ['a header for the next page', { paging: 'page-header' }],
  ['not a word on pages', { paging: 'silent', envelope: 'data' }],
  ['ids in URLs', { idAt: 'url' }],
  ['items with attributes, in pages of Relay', { entries: 'attributes', idAt: '_links.self.href', paging: 'relay' }],
  ['nested items with attributes', { entries: 'attributes', idAt: 'data.id' }],
];

test.each(STYLES)('the OpenAPI document has the answers and refusals in %s', async (_what, options) => {
  const running = await startDescribed(options);
  const { call, sandbox, description } = running;
  // With UUIDs the ground's numbers name nothing; lists and creations are enough to compare there.
  const numeric = options.ids !== 'uuid';
  await prepareGround(running);
  const token = sandbox.openSession({ organization: 'acme', email: 'o@example.com', role: 'owner' });
  for (const name of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[name];
    const { succeeds } = CASES[name];
    const operation = description.paths[path]?.[method.toLowerCase()];
    const answer = await call(method, succeeds.path, {
      ...(succeeds.body !== undefined && { body: succeeds.body }),
      headers: { authorization: `Bearer ${token}` },
    });
    if (!numeric && answer.status >= 400) continue;
    const described = operation?.responses[String(answer.status)]?.content;
    const [type = '', media] = Object.entries(described ?? {})[0] ?? [];
    expect(answer.headers['content-type'], `${name} ${answer.status}`).toContain(type === '' ? 'described' : type);
    if (type === 'application/pdf') continue;
    const checked = z.fromJSONSchema(media?.schema ?? false).safeParse(answer.body);
    expect(checked.error?.issues, `${name}: ${answer.text}`).toBeUndefined();

    const refused = await call(method, succeeds.path, { key: null });
    expect(Object.keys(operation?.responses['401']?.content ?? {})).toEqual([
      String(refused.headers['content-type']).split(';')[0],
    ]);
    expect(z.fromJSONSchema(description.components.schemas.Error).safeParse(refused.body).success).toBe(true);
  }
});

const VARIANTS: [string, SandboxOptions][] = [
  ...STYLES,
  ['keys obeyed on every write', { idempotency: 'honoured' }],
  ['keys ignored', { idempotency: 'ignored' }],
  ['filters', { listFilters: true }],
  ['filters and Link headers', { listFilters: true, paging: 'link-header' }],
  ['filters and no paging', { listFilters: true, paging: 'none' }],
];

test.each(VARIANTS)(
  'the description has every status that an operation answers, and asks for a body where one is needed, with %s',
  async (_what, options) => {
    const running = await startDescribed(options);
    const { call, clock, sandbox, description } = running;
    await prepareGround(running);
    const token = sandbox.openSession({ organization: 'acme', email: 'o@example.com', role: 'owner' });
    for (const name of OPERATION_NAMES) {
      const { method, path } = ENDPOINTS[name];
      const { succeeds, invalid = [], elsewhere, blocked = [], beyond = [] } = CASES[name];
      const headers = { authorization: `Bearer ${token}` };
      const ask = (at: string, body?: unknown, more: Record<string, string> = {}) =>
        call(method, at, { ...(body !== undefined && { body }), headers: { ...headers, ...more } });
      const operation = description.paths[path]?.[method.toLowerCase()];

      const bare = await ask(succeeds.path);
      if (options.ids !== 'uuid') expect(operation?.requestBody?.required ?? false, name).toBe(bare.status === 400);
      for (const body of invalid) await ask(succeeds.path, body);
      for (const request of blocked) await ask(request.path);
      for (const at of [...beyond, ...(beyond.length > 0 ? [`${succeeds.path}?cursor=x`] : [])]) await ask(at);
      if (elsewhere !== undefined) await ask(elsewhere.replace('{}', '99'), succeeds.body);
      if (method !== 'GET') {
        await ask(succeeds.path, '{}', { 'content-type': 'text/plain' });
        await ask(succeeds.path, ' '.repeat(1_048_577));
        sandbox.faults.add({ operation: name, kind: 'latency', ms: 1000, count: 1 });
        const first = ask(succeeds.path, succeeds.body, { 'idempotency-key': name });
        await clock.sleepers(1);
        await ask(succeeds.path, succeeds.body, { 'idempotency-key': name });
        clock.advance(1000);
        await first;
        await ask(succeeds.path, { other: 1 }, { 'idempotency-key': name });
      }
      const answered = Object.keys(sandbox.statistics().requests[name] ?? {});
      expect(Object.keys(operation?.responses ?? {}), name).toEqual(expect.arrayContaining(answered));
    }
  },
);

/** A query that remembers which parameters were read. */
class AskedQuery extends URLSearchParams {
  readonly asked = new Set<string>();
  override get(name: string): string | null {
    this.asked.add(name);
    return super.get(name);
  }
  override has(name: string): boolean {
    this.asked.add(name);
    return super.has(name);
  }
}

test.each(VARIANTS)('the OpenAPI document lists the query parameters read, with %s', (_what, options) => {
  const settings = SandboxSettings.parse(options);
  const storage = openStorage(settings);
  const { collections, database, ids, organizations } = storage;
  const keys = createKeyStore(database, organizations, ids);
  const lateImports = createLateImports(storage);
  const operations = createOperations({ collections, ids, keys, settings, lateImports });
  const { paths } = describeApi(operations, settings) as unknown as Description;
  for (const name of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[name];
    const query = new AskedQuery();
    operations[name].execute({ organizationId: 1, params: {}, url: () => path, query, body: {}, bodyText: '', now: 0 });
    const listed = paths[path]?.[method.toLowerCase()]?.parameters?.filter((one) => one.in === 'query') ?? [];
    expect(listed.map((one) => one.name).sort(), name).toEqual([...query.asked].sort());
  }
  database.close();
});

test('the OpenAPI document lists Idempotency-Key where it is obeyed, and nowhere else', async () => {
  for (const idempotency of ['publish-only', 'honoured', 'ignored'] as const) {
    const { call, description, sandbox } = await startDescribed({ idempotency });
    const token = sandbox.openSession({ organization: 'acme', email: 'o@example.com', role: 'owner' });
    for (const name of OPERATION_NAMES) {
      const { method, path } = ENDPOINTS[name];
      const listed = description.paths[path]?.[method.toLowerCase()]?.parameters ?? [];
      // If the operation obeys the header, a header that is too long is refused before all other checks.
      const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'k'.repeat(256) };
      const { text } = await call(method, CASES[name].succeeds.path, { body: { unheard_of: 1 }, headers });
      const isListed = listed.some((one) => one.name === 'Idempotency-Key' && one.in === 'header');
      expect(isListed, `${name} ${idempotency}`).toBe(text.includes('Idempotency-Key must'));
    }
  }
});

test('the OpenAPI document describes bodies by their validation: what succeeds as right, unknown fields as wrong', async () => {
  const { description } = await startDescribed();
  for (const name of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[name];
    const schema = description.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json'].schema;
    if (method === 'GET') {
      expect(schema).toBeUndefined();
      continue;
    }
    const body = z.fromJSONSchema(schema ?? false);
    expect(body.safeParse(CASES[name].succeeds.body ?? {}).success, name).toBe(true);
    expect(body.safeParse({ unheard_of: 1 }).success, name).toBe(false);
  }
});

test('the OpenAPI document shows the elements of lists, the choices and the bounds of texts', async () => {
  const { description } = await startDescribed();
  const bodyOf = (path: string) =>
    JSON.stringify(description.paths[path]?.['post']?.requestBody?.content['application/json'].schema);
  expect(bodyOf('/api/products/')).toMatch(/"enum":\["DRAFT","ACTIVE","ARCHIVED"\]/);
  expect(bodyOf('/api/products/')).toMatch(/"maxLength":255/);
  expect(bodyOf('/api/products/')).toContain('^[A-Z]{2}$');
  expect(bodyOf('/api/materials/')).toMatch(/"composition".*"mass_fraction"/);
});

test('the sandbox serves a readable page that names every operation and loads nothing', async () => {
  const { call } = await startSandbox();
  const page = await call('GET', '/api/docs/', { key: null });
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  for (const name of OPERATION_NAMES) {
    expect(page.text).toContain(`<h2>${ENDPOINTS[name].title}</h2>`);
    expect(page.text).toContain(`${ENDPOINTS[name].method} ${ENDPOINTS[name].path}`);
  }
  expect(page.text).not.toMatch(/<script|src=|https?:\/\/(?!json-schema)/);
});
