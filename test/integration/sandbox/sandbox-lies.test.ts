import { expect, test } from 'vitest';
import { textMember } from '../../../src/sandbox/api/operation.ts';
import { LIE_NAMES, type LieName } from '../../../src/sandbox/lies/lies.ts';
import type { Lies } from '../../../src/sandbox/settings/settings.ts';
import { type Call, type CallAnswer, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const IMPORT = '/api/imports/products/';
const row = (sku: string, name = 'x') => ({ sku, name });

/** Two products and two materials, a BOM item and the passport of the first product, made honestly. */
async function startWithItems(lies: Lies) {
  const running = await startSandbox({ gates: { bomPresent: { enabled: false }, materialData: { enabled: false } } });
  const { call, sandbox } = running;
  for (const sku of ['A', 'B']) {
    await call('POST', '/api/products/', { body: { ...row(sku), country_of_origin: 'DE' } });
    await call('POST', '/api/materials/', { body: { code: `M-${sku}`, name: sku } });
  }
  await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  await call('POST', '/api/dpp/1/init/');
  sandbox.setLies(lies);
  const stored = () => {
    const { products, materials, bomItems, passports, publications } = sandbox.inspect().organizations['acme']!;
    return {
      products: products.map((product) => `${textMember(product, 'sku')} ${textMember(product, 'name')}`),
      materials: materials.map(({ name }) => name),
      bomItems: bomItems.length,
      passports: passports.length,
      publications: publications.length,
    };
  };
  return { ...running, stored };
}

type Stored = ReturnType<Awaited<ReturnType<typeof startWithItems>>['stored']>;

/** What is stored before each case. */
const BEFORE: Stored = { products: ['A x', 'B x'], materials: ['A', 'B'], bomItems: 1, passports: 1, publications: 0 };

interface LieCase {
  ask: (call: Call) => Promise<CallAnswer>;
  answers: { status: number; body: unknown };
  /** What is stored afterwards and differs from before. */
  stores?: Partial<Stored>;
}

const imports =
  (...rows: object[]) =>
  (call: Call) =>
    call('POST', IMPORT, { body: { products: rows } });
const creates = {
  'product.create': (call: Call) => call('POST', '/api/products/', { body: row('C') }),
  'material.create': (call: Call) => call('POST', '/api/materials/', { body: { code: 'M-C', name: 'C' } }),
  'material.update': (call: Call) => call('PATCH', '/api/materials/1/', { body: { name: 'A2' } }),
  'bom_item.create': (call: Call) =>
    call('POST', '/api/bom-items/', { body: { product: 2, material: 2, quantity: 7 } }),
  'passport.init': (call: Call) => call('POST', '/api/dpp/2/init/'),
  'passport.publish': (call: Call) => call('POST', '/api/dpp/1/publish/'),
  'product.import': imports(row('C')),
};
const MADE = {
  'product.create': { products: ['A x', 'B x', 'C x'] },
  'material.create': { materials: ['A', 'B', 'C'] },
  'material.update': { materials: ['A2', 'B'] },
  'bom_item.create': { bomItems: 2 },
  'passport.init': { passports: 2 },
} satisfies Record<string, Partial<Stored>>;
type Write = keyof typeof MADE;

const MATERIAL = expect.objectContaining({ id: 2, code: 'M-B' });
const PRODUCT = expect.objectContaining({ id: 2, sku: 'B' });
const REPORT = expect.objectContaining({ id: 1, type: 'summary' });
const OTHER_KIND = {
  'product.create': MATERIAL,
  'material.create': PRODUCT,
  'material.update': PRODUCT,
  'bom_item.create': MATERIAL,
  'passport.init': PRODUCT,
} satisfies Record<Write, unknown>;
const OTHER_ITEM = {
  'product.create': PRODUCT,
  'material.create': MATERIAL,
  'material.update': MATERIAL,
  'bom_item.create': expect.objectContaining({ id: 1, quantity: '1' }),
  'passport.init': expect.objectContaining({ id: 1, product: 1 }),
} satisfies Record<Write, unknown>;

const wrongAnswers = (Object.keys(MADE) as Write[]).flatMap((write): [LieName, LieCase][] => {
  const status = write === 'material.update' ? 200 : 201;
  const [ask, stores] = [creates[write], MADE[write]];
  const otherId = ['bom_item.create', 'passport.init'].includes(write) ? 1 : 2;
  return [
    [`${write}:other-kind`, { ask, stores, answers: { status, body: OTHER_KIND[write] } }],
    [`${write}:other-item`, { ask, stores, answers: { status, body: OTHER_ITEM[write] } }],
    [`${write}:other-id`, { ask, stores, answers: { status, body: { id: otherId } } }],
    [`${write}:report`, { ask, stores, answers: { status, body: REPORT } }],
  ];
});
const failures = (Object.keys(creates) as (keyof typeof creates)[]).map((write): [LieName, LieCase] => [
  `${write}:success-false`,
  { ask: creates[write], answers: { status: 200, body: { success: false, error: expect.any(String) } } },
]);

const rows = (...given: [number, string, string, number | null][]) =>
  expect.objectContaining({
    results: given.map(([index, sku, status, id]) => expect.objectContaining({ index, sku, status, id })),
  });
/** Writes with a field that the sandbox does not know. */
const dropped: [LieName, LieCase][] = [
  [
    'product.create:drops-fields',
    {
      ask: (call) => call('POST', '/api/products/', { body: { ...row('C'), colour: 'red' } }),
      answers: { status: 201, body: expect.objectContaining({ id: 3, sku: 'C' }) },
      stores: MADE['product.create'],
    },
  ],
  [
    'material.create:drops-fields',
    {
      ask: (call) => call('POST', '/api/materials/', { body: { code: 'M-C', name: 'C', colour: 'red' } }),
      answers: { status: 201, body: expect.objectContaining({ id: 3, code: 'M-C' }) },
      stores: MADE['material.create'],
    },
  ],
  [
    'material.update:drops-fields',
    {
      ask: (call) => call('PATCH', '/api/materials/1/', { body: { name: 'A2', colour: 'red' } }),
      answers: { status: 200, body: expect.objectContaining({ id: 1, name: 'A2' }) },
      stores: MADE['material.update'],
    },
  ],
  [
    'bom_item.create:drops-fields',
    {
      ask: (call) => call('POST', '/api/bom-items/', { body: { product: 2, material: 2, quantity: 7, colour: 'red' } }),
      answers: { status: 201, body: expect.objectContaining({ id: 2, quantity: '7' }) },
      stores: MADE['bom_item.create'],
    },
  ],
  [
    'product.import:drops-fields',
    {
      ask: imports({ ...row('C'), colour: 'red' }),
      answers: { status: 200, body: rows([0, 'C', 'created', 3]) },
      stores: MADE['product.create'],
    },
  ],
];

const ODD = { detail: 'Request rejected: state E-1042.' };
const publishes = creates['passport.publish'];
const reinit = (call: Call) => call('POST', '/api/dpp/1/init/');

const CASES = new Map<LieName, LieCase>([
  ...wrongAnswers,
  ...failures,
  ...dropped,
  [
    'product.import:doubles-known',
    {
      ask: imports(row('A', 'y'), row('C')),
      answers: { status: 200, body: rows([0, 'A', 'updated', 1], [1, 'C', 'created', 3]) },
      stores: { products: ['A x', 'B x', 'C x', 'A y'] },
    },
  ],
  [
    'product.import:doubles-from-two',
    {
      ask: imports(row('A', 'y'), row('C')),
      answers: { status: 200, body: rows([0, 'A', 'updated', 1], [1, 'C', 'created', 3]) },
      stores: { products: ['A y', 'B x', 'C x', 'C x'] },
    },
  ],
  [
    'product.import:forgets-changes',
    {
      ask: imports(row('A', 'y'), row('C')),
      answers: { status: 200, body: rows([0, 'A', 'updated', 1], [1, 'C', 'created', 3]) },
      stores: { products: ['A x', 'B x', 'C x'] },
    },
  ],
  [
    'product.import:says-exists',
    {
      ask: imports(row('A', 'y'), row('C')),
      answers: { status: 200, body: rows([0, 'A', 'exists', 1], [1, 'C', 'created', 3]) },
      stores: { products: ['A x', 'B x', 'C x'] },
    },
  ],
  [
    'product.import:says-processed',
    {
      ask: imports(row('A', 'y'), row('C')),
      answers: { status: 200, body: rows([0, 'A', 'processed', 1], [1, 'C', 'processed', 3]) },
      stores: { products: ['A y', 'B x', 'C x'] },
    },
  ],
  [
    'product.import:rotates-ids',
    {
      ask: imports(row('C'), row('D'), row('E')),
      answers: { status: 200, body: rows([0, 'C', 'created', 4], [1, 'D', 'created', 5], [2, 'E', 'created', 3]) },
      stores: { products: ['A x', 'B x', 'C x', 'D x', 'E x'] },
    },
  ],
  [
    'product.import:stores-half',
    {
      ask: imports(row('C'), row('D')),
      answers: { status: 200, body: rows([0, 'C', 'created', 3], [1, 'D', 'created', 900_000_001]) },
      stores: { products: ['A x', 'B x', 'C x'] },
    },
  ],
  ['product.import:refuses-many', { ask: imports(row('C'), row('D')), answers: { status: 413, body: null } }],
  [
    'product.import:fails-many',
    { ask: imports(row('C'), row('D')), answers: { status: 500, body: { detail: 'Internal server error.' } } },
  ],
  [
    'product.create:updates-known',
    {
      ask: (call) => call('POST', '/api/products/', { body: row('A', 'y') }),
      answers: { status: 200, body: { id: 1, sku: 'A', result: 'updated' } },
      stores: { products: ['A y', 'B x'] },
    },
  ],
  [
    'product.create:says-exists',
    {
      ask: (call) => call('POST', '/api/products/', { body: row('A', 'y') }),
      answers: { status: 200, body: { id: 1, sku: 'A', result: 'exists' } },
    },
  ],
  ['bom_item.create:not-made', { ask: creates['bom_item.create'], answers: { status: 201, body: MATERIAL } }],
  ['bom_item.create:ignored', { ask: creates['bom_item.create'], answers: { status: 201, body: {} } }],
  [
    'material.update:changes-nothing',
    {
      ask: creates['material.update'],
      answers: { status: 200, body: expect.objectContaining({ id: 1, name: 'A' }) },
    },
  ],
  ['passport.init:odd-words', { ask: reinit, answers: { status: 409, body: ODD } }],
  ['passport.init:refuses-once', { ask: creates['passport.init'], answers: { status: 409, body: ODD } }],
  ['passport.init:refuses-always', { ask: creates['passport.init'], answers: { status: 409, body: ODD } }],
  [
    'passport.init:refuses-done',
    { ask: creates['passport.init'], answers: { status: 409, body: ODD }, stores: { passports: 2 } },
  ],
  [
    'passport.publish:odd-words',
    { ask: (call) => call('POST', '/api/dpp/2/publish/'), answers: { status: 409, body: ODD } },
  ],
  [
    'passport.publish:refuses-done',
    { ask: publishes, answers: { status: 409, body: ODD }, stores: { publications: 1 } },
  ],
  ['passport.publish:accepted', { ask: publishes, answers: { status: 202, body: {} } }],
  ['passport.publish:queued', { ask: publishes, answers: { status: 202, body: { status: 'queued' } } }],
  ['passport.publish:pending-review', { ask: publishes, answers: { status: 200, body: { status: 'pending_review' } } }],
  ['passport.publish:initialized', { ask: publishes, answers: { status: 200, body: { status: 'initialized' } } }],
  ['passport.publish:queued-then-public', { ask: publishes, answers: { status: 202, body: { status: 'queued' } } }],
]);

test.each(LIE_NAMES)('the sandbox tells the lie %s, and stores what really happens', async (name) => {
  const told = CASES.get(name);
  if (!told) throw new Error(`No case has the lie ${name}.`);
  const { call, stored } = await startWithItems([name]);
  const { status, body } = await told.ask(call);
  expect({ status, body }).toEqual(told.answers);
  expect(stored()).toEqual({ ...BEFORE, ...told.stores });
});

test('a queued publication becomes public after the list was read, also without another request', async () => {
  const { call, stored } = await startWithItems(['passport.publish:queued-then-public']);
  await publishes(call);
  const read = async () => (await call('GET', '/api/dpp/publications/')).body.count;
  expect([await read(), await read()]).toEqual([0, 1]);
  expect(stored().publications).toBe(1);
});

test('a conflict without a reason is given once for each product, and the passport is made at the next request', async () => {
  const { call } = await startWithItems(['passport.init:refuses-once']);
  expect((await creates['passport.init'](call)).status).toBe(409);
  expect((await creates['passport.init'](call)).status).toBe(201);
});

test('lies do not hide that an id or a passport does not exist', async () => {
  const { call } = await startWithItems(['passport.publish:queued', 'passport.init:refuses-always']);
  expect((await call('POST', '/api/dpp/99/publish/')).status).toBe(404);
  expect((await call('POST', '/api/dpp/99/init/')).status).toBe(404);
  expect((await call('POST', '/api/dpp/2/publish/')).body.detail).toContain('no passport yet');
});

test('several lies are told at once, and they outlive a change of the import', async () => {
  const { call, sandbox, stored } = await startWithItems([
    'product.import:doubles-from-two',
    'product.import:rotates-ids',
  ]);
  sandbox.setImport({ rowsMax: 2 });
  const { body } = await imports(row('C'), row('D'))(call);
  expect(body).toEqual(rows([0, 'C', 'created', 4], [1, 'D', 'created', 3]));
  expect(stored().products).toEqual(['A x', 'B x', 'C x', 'D x', 'C x', 'D x']);
  sandbox.setLies([]);
  expect((await imports(row('E'), row('F'))(call)).body).toEqual(rows([0, 'E', 'created', 7], [1, 'F', 'created', 8]));
});

test('the sandbox refuses a lie that doubles with a file, which keeps SKUs unique', async () => {
  const options = { storage: '/nowhere/sandbox.db', lies: ['product.import:doubles-known' as const] };
  await expect(startSandbox(options)).rejects.toThrow(/"lies"[\s\S]*a file keeps SKUs unique/);
});
