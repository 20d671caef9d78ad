import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/lib/json.ts';
import { startSandbox } from '../support/sandbox/sandbox-caller.ts';
import { createVirtualTime } from '../support/time/virtual-time.ts';
import { KEY_MODE_NAMES, KEY_MODES } from './script/script.ts';
import { createModelApi } from './world/model-api.ts';
import type { Effect } from './world/reporting-operations.ts';

const product = { sku: 'A-1', name: 'Kettle', country_of_origin: 'DE' };

/** Each write with its key. A key that is used again gets the stored answer. */
const WRITES: readonly [path: string, key: string, body?: object][] = [
  ['/api/products/', 'k1', product],
  ['/api/products/', 'k1', product],
  ['/api/products/', 'k2', product],
  ['/api/products/', 'k1', { ...product, name: 'Pot' }],
  ['/api/materials/', 'k3', { code: 'M-1', name: 'Steel', origin_country: 'DE' }],
  ['/api/materials/', 'k4', { code: 'M-2', name: 'Tin', origin_country: 'ZZ' }],
  ['/api/materials/', 'k4', { code: 'M-2', name: 'Tin', origin_country: 'ZZ' }],
  ['/api/dpp/1/init/', 'k5'],
  ['/api/dpp/1/publish/', 'k6'],
  ['/api/bom-items/', 'k7', { product: 1, material: 1, quantity: '2' }],
  ['/api/bom-items/', 'k7', { product: 1, material: 1, quantity: '2' }],
  ['/api/dpp/1/publish/', 'k6'],
  ['/api/dpp/1/publish/', 'k8'],
  ['/api/dpp/1/publish/', 'k8'],
  ['/api/imports/products/', 'k9', { products: [{ ...product, name: 'Pan' }] }],
  ['/api/imports/products/', 'k9', { products: [{ ...product, name: 'Pan' }] }],
];
const FAILURE = { kind: 'status', status: 500, effect: 'none' } as const;

/** The status and body of an answer, without the times in the body. */
function contentOf(status: number, body: JsonValue): unknown {
  const names = ['created_at', 'updated_at', 'published_at'];
  if (!isJsonObject(body)) return { status, body };
  return { status, body: Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name))) };
}

function importOf(key: string, skus: readonly string[]) {
  return {
    method: 'POST' as const,
    path: '/api/imports/products/',
    headers: ['Idempotency-Key', key],
    body: JSON.stringify(skus.map((sku) => ({ ...product, sku }))),
    totalMs: 1000,
    bytesMax: 1_000_000,
  };
}

describe('the platform of the model', () => {
  it('the platform of the model stores the rows of a late import in virtual time, and shows them then', async () => {
    const reported: [sku: string | null, key: string][] = [];
    const time = createVirtualTime(Date.UTC(2027, 0, 1));
    const witness = {
      write: () => () => undefined,
      effect: ({ sku, key }: Effect) => void reported.push([sku, key]),
    };
    const settings = { import: { answer: 'later', storesAfterMs: 60_000 } } as const;
    const api = createModelApi({ settings, time, witness, timeoutMs: 1000, random: () => 0.5 });
    const importing = api.transport().exchange(importOf('k1', ['A-1', 'A-2']));
    await time.pass(1000);
    expect(await importing).toMatchObject({ kind: 'answer', status: 202 });
    expect([api.products(), reported]).toEqual([[], []]);
    await time.pass(60_000);
    expect(api.products()).toMatchObject([{ sku: 'A-1' }, { sku: 'A-2' }]);
    expect(reported).toEqual([
      ['A-1', 'k1'],
      ['A-2', 'k1'],
    ]);
  });

  it('the platform of the model leaves an import without an answer where it fails in silence, and shows the stored rows', async () => {
    const reported: (string | null)[] = [];
    const time = createVirtualTime(Date.UTC(2027, 0, 1));
    const witness = { write: () => () => undefined, effect: ({ sku }: Effect) => void reported.push(sku) };
    const api = createModelApi({ settings: {}, time, witness, timeoutMs: 1000, random: () => 0.5 });
    const fault = { kind: 'partial-import', rows: 1, ending: 'silence' } as const;
    api.add({ operation: 'product.import', count: 1, at: 'platform', fault });
    const importing = api.transport().exchange(importOf('k1', ['A-1', 'A-2']));
    await time.pass(500);
    expect(api.working()).toBe(1);
    await time.pass(1000);
    expect(await importing).toMatchObject({ kind: 'silence', sent: true });
    expect(reported).toEqual(['A-1']);
  });

  it.each(KEY_MODE_NAMES)('the platform of the model answers as the sandbox where keys are: %s', async (mode) => {
    const { call, sandbox } = await startSandbox(KEY_MODES[mode]);
    const time = createVirtualTime(Date.UTC(2027, 0, 1));
    const witness = { write: () => () => undefined, effect: () => undefined };
    const api = createModelApi({ settings: KEY_MODES[mode], time, witness, timeoutMs: 1000, random: () => 0.5 });
    const transport = api.transport();

    async function both(path: string, key: string, body: object | undefined): Promise<[unknown, unknown]> {
      const real = await call('POST', path, { headers: { 'idempotency-key': key }, ...(body && { body }) });
      const headers = ['Idempotency-Key', key];
      const text = body === undefined ? null : JSON.stringify(body);
      const answering = transport.exchange({
        method: 'POST',
        path,
        headers,
        body: text,
        totalMs: 1000,
        bytesMax: 1_000_000,
      });
      await time.pass(1000);
      const answer = await answering;
      if (answer.kind !== 'answer') throw new Error('The model gave no answer.');
      return [
        contentOf(answer.status, JSON.parse(answer.body) as JsonValue),
        contentOf(real.status, real.body as never),
      ];
    }

    for (const [path, key, body] of WRITES) {
      const [model, real] = await both(path, key, body);
      expect(model, `${path} under ${key}`).toEqual(real);
    }
    // The platform itself fails. In one of the modes it keeps this answer and repeats it.
    api.add({ operation: 'product.create', count: 1, at: 'platform', fault: FAILURE });
    sandbox.faults.add({ operation: 'product.create', count: 1, ...FAILURE });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const [model, real] = await both('/api/products/', 'k10', { ...product, sku: 'A-2' });
      expect(model).toEqual(real);
    }
  });
});
