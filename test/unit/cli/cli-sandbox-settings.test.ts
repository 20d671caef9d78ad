import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faultFlag, faultWords, sandboxSettings } from '../../../src/cli/sandbox/sandbox-settings.ts';
import { FaultRule } from '../../../src/sandbox/faults/faults.ts';
import { SandboxSettings } from '../../../src/sandbox/settings/settings.ts';
import { configFolder } from '../../support/worlds/config-folder.ts';

describe('a fault on the command line', () => {
  it.each([
    ['product.create:status=500', { operation: 'product.create', kind: 'status', status: 500 }],
    ['*:latency=200,probability=0.1', { operation: '*', kind: 'latency', ms: 200, probability: 0.1 }],
    ['passport.publish:reset-after,count=2', { operation: 'passport.publish', kind: 'reset-after', count: 2 }],
    [
      'product.import:status=200,effect=done,body=7',
      { operation: 'product.import', kind: 'status', status: 200, effect: 'done', body: '7' },
    ],
    [
      'product.import:partial-import=3,ending=silence,skip=1',
      { operation: 'product.import', kind: 'partial-import', rows: 3, ending: 'silence', skip: 1 },
    ],
    ['*:html=502,effect=done,match=12', { operation: '*', kind: 'html', status: 502, effect: 'done', match: '12' }],
  ])('the fault %s on the command line is understood', (text, draft) => {
    expect(faultFlag(text, undefined)).toEqual([draft]);
  });

  it.each(['', 'status', 'product.create', 'product.create:', 'x:reset-before=3', '*:latency=200,count'])(
    '%j on the command line is reported as no fault',
    (text) => {
      expect(() => faultFlag(text, undefined)).toThrow(/OPERATION:KIND/);
    },
  );

  it('a fault of an unknown kind on the command line is reported with the kinds that there are', () => {
    for (const text of ['product.create:boom=1', '*:constructor', '*:boom']) {
      expect(() => faultFlag(text, undefined)).toThrow(/There is no kind of fault "(?:boom|constructor)"/);
    }
    expect(() => faultFlag('*:latenzy=1', undefined)).toThrow('Did you mean latency?');
    for (const { shape } of FaultRule.options) {
      const [kind = ''] = shape.kind.values;
      expect(() => faultFlag('*:boom', undefined)).toThrow(kind);
      expect(faultFlag(`*:${kind}`, undefined)).toEqual([{ operation: '*', kind }]);
    }
  });

  it('a fault on the command line is written as it is read', () => {
    const rule = fc.record(
      {
        operation: fc.constantFrom('*' as const, 'material.update' as const),
        count: fc.integer({ min: 1, max: 9 }),
        skip: fc.integer({ min: 1, max: 9 }),
        probability: fc.constantFrom(0.25, 1),
        seed: fc.nat(99),
      },
      { requiredKeys: ['operation'] },
    );
    const kind = fc.constantFrom(
      { kind: 'status', status: 503, retryAfterSeconds: 2 } as const,
      { kind: 'latency', ms: 20 } as const,
      { kind: 'duplicate' } as const,
    );
    fc.assert(
      fc.property(rule, kind, (where, what) => {
        const given = FaultRule.parse({ ...where, ...what });
        expect(faultFlag(faultWords(given), undefined).map((draft) => FaultRule.parse(draft))).toEqual([given]);
      }),
    );
  });
});

describe('the settings of a sandbox', () => {
  it('the settings of a sandbox are the assumed ones without flags', async () => {
    expect(await sandboxSettings({})).toEqual(SandboxSettings.parse({}));
  });

  it('the settings of a sandbox are those of the file, over them the flags, over them those of --set', async () => {
    const folder = configFolder({
      'settings.yaml': `
storage: ./sandbox.db
paging: cursor
pageSize: 5
gates: { productComplete: { fields: [name] }, bomPresent: { match: "BIKE-*" } }
rateLimit: { kind: fixed-window, limit: 10, windowMs: 1000 }
faults: [{ operation: "*", kind: duplicate }]
`,
      'faults.json': '[{"operation": "report.list", "kind": "outage", "ms": 10}]',
    });
    const settings = await sandboxSettings({
      settings: join(folder, 'settings.yaml'),
      faults: join(folder, 'faults.json'),
      fault: [{ operation: '*', kind: 'reset-before', probability: 0.5 }],
      seed: 7,
      gates: ['product'],
      review: true,
      rate: 50,
      set: [
        { path: 'pageSize', value: '7' },
        { path: 'rateLimit.headers', value: 'draft' },
        { path: 'import', value: '{ upserts: false }' },
        { path: 'publicBaseUrl', value: 'https://example.com/p' },
      ],
    });
    expect(settings).toMatchObject({
      storage: join(folder, 'sandbox.db'),
      paging: 'cursor',
      pageSize: 7,
      gates: {
        productComplete: { enabled: true, fields: ['name'] },
        bomPresent: { enabled: false, match: 'BIKE-*' },
        materialData: { enabled: false },
        review: { enabled: true },
      },
      rateLimit: { kind: 'token-bucket', ratePerSecond: 50, burst: 50, headers: 'draft' },
      import: { upserts: false, answer: 'per-row' },
      publicBaseUrl: 'https://example.com/p',
      faults: [{ kind: 'duplicate' }, { kind: 'outage' }, { kind: 'reset-before', probability: 0.5, seed: 7 }],
    });
    expect(await sandboxSettings({ gates: [] })).toMatchObject({
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    });
  });

  it('the settings of a sandbox have the rate limit of the last kind that is named, and nothing of another form', async () => {
    const folder = configFolder({
      'settings.yaml': 'rateLimit: { kind: sliding-window, limit: 10, windowMs: 1000, headers: draft }\n',
    });
    const settings = join(folder, 'settings.yaml');
    const limitOf = async (...values: string[]) => {
      const set = values.map((text) => {
        const at = text.indexOf('=');
        return { path: text.slice(0, at), value: text.slice(at + 1) };
      });
      return (await sandboxSettings({ settings, set })).rateLimit;
    };
    expect(await limitOf('rateLimit.kind=none')).toEqual({ kind: 'none' });
    expect(await limitOf('rateLimit={kind: gcra, ratePerSecond: 5, burst: 2}')).toEqual({
      kind: 'gcra',
      ratePerSecond: 5,
      burst: 2,
      per: 'key',
      retryAfter: 'seconds',
      headers: 'none',
      status: 429,
    });
    expect(await limitOf('rateLimit.kind=none', 'rateLimit={kind: fixed-window, limit: 1, windowMs: 5}')).toMatchObject(
      {
        kind: 'fixed-window',
        limit: 1,
        headers: 'none',
      },
    );
    expect(await limitOf('rateLimit.limit=3')).toMatchObject({ kind: 'sliding-window', limit: 3, headers: 'draft' });
    const gcra = await sandboxSettings({ rate: 50, set: [{ path: 'rateLimit.kind', value: 'gcra' }] });
    expect(gcra.rateLimit).toMatchObject({ kind: 'gcra', ratePerSecond: 50 });
  });

  it('the settings of a sandbox refuse flags that would do nothing', async () => {
    const chance = { operation: '*', kind: 'duplicate', probability: 0.5 };
    for (const idle of [
      { burst: 5 },
      { seed: 3 },
      { seed: 3, fault: [{ operation: '*', kind: 'duplicate' }] },
      { seed: 3, fault: [{ ...chance, seed: 1 }] },
    ]) {
      await expect(sandboxSettings(idle), JSON.stringify(idle)).rejects.toMatchObject({ code: 'usage', exitCode: 2 });
    }
    await expect(sandboxSettings({ seed: 3, fault: [chance] })).resolves.toMatchObject({ faults: [{ seed: 3 }] });
  });

  it('a wrong file with settings of a sandbox is reported with every problem and its line', async () => {
    const folder = configFolder({
      'settings.yaml': 'pagin: cursor\nids: numbers\nfaults:\n  - { operation: x, kind: duplicate }\n',
    });
    const problem = await sandboxSettings({ settings: join(folder, 'settings.yaml') }).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: 'config.invalid', exitCode: 2 });
    const { message } = problem as Error;
    expect(message).toContain('3 problems');
    expect(message).toMatch(/pagin \(line 1\): found an unknown key.*Did you mean paging\?/);
    expect(message).toMatch(/ids \(line 2\)/);
    expect(message).toMatch(/faults\[0\]\.operation \(line 4\)/);
  });

  it('wrong flags of a sandbox are reported with every problem', async () => {
    const flags = {
      set: [
        { path: 'pagin', value: 'cursor' },
        { path: 'pageSize', value: 'many' },
      ],
      fault: [{ operation: 'product.create', kind: 'status', status: 200 }],
    };
    const problem = await sandboxSettings(flags).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: 'usage', exitCode: 2 });
    for (const path of ['pagin', 'pageSize', 'faults[0].status'])
      expect((problem as Error).message).toContain(`  ${path}: `);
  });

  it('a file with settings of a sandbox that is not there is reported as such', async () => {
    await expect(sandboxSettings({ settings: '/nowhere/settings.yaml' })).rejects.toMatchObject({ code: 'usage' });
    await expect(sandboxSettings({ faults: '/nowhere/faults.yaml' })).rejects.toMatchObject({ code: 'usage' });
  });
});
