import fc from 'fast-check';
import { EFFECTS } from '../../../src/domain/approval.ts';
import { calmSetup, edit } from './generated-nights.ts';
import type { Setup } from './night.ts';
import type { Bounds } from './plan-world.ts';
import type { BoundedScript, Decision } from './play-approvals.ts';

/** After a kill each write has to have its one effect, which only a platform that honours keys can give. */
const setup: fc.Arbitrary<Setup> = calmSetup.map((calm) => ({
  ...calm,
  passports: calm.passports === 'by hand' ? 'published' : calm.passports,
  idempotency: 'honoured',
  changesOnly: false,
  hasLog: false,
}));

const bounds: fc.Arbitrary<Bounds> = fc
  .record(Object.fromEntries(EFFECTS.map((effect) => [effect, fc.constantFrom(undefined, 0, 1, 3)])))
  .map((record) => Object.fromEntries(Object.entries(record).filter(([, limit]) => limit !== undefined)));

const decision: fc.Arbitrary<Decision> = fc.oneof(
  fc.record({ how: fc.constantFrom('leave', 'refuse', 'approve') }),
  fc.record({ how: fc.constant('approve' as const) }),
  fc.record({ how: fc.constant('approve later' as const), row: fc.nat({ max: 20 }) }),
  fc.record({ how: fc.constant('killed' as const), calls: fc.nat({ max: 60 }) }),
);

export const APPROVALS: fc.Arbitrary<BoundedScript> = fc.record({
  setup,
  bounded: fc.record({ plm: bounds, erp: bounds }),
  nights: fc.array(fc.record({ edits: fc.array(edit, { maxLength: 5 }), decision }), { minLength: 3, maxLength: 5 }),
});
