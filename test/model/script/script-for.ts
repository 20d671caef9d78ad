import fc from 'fast-check';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { ReplayState } from '../../../src/domain/ports/ledger/replay-ledger.ts';
import type { Death } from '../world/fence.ts';
import type { JobFault } from '../world/lossy-queues.ts';
import type { ApiFault } from '../world/model-api.ts';
import { FLAVOURS, type Flavour, ROWS } from '../world/model-source.ts';
import { type Outage, WAY_NAMES } from '../world/outage.ts';
import type { KeyMode, Script, Step } from './script.ts';

/** The values of `idempotency` that are true for the platform in each mode. */
const TRUSTS: Record<KeyMode, readonly ('publish' | 'honoured' | 'none')[]> = {
  honoured: ['publish', 'honoured', 'none'],
  'honoured, successes alone': ['publish', 'honoured', 'none'],
  'honoured, failures too': ['publish', 'honoured', 'none'],
  'honoured, soon forgotten': ['publish', 'none'],
  'publish alone': ['publish', 'none'],
  ignored: ['publish', 'none'],
};

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
        { at: 'platform' as const, fault: { kind: 'crossed' as const } },
        { at: 'network' as const, fault: { kind: 'refused' as const } },
      ),
      fc.record({
        at: fc.constant('platform' as const),
        fault: fc.record({ kind: fc.constant('status' as const), status: fc.constantFrom(500, 502, 503, 504), effect }),
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

const HOUR_MS = 3_600_000;

const outage: fc.Arbitrary<Outage> = fc.record({
  of: fc.constantFrom('everything' as const, 'everything' as const, 'writes' as const, 'reads' as const),
  ways: fc.subarray(WAY_NAMES, { minLength: 1 }),
  ms: fc.integer({ min: 4000, max: 50_000 }),
});
const gate = fc.record({
  do: fc.constant('gate' as const),
  open: fc.boolean(),
  reopensMs: fc.option(fc.integer({ min: 1000, max: 60_000 })),
});
const clock = fc.record({
  do: fc.constant('clock' as const),
  byMs: fc.constantFrom(-24 * HOUR_MS, -HOUR_MS, HOUR_MS, 24 * HOUR_MS),
  asleep: fc.boolean(),
});
const person = fc.record({
  do: fc.constant('person' as const),
  way: fc.constantFrom('settle' as const, 'settle' as const, 'force' as const, 'ignore' as const),
});
const side = fc.constantFrom('before' as const, 'after' as const);
const death: fc.Arbitrary<Death> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ calls: fc.nat({ max: 60 }), side }) },
  // Between a claim and its requests, or between answers and their settlement.
  {
    weight: 1,
    arbitrary: fc.record({ calls: fc.nat({ max: 4 }), side, names: fc.constantFrom(['claim'], ['settle']) }),
  },
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
      death,
      downMs: fc.nat({ max: 800 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('fault' as const), fault }) },
  { weight: 1, arbitrary: gate },
  { weight: 1, arbitrary: clock },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('job_faults' as const),
      faults: fc.array(fc.constantFrom<JobFault>('lost', 'twice', 'late'), { minLength: 1, maxLength: 4 }),
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
    }),
  },
  { weight: 2, arbitrary: person },
);

/** Series of steps that have an effect only in this order. */
const phrase: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 24, arbitrary: step.map((one) => [one]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(flavour, outage)
      .map(([to, one]): Step[] => [{ do: 'fill', to }, { do: 'pull' }, { do: 'outage', outage: one }]),
  },
  { weight: 1, arbitrary: fc.tuple(gate, fc.integer({ min: 62_000, max: 80_000 })).map(ruleAndWait) },
  {
    weight: 1,
    arbitrary: fc.tuple(row, flavour, row, flavour, death).map(changeAndDie),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(row, flavour, flavour, fc.nat({ max: 200 })).map(changeAmid),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        flavour,
        fc.nat({ max: 200 }),
        fc.nat({ max: 3000 }),
        fc.record({ do: fc.constant('backup' as const), by: fc.constantFrom('command' as const, 'copy' as const) }),
        fc.array(step, { maxLength: 5 }),
        fc.record({ do: fc.constant('restore' as const), by: fc.constantFrom('command' as const, 'hand' as const) }),
      )
      .map(loseTime),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(5, 6, 7), person).map(loseAndResolve) },
);

/** A backup during the work, whose restore loses the time since. */
function loseTime([to, workMs, lostMs, backup, between, restore]: [
  Flavour,
  number,
  number,
  Step,
  Step[],
  Step,
]): Step[] {
  const amid: Step[] = [{ do: 'fill', to }, { do: 'pull' }, { do: 'wait', ms: workMs }];
  return [...amid, backup, { do: 'wait', ms: lostMs }, ...between, restore];
}

function ruleAndWait([closed, ms]: [Step, number]): Step[] {
  return [closed, { do: 'pull' }, { do: 'wait', ms: 6000 }, { do: 'wait', ms }];
}

/** Two rows change, and the process dies while it reads them. */
function changeAndDie([one, to, other, then, death]: [number, Flavour, number, Flavour, Death]): Step[] {
  return [
    { do: 'edit', row: one, to },
    { do: 'edit', row: other, to: then },
    { do: 'pull' },
    { do: 'crash', death, downMs: 0 },
  ];
}

/** A row changes again while it is mapped. */
function changeAmid([one, to, then, ms]: [number, Flavour, Flavour, number]): Step[] {
  return [
    { do: 'edit', row: one, to },
    { do: 'pull' },
    { do: 'wait', ms },
    { do: 'edit', row: one, to: then },
    { do: 'pull' },
    { do: 'wait', ms: 300 },
  ];
}

/** The answer to a BOM item is lost before or after its effect, and a person looks at the platform. */
function loseAndResolve([one, resolve]: [number, Step]): Step[] {
  return [
    { do: 'edit', row: one, to: 'absent' },
    { do: 'pull' },
    { do: 'edit', row: one, to: 'a' },
    { do: 'pull' },
    { do: 'wait', ms: 4000 },
    resolve,
  ];
}

/** Random scripts for a platform that treats idempotency keys in this way. */
export function scriptFor(mode: KeyMode): fc.Arbitrary<Script> {
  return fc.record({
    setup: fc.record({
      chance: fc.nat({ max: 2 ** 31 - 1 }),
      halting: fc.boolean(),
      even: fc.boolean(),
      full: fc.constantFrom(false, true, true),
      trust: fc.constantFrom(...TRUSTS[mode]),
      productUpdate: fc.constantFrom('import' as const, 'import' as const, 'import' as const, 'none' as const),
      importAnswer: fc.constantFrom('per-row' as const, 'summary' as const, 'none' as const),
      membersMax: fc.constantFrom(100, 2),
      creates: fc.constantFrom('off' as const, 'untried' as const, 'proven' as const, 'proven' as const),
      policy: fc.record({
        init: fc.constantFrom('when-complete' as const, 'manual' as const),
        publish: fc.constantFrom('auto' as const, 'manual' as const),
        withdraw: fc.boolean(),
      }),
      pageSize: fc.constantFrom(100, 1),
      incremental: fc.boolean(),
      recheckBlockedMs: fc.constantFrom(15_000, 6 * HOUR_MS),
    }),
    steps: fc.array(phrase, { minLength: 1, maxLength: 18, size: 'max' }).map((phrases) => phrases.flat()),
  });
}
