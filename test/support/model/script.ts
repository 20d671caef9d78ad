import fc from 'fast-check';
import type { Operation } from '../../../src/domain/delivery.ts';
import type { ReplayState } from '../../../src/domain/ports/ledger.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings.ts';
import type { Death } from './fence.ts';
import type { BellFault } from './lossy-queues.ts';
import type { ApiFault } from './model-api.ts';
import { FLAVOURS, type Flavour, ROWS } from './model-source.ts';

/** The ways in which the platform may treat Idempotency-Key. */
export const KEY_MODES = {
  honoured: { idempotency: 'honoured', idempotencyReplays: 'answers' },
  'honoured, successes alone': { idempotency: 'honoured', idempotencyReplays: 'successes' },
  'honoured, failures too': { idempotency: 'honoured', idempotencyReplays: 'everything' },
  'honoured, soon forgotten': { idempotency: 'honoured', idempotencyKeysMax: 1 },
  'publish alone': { idempotency: 'publish-only' },
  ignored: { idempotency: 'ignored' },
} as const satisfies Record<string, SandboxOptions>;
export type KeyMode = keyof typeof KEY_MODES;
export const KEY_MODE_NAMES = Object.keys(KEY_MODES) as KeyMode[];

/** What the profile may trust in without being wrong about the platform. */
const TRUSTS: Record<KeyMode, readonly ('publish' | 'honoured' | 'none')[]> = {
  honoured: ['publish', 'honoured', 'none'],
  'honoured, successes alone': ['publish', 'honoured', 'none'],
  'honoured, failures too': ['publish', 'honoured', 'none'],
  'honoured, soon forgotten': ['publish', 'none'],
  'publish alone': ['publish', 'none'],
  ignored: ['publish', 'none'],
};

export interface Setup {
  /** Feeds all chances of the run: latencies and jitters. */
  chance: number;
  /** Whether calls of the process are put off now and then. */
  halting: boolean;
  /** Whether the source has everything from the start. */
  full: boolean;
  trust: 'publish' | 'honoured' | 'none';
  productUpdate: 'import' | 'none';
  importAnswer: 'per-row' | 'summary' | 'none';
  membersMax: number;
  policy: { init: 'when-complete' | 'manual'; publish: 'manual' | 'auto'; withdraw: boolean };
  pageSize: number;
}

export type Step =
  | { do: 'edit'; row: number; to: Flavour }
  | { do: 'fill'; to: Flavour }
  | { do: 'pull' }
  | { do: 'remap' }
  | { do: 'wait'; ms: number }
  | { do: 'crash'; death: Death; downMs: number }
  | { do: 'fault'; fault: ApiFault }
  | { do: 'gate'; open: boolean }
  | { do: 'bells'; faults: BellFault[] }
  | { do: 'wipe' }
  | { do: 'ask'; product: number; status: 'published' | 'unpublished' }
  | { do: 'replay'; states: ReplayState[]; force: boolean }
  | { do: 'person' };

export interface Script {
  setup: Setup;
  steps: Step[];
}

const WRITES = [
  'product.create',
  'product.import',
  'material.create',
  'material.update',
  'bom_item.create',
  'passport.init',
  'passport.publish',
  'passport.unpublish',
] as const satisfies Operation[];

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...WRITES) },
  { weight: 2, arbitrary: fc.constant('*' as const) },
  { weight: 1, arbitrary: fc.constantFrom('product.list', 'material.list', 'publication.list') },
);
const effect = fc.constantFrom('none' as const, 'done' as const);

const fault: fc.Arbitrary<ApiFault> = fc
  .record({
    operation,
    count: fc.nat({ max: 5 }).map((count) => count + 1),
    what: fc.oneof(
      fc.constantFrom(
        { at: 'platform' as const, fault: { kind: 'reset-before' as const } },
        { at: 'platform' as const, fault: { kind: 'reset-after' as const } },
        { at: 'platform' as const, fault: { kind: 'truncate' as const } },
        { at: 'network' as const, fault: { kind: 'refused' as const } },
      ),
      fc.record({
        at: fc.constant('platform' as const),
        fault: fc.record({ kind: fc.constant('status' as const), status: fc.constantFrom(500, 502, 504), effect }),
      }),
      fc.record({
        at: fc.constant('platform' as const),
        fault: fc.record({ kind: fc.constant('html' as const), status: fc.constant(200), effect }),
      }),
      fc.record({
        at: fc.constant('network' as const),
        fault: fc.record({
          kind: fc.constant('front' as const),
          status: fc.constantFrom(503, 429, 401, 402, 403, 400, 404, 409, 422, 302),
        }),
      }),
      fc.record({
        at: fc.constant('network' as const),
        fault: fc.record({
          kind: fc.constant('late' as const),
          lost: fc.constant('timeout' as const),
          ms: fc.integer({ min: 10, max: 2300 }),
        }),
      }),
      fc.record({
        at: fc.constant('network' as const),
        fault: fc.record({
          kind: fc.constant('late' as const),
          lost: fc.constant('reset' as const),
          ms: fc.integer({ min: 10, max: 300 }),
        }),
      }),
    ),
  })
  .map(({ what, ...where }) => ({ ...where, ...what }));

const row = fc.nat({ max: ROWS.length - 1 });
const flavour = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Flavour>('a', 'b', 'c') },
  { weight: 3, arbitrary: fc.constantFrom(...FLAVOURS) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('edit' as const), row, to: flavour }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fill' as const), to: flavour }) },
  { weight: 5, arbitrary: fc.constant({ do: 'pull' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'remap' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 4000 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      death: fc.record({ calls: fc.nat({ max: 60 }), side: fc.constantFrom('before' as const, 'after' as const) }),
      downMs: fc.nat({ max: 800 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('fault' as const), fault }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('gate' as const), open: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('bells' as const),
      faults: fc.array(fc.constantFrom<BellFault>('lost', 'twice', 'late'), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'wipe' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      product: fc.nat({ max: 2 }),
      status: fc.constantFrom('published' as const, 'unpublished' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('replay' as const),
      states: fc.subarray<ReplayState>(['blocked', 'rejected', 'parked', 'in_doubt', 'quarantined'], { minLength: 1 }),
      force: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'person' as const }) },
);

/** Scripts for a platform that treats keys in this way. */
export function scriptFor(mode: KeyMode): fc.Arbitrary<Script> {
  return fc.record({
    setup: fc.record({
      chance: fc.nat({ max: 2 ** 31 - 1 }),
      halting: fc.boolean(),
      full: fc.constantFrom(false, true, true),
      trust: fc.constantFrom(...TRUSTS[mode]),
      productUpdate: fc.constantFrom('import' as const, 'import' as const, 'import' as const, 'none' as const),
      importAnswer: fc.constantFrom('per-row' as const, 'summary' as const, 'none' as const),
      membersMax: fc.constantFrom(100, 2),
      policy: fc.record({
        init: fc.constantFrom('when-complete' as const, 'manual' as const),
        publish: fc.constantFrom('auto' as const, 'manual' as const),
        withdraw: fc.boolean(),
      }),
      pageSize: fc.constantFrom(100, 1),
    }),
    steps: fc.array(step, { minLength: 1, maxLength: 24, size: 'max' }),
  });
}
