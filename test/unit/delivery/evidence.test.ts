import { expect, it } from 'vitest';
import { OPERATIONS, type Operation } from '../../../src/domain/delivery/operation.ts';
import {
  EFFECTS,
  EVIDENCE,
  type Evidence,
  isEnough,
  NEEDED_EVIDENCE,
  provesAll,
} from '../../../src/domain/delivery/outcome.ts';

/** The weakest evidence that proves each write: on a platform that has never repeated a request, and on one that has. */
const WEAKEST: Record<Operation, [Evidence, Evidence]> = {
  'product.create': ['echo', 'echo'],
  'product.update': ['unknown_word', 'unknown_word'],
  'product.import': ['echo', 'echo'],
  'material.create': ['echo', 'echo'],
  'material.update': ['bare', 'echo'],
  'bom_item.create': ['bare', 'echo'],
  'bom_item.update': ['unknown_word', 'unknown_word'],
  'passport.init': ['bare', 'echo'],
  'passport.publish': ['echo', 'echo'],
  'passport.unpublish': ['echo', 'echo'],
};

it.each(OPERATIONS)('%s is proven by the evidence that its effects need, and by each stronger one', (operation) => {
  for (const [at, echoedBefore] of [false, true].entries()) {
    const weakest = WEAKEST[operation][at] ?? 'echo';
    for (const evidence of EVIDENCE) {
      expect(provesAll(operation, evidence, { echoedBefore }), `${evidence} ${echoedBefore}`).toBe(
        isEnough(evidence, weakest),
      );
    }
  }
});

it('a word that is not known proves nothing at all', () => {
  for (const operation of OPERATIONS) {
    for (const effect of EFFECTS) {
      const needed = NEEDED_EVIDENCE[operation][effect];
      expect(needed === null || !isEnough('unknown_word', needed), `${operation} ${effect}`).toBe(true);
    }
  }
});
