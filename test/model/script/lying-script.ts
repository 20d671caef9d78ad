import fc from 'fast-check';
import type { OperationName } from '../../../src/sandbox/api/endpoints.ts';
import { LIE_NAMES, type LieName } from '../../../src/sandbox/lies/lies.ts';
import { type Flavour, ROWS } from '../world/model-source.ts';
import { FORMS, type Form } from '../world/platform-forms.ts';
import type { ListOperation, Platform, Script, Step } from './script.ts';

const FULL_OR_LESS = fc.constantFrom(
  'full' as const,
  'full' as const,
  'id' as const,
  'empty' as const,
  'location' as const,
);

// Lies about imports need several conditions at once, so they are drawn more often.
const lie = fc.oneof(
  fc.constantFrom(...LIE_NAMES.filter((name) => name.startsWith('product.import:'))),
  fc.constantFrom(...LIE_NAMES),
);
/** One lie of each operation is told, so that it is known what an answer shows. */
const operationOf = (name: LieName): string | undefined => name.split(':')[0];
const FORM_NAMES = Object.keys(FORMS) as Form[];
const LISTS: ListOperation[] = ['product.list', 'material.list', 'publication.list'];
const closed = fc.record({
  lists: fc.subarray(LISTS, { minLength: 1 }),
  status: fc.constantFrom(403 as const, 404 as const),
});
const platform: fc.Arbitrary<Platform> = fc.record({
  // With one lie the rest of the platform is honest, so that the other writes are delivered beside it.
  lies: fc.oneof(
    { weight: 6, arbitrary: lie.map((one): LieName[] => [one]) },
    { weight: 2, arbitrary: fc.uniqueArray(lie, { minLength: 2, maxLength: 4, selector: operationOf }) },
    { weight: 1, arbitrary: fc.constant<LieName[]>([]) },
  ),
  ids: fc.constantFrom('numeric' as const, 'numeric' as const, 'uuid' as const, 'text' as const),
  answers: fc.record({
    'product.create': FULL_OR_LESS,
    'material.create': FULL_OR_LESS,
    'material.update': FULL_OR_LESS,
    'bom_item.create': FULL_OR_LESS,
    'passport.init': FULL_OR_LESS,
  }),
  form: fc.constantFrom<Form>('plain', 'plain', 'plain', ...FORM_NAMES),
  closed: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: closed }),
  assumesEmpty: fc.constantFrom(false, false, false, true),
  withoutProof: fc.constantFrom('hold' as const, 'accept' as const),
  foreign: fc.record({ products: fc.nat({ max: 4 }), materials: fc.nat({ max: 4 }) }),
});

const flavour = fc.constantFrom<Flavour>('a', 'b', 'c');
const row = fc.nat({ max: ROWS.length - 1 });

/** The writes whose answers may be lost. */
const LOSABLE = [
  'product.create',
  'product.import',
  'material.create',
  'bom_item.create',
  'passport.init',
  'passport.publish',
] as const satisfies OperationName[];
const lost = fc.constantFrom(...LOSABLE).map(
  (operation): Step => ({
    do: 'fault',
    fault: { operation, count: 1, at: 'platform', fault: { kind: 'reset-after' } },
  }),
);
const crash = fc.record({
  do: fc.constant('crash' as const),
  death: fc.record({
    calls: fc.nat({ max: 60 }),
    side: fc.constantFrom('before' as const, 'after' as const),
  }),
  downMs: fc.nat({ max: 800 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('edit' as const), row, to: flavour }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fill' as const), to: flavour }) },
  { weight: 4, arbitrary: fc.constant({ do: 'pull' as const }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 6000 }) }) },
  { weight: 1, arbitrary: crash },
  { weight: 1, arbitrary: lost },
  { weight: 1, arbitrary: fc.constant({ do: 'turn' as const }) },
);

/** Random scripts for platforms that tell lies. Their sources have only sound rows. */
export const lyingScripts: fc.Arbitrary<Script> = fc.record({
  setup: fc.record({
    chance: fc.nat({ max: 2 ** 31 - 1 }),
    halting: fc.constant(false),
    even: fc.boolean(),
    full: fc.constantFrom(false, true, true),
    // Imports of so many products are proven in several steps.
    crowd: fc.constantFrom(0, 0, 0, 20),
    trust: fc.constantFrom('publish' as const, 'none' as const),
    productUpdate: fc.constantFrom('import' as const, 'import' as const, 'import' as const, 'none' as const),
    importAnswer: fc.constantFrom('per-row' as const, 'per-row' as const, 'summary' as const, 'none' as const),
    membersMax: fc.constantFrom(100, 3, 2),
    creates: fc.constantFrom('off' as const, 'untried' as const, 'proven' as const, 'proven' as const),
    policy: fc.constant({ init: 'when-complete' as const, publish: 'auto' as const, withdraw: false }),
    pageSize: fc.constantFrom(100, 3),
    incremental: fc.constant(false),
    recheckBlockedMs: fc.constant(6 * 3_600_000),
    platform,
  }),
  steps: fc.array(step, { minLength: 1, maxLength: 10, size: 'max' }),
});

const edit = (at: number): Step => ({ do: 'edit', row: at, to: 'a' });

/** A platform that has repeated a BOM item, and then ignores BOM items and answers with nothing. */
export const ECHOED_BEFORE: Script = {
  setup: {
    chance: 0,
    halting: false,
    even: false,
    full: false,
    trust: 'publish',
    productUpdate: 'import',
    importAnswer: 'per-row',
    membersMax: 100,
    policy: { init: 'when-complete', publish: 'auto', withdraw: false },
    pageSize: 100,
    incremental: false,
    recheckBlockedMs: 6 * 3_600_000,
    platform: {
      lies: ['bom_item.create:ignored'],
      ids: 'numeric',
      answers: {},
      form: 'plain',
      closed: null,
      assumesEmpty: false,
      withoutProof: 'hold',
      foreign: { products: 0, materials: 0 },
    },
  },
  // P1, M1 and B1, then P2, M2 and B2.
  steps: [
    ...[0, 3, 5].map(edit),
    { do: 'pull' },
    { do: 'wait', ms: 6000 },
    { do: 'turn' },
    ...[1, 4, 6].map(edit),
    { do: 'pull' },
  ],
};
