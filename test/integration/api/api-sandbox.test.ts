// The whole client against the whole sandbox, which knows nothing of it but the API document.

import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiClient, createApiClient } from '../../../src/api/api-client.ts';
import { compareOpenApi } from '../../../src/api/openapi/compare.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { Publication, RemoteItem, Report, Write } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonValue } from '../../../src/lib/json.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type SandboxOptions, SandboxSettings } from '../../../src/sandbox/settings/settings.ts';
import { UNPACED } from './unpaced.ts';

interface World {
  sandbox: Sandbox;
  client: ApiClient;
  keyId: string | number;
  write: (operation: Operation, payload: Write['payload'], more?: Partial<Write>) => Promise<Outcome>;
  close(): Promise<void>;
}

async function openWorld(
  options: SandboxOptions,
  scopes: ('read' | 'write' | 'publish')[] = ['read', 'write', 'publish'],
) {
  const sandbox = await createSandbox(options, { clock: systemClock });
  const baseUrl = await sandbox.listen();
  const { key, id: keyId } = sandbox.issueKey({ organization: 'acme', name: 'test', scopes });
  const secrets = createSecretStore();
  const client = createApiClient({
    baseUrl,
    profile: Profile.parse({}),
    apiKey: { read: () => Promise.resolve(key) },
    secrets,
    pacing: UNPACED,
    clock: systemClock,
    log: createLogger({ level: 'error', secrets, write: () => undefined }),
    version: '1.2.3',
  });
  let number = 0;
  const world: World = {
    sandbox,
    client,
    keyId,
    async write(operation, payload, more = {}) {
      number += 1;
      const write = client.target.encode({ operation, payload, refs: {}, remoteId: null, ...more });
      return (await client.target.send({ operation, idempotencyKey: `k-${number}`, ...write })).outcome;
    },
    async close() {
      await client.close();
      await sandbox.close();
    },
  };
  return world;
}

function idOf(outcome: Outcome): string | number {
  const id: JsonValue = outcome.kind === 'accepted' ? outcome.remoteId : null;
  if (typeof id !== 'string' && typeof id !== 'number') throw new Error(`no id in ${JSON.stringify(outcome)}`);
  return id;
}

/** Everything that a client does with the API, once. */
async function walk({ sandbox, client, keyId, write }: World, style: SandboxOptions): Promise<void> {
  const { target, reader, admin } = client;
  const chair = idOf(await write('product.create', { sku: 'A', name: 'Chair', country_of_origin: 'DE' }));
  const bench = idOf(await write('product.create', { sku: 'B', name: 'Bench' }));
  const steel = idOf(await write('material.create', { code: 'ST', name: 'Steel' }));
  const part = await write(
    'bom_item.create',
    { quantity: '2.5', unit: 'KGM' },
    { refs: { product: chair, material: steel } },
  );
  expect(part.kind).toBe('accepted');
  expect(await write('product.create', { sku: 'A', name: 'Again' })).toMatchObject({ kind: 'exists' });
  expect(
    await write('bom_item.create', { quantity: '-1' }, { refs: { product: chair, material: steel } }),
  ).toMatchObject({
    kind: 'refused',
    detail: { fields: { quantity: expect.any(String) } },
  });

  expect(await write('passport.init', {}, { remoteId: chair })).toMatchObject({ kind: 'accepted', remoteId: null });
  expect(await write('passport.init', {}, { remoteId: chair })).toMatchObject({ kind: 'gated' });
  expect(await write('passport.publish', {}, { remoteId: chair })).toMatchObject({
    kind: 'gated',
    detail: { status: 409, message: expect.stringContaining('materials[ST].origin_country') },
  });
  expect((await write('material.update', { origin_country: 'SE' }, { remoteId: steel })).kind).toBe('accepted');
  expect((await write('passport.publish', {}, { remoteId: chair })).kind).toBe('accepted');
  expect((await write('passport.publish', {}, { remoteId: bench })).kind).toBe('gated');

  const publications: Publication[] = [];
  expect(await reader.publications((page) => publications.push(...page))).toMatchObject({ complete: true });
  expect(publications).toMatchObject([
    { productId: chair, sku: 'A', status: 'published', isPublic: true, url: expect.stringMatching(/^https:/) },
  ]);
  expect((await write('passport.unpublish', {}, { remoteId: chair })).kind).toBe('accepted');
  expect((await write('passport.publish', {}, { remoteId: chair })).kind).toBe('accepted');
  publications.length = 0;
  await reader.publications((page) => publications.push(...page));
  expect(publications.map(({ isPublic, withdrawnAt }) => [isPublic, withdrawnAt !== null])).toEqual([
    [false, true],
    [true, false],
  ]);

  let pdf = '';
  const result = await reader.passportPdf(chair, {
    write(chunk) {
      pdf += Buffer.from(chunk).toString('latin1');
      return Promise.resolve();
    },
  });
  expect(result).toEqual({ ok: true, bytes: pdf.length });

  await walkImport({ client, style, benchId: bench });

  const report = await reader.createReport({ body: { type: 'completeness' }, idempotencyKey: 'r-1' });
  const reports: Report[] = [];
  expect(await reader.reports((page) => reports.push(...page))).toMatchObject({ complete: true });
  expect(reports).toMatchObject([{ id: idOf(report.outcome), type: 'completeness', status: 'completed' }]);

  expect(await target.probe()).toMatchObject({
    denied: null,
    plan: 'yes',
    scopes: { read: 'yes', write: 'yes', publish: 'yes' },
  });

  const viewer = sandbox.openSession({ organization: 'acme', email: 'v@acme.example', role: 'member' });
  const owner = sandbox.openSession({ organization: 'acme', email: 'o@acme.example', role: 'owner' });
  const revoke = async (token: string) =>
    (await admin.revokeKey({ keyId, token, idempotencyKey: `rv-${token.length}` })).outcome;
  expect(await revoke(viewer)).toMatchObject({ kind: 'denied', by: 'scope' });
  expect(await revoke('eyJhbGciOiJub25lIn0.e30.')).toMatchObject({ kind: 'denied', by: 'key' });
  expect((await target.probe()).denied).toBeNull();
  expect((await revoke(owner)).kind).toBe('accepted');
  expect(await target.probe()).toMatchObject({ denied: { by: 'key' }, plan: 'unknown' });
}

/** An import of an existing, a new and a bad product; then the list, for the products that the answer does not settle. */
async function walkImport({
  client,
  style,
  benchId,
}: {
  client: ApiClient;
  style: SandboxOptions;
  benchId: string | number;
}) {
  const { target } = client;
  const { memberCount, ...encoded } = target.encodeImport([
    { sku: 'B', name: 'Long bench' },
    { sku: 'C', name: 'Stool' },
    { sku: 'D', name: 'Desk', country_of_origin: 'Germany' },
  ]);
  expect(memberCount).toBe(3);
  const sent = { operation: 'product.import', idempotencyKey: 'i-1', ...encoded, members: ['B', 'C', 'D'] } as const;
  const { outcome } = await target.send(sent);
  const upserts = style.import?.upserts ?? true;
  const bad = { kind: 'refused', detail: { fields: { country_of_origin: expect.any(String) } } };
  const [b, c, d] = outcome.kind === 'accepted' ? (outcome.members ?? []) : [];
  if ((style.import?.answer ?? 'per-row') === 'per-row') {
    expect(b).toMatchObject(upserts ? { kind: 'accepted', effect: 'updated', remoteId: benchId } : { kind: 'refused' });
    expect(c).toMatchObject({ kind: 'accepted', effect: 'created' });
    expect(d).toMatchObject(bad);
  } else {
    expect([b, c, d]).toEqual([{ kind: 'unknown' }, { kind: 'unknown' }, { kind: 'unknown' }]);
  }
  const items: RemoteItem[] = [];
  expect(await target.list('product', (page) => items.push(...page))).toMatchObject({ complete: true });
  expect(items.map(({ naturalKey }) => naturalKey)).toEqual(['A', 'B', 'C']);
  expect(items[1]?.remoteId).toBe(benchId);
}

const style = fc.record(
  {
    ids: fc.constantFrom('numeric' as const, 'uuid' as const),
    idAt: fc.constantFrom('id' as const, 'uuid' as const, 'pk' as const, 'data.id' as const),
    successCodes: fc.constantFrom('created' as const, 'ok' as const, 'accepted' as const),
    errors: fc.constantFrom('drf' as const, 'problem' as const, 'message' as const),
    pageSize: fc.integer({ min: 1, max: 4 }),
    paging: fc.constantFrom(...SandboxSettings.shape.paging.unwrap().options),
    envelope: fc.constantFrom('results' as const, 'data' as const, 'items' as const),
    idempotency: fc.constantFrom('honoured' as const, 'publish-only' as const, 'ignored' as const),
    import: fc.record({
      upserts: fc.boolean(),
      answer: fc.constantFrom('per-row' as const, 'summary' as const, 'none' as const),
    }),
  },
  { requiredKeys: [] },
);

test('the client does everything that the document describes, with each style of server', async () => {
  await fc.assert(
    fc.asyncProperty(style, async (options) => {
      const world = await openWorld(options);
      try {
        await walk(world, options);
      } finally {
        await world.close();
      }
    }),
    { numRuns: 40, examples: [[{}]] },
  );
});

test.each([
  ['read', { read: 'yes', write: 'no', publish: 'no' }],
  ['write', { read: 'no', write: 'yes', publish: 'no' }],
  ['publish', { read: 'no', write: 'no', publish: 'yes' }],
] as const)('a probe of a key with the scope %s finds exactly this scope and writes nothing', async (scope, scopes) => {
  const world = await openWorld({}, [scope]);
  onTestFinished(() => world.close());
  expect(await world.client.target.probe()).toMatchObject({ denied: null, plan: 'yes', scopes });
  expect(world.sandbox.statistics().writes).toEqual([]);
});

test('a plan without API access is reported as such', async () => {
  const world = await openWorld({});
  onTestFinished(() => world.close());
  world.sandbox.setPlan('acme', 'standard');
  expect(await world.client.target.probe()).toMatchObject({ denied: { by: 'plan' }, plan: 'no' });
  expect(await world.client.reader.passportPdf(1, { write: () => Promise.resolve() })).toMatchObject({
    ok: false,
    outcome: { kind: 'denied', by: 'plan' },
  });
});

test('the OpenAPI document of the sandbox agrees with the default profile, whatever style it is of', async () => {
  await fc.assert(
    fc.asyncProperty(style, async (options) => {
      const sandbox = await createSandbox(options, { clock: systemClock });
      try {
        const answer = await fetch(`${await sandbox.listen()}/api/schema/`);
        const result = compareOpenApi(await answer.text(), Profile.parse({}));
        expect(result.ok && result.value.filter(({ weight }) => weight === 'breaks')).toEqual([]);
      } finally {
        await sandbox.close();
      }
    }),
    { numRuns: 20, examples: [[{}]] },
  );
});

test('an OpenAPI document of the sandbox shows what to set where it is not as assumed', async () => {
  const sandbox = await createSandbox({ import: { rowsMax: 20 }, reportCreateScope: 'write' }, { clock: systemClock });
  onTestFinished(() => sandbox.close());
  const text = await (await fetch(`${await sandbox.listen()}/api/schema/`)).text();
  const result = compareOpenApi(text, Profile.parse({}));
  const set = Object.fromEntries((result.ok ? result.value : []).map(({ setting, value }) => [setting, value]));
  expect(set).toMatchObject({ 'imports.membersMax': 20, 'scopes.reportCreate': 'write' });
});
