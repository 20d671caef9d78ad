import fc from 'fast-check';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import { type Act, type Edit, MATERIALS, PRODUCTS, type Script, type Setup, type Trouble, type Turn } from './night.ts';

/** The first value half of the time, and otherwise any of the others. */
const mostly = <const T>(first: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(fc.constant(first), fc.constantFrom(...others));
const atMost = <T>(maxLength: number, one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(one, { maxLength, selector: (value) => JSON.stringify(value) });

const productId = fc.constantFrom(...PRODUCTS);
const materialId = fc.constantFrom(...MATERIALS);
const lineId = fc.constantFrom('1', '2', '3', '4', '5', '6');

// A name may be missing, no country has the code XX, and `many` is no number.
const productEdit: fc.Arbitrary<Edit> = fc
  .record({
    id: productId,
    prefix: mostly('SKU', 'NEW'),
    name: mostly('Fan', 'Motor', 'Pump', ''),
    country: mostly('DE', 'AT', 'XX'),
    note: mostly('', 'new', 'excluded'),
  })
  .map(({ id, prefix, ...row }) => ({ part: 'products', id, row: { sku: `${prefix}-${id}`, ...row } }));
const materialEdit: fc.Arbitrary<Edit> = fc
  .record({ id: materialId, name: mostly('Steel', 'Copper', ''), recycled: mostly('0.1', '0.2', '') })
  .map(({ id, ...row }) => ({ part: 'materials', id, row }));
const lineEdit: fc.Arbitrary<Edit> = fc
  .record({
    id: lineId,
    product: productId,
    part: fc.constantFrom(...MATERIALS, ...PRODUCTS),
    quantity: mostly('1', '2', 'many'),
  })
  .filter(({ product, part }) => product !== part)
  .map(({ id, ...row }) => ({ part: 'lines', id, row }));
const removal: fc.Arbitrary<Edit> = fc.oneof(
  productId.map((id) => ({ part: 'products' as const, id, row: null })),
  materialId.map((id) => ({ part: 'materials' as const, id, row: null })),
  lineId.map((id) => ({ part: 'lines' as const, id, row: null })),
);
export const edit = fc.oneof(productEdit, productEdit, materialEdit, lineEdit, removal, removal);

export const calmSetup: fc.Arbitrary<Setup> = fc.record({
  passports: mostly('published', 'prepared', 'by hand'),
  onMissing: mostly('unpublish', 'flag', 'ignore'),
  guard: mostly('100%', '40%'),
  changesOnly: fc.boolean(),
  hasLog: fc.boolean(),
  idempotency: fc.constantFrom('honoured', 'publish'),
  productUpdate: mostly('import', 'none'),
  creates: fc.constantFrom('off', 'auto'),
  importAnswer: mostly('per-row', 'summary'),
  gates: fc.constant('none'),
  recheckBlockedMs: fc.constant(0),
  there: fc.constant({ products: [], materials: [] }),
});

const name = fc.constantFrom('Fan', 'Steel', 'Other');
const there = fc.record({
  products: fc.uniqueArray(fc.record({ sku: productId.map((id) => `SKU-${id}`), name }), {
    selector: ({ sku }) => sku,
    maxLength: 2,
  }),
  materials: fc.uniqueArray(fc.record({ code: materialId, name }), { selector: ({ code }) => code, maxLength: 1 }),
});
const oddSetup: fc.Arbitrary<Setup> = fc
  .record({
    calm: calmSetup,
    gates: fc.constantFrom('none', 'data', 'review'),
    recheckBlockedMs: fc.constantFrom(0, 1),
    there,
  })
  .map(({ calm, ...odd }) => ({ ...calm, ...odd }));

const WRITES: readonly Operation[] = [
  'product.create',
  'product.import',
  'material.create',
  'material.update',
  'bom_item.create',
  'passport.init',
  'passport.publish',
  'passport.unpublish',
];
const count = fc.integer({ min: 1, max: 3 });
// A list that the platform refuses is not read again for some minutes.
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  fc.record({ operation: fc.constantFrom(...WRITES), what: fc.constantFrom('refuses', 'forbids'), count }),
  fc.record({
    operation: fc.constantFrom(...WRITES, '*' as const),
    what: fc.constantFrom('fails', 'loses the answer', 'loses the request'),
    count,
  }),
);

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constantFrom('publish', 'unpublish'), product: productId }),
  fc.record({ do: fc.constantFrom('replay', 'accept', 'forget') }),
);
const restore: fc.Arbitrary<Act> = fc.record({ do: fc.constantFrom('back up', 'restore', 'forget') });

const done: fc.Arbitrary<Turn> = fc.record({ how: fc.constantFrom('sync', 'apply') });
const stopped: fc.Arbitrary<Turn> = fc.record({ how: fc.constant('stopped'), events: fc.nat({ max: 40 }) });
const changing: fc.Arbitrary<Turn> = fc.record({
  how: fc.constantFrom('stale', 'apply amid a change'),
  row: fc.nat({ max: 20 }),
});
const killed: fc.Arbitrary<Turn> = fc.record({ how: fc.constant('killed'), calls: fc.nat({ max: 80 }) });

const NOTHING: fc.Arbitrary<never[]> = fc.constant(null).map(() => []);

function scriptOf({
  setup,
  turn,
  acts = NOTHING,
  troubles = NOTHING,
}: {
  setup: fc.Arbitrary<Setup>;
  turn: fc.Arbitrary<Turn>;
  acts?: fc.Arbitrary<Act[]>;
  troubles?: fc.Arbitrary<Trouble[]>;
}): fc.Arbitrary<Script> {
  const night = fc.record({ edits: fc.array(edit, { maxLength: 5 }), acts, trouble: troubles, turn });
  return fc.record({ setup, nights: fc.array(night, { minLength: 3, maxLength: 5 }) });
}

export const SCRIPTS = {
  /** The platform accepts every write. */
  calm: scriptOf({ setup: calmSetup, turn: done, acts: atMost(2, act) }),
  /** The platform refuses writes, loses answers and has items already. Syncs are stopped. */
  odd: scriptOf({
    setup: oddSetup,
    turn: fc.oneof(done, stopped),
    acts: atMost(2, act),
    troubles: atMost(2, trouble),
  }),
  /** Backups take the place of the ledger. */
  restored: scriptOf({ setup: oddSetup, turn: done, acts: atMost(2, restore) }),
  /** Rows change before a plan is applied, or while it is. */
  changing: scriptOf({ setup: calmSetup, turn: changing }),
  /** Processes that apply a plan are killed. */
  killed: scriptOf({ setup: calmSetup, turn: killed }),
} as const satisfies Record<string, fc.Arbitrary<Script>>;
export type ScriptName = keyof typeof SCRIPTS;
