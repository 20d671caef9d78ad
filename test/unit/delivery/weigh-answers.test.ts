import { describe, expect, it } from 'vitest';
import { weigh } from '../../../src/delivery/outcome/decide.ts';
import type { Readable } from '../../../src/delivery/outcome/decide-context.ts';
import { OPERATIONS, type Operation } from '../../../src/domain/delivery/operation.ts';
import { EVIDENCE, type Evidence } from '../../../src/domain/delivery/outcome.ts';

interface Case {
  evidence: Evidence;
  echoedBefore: boolean;
  readable: Readable;
  withoutProof: 'hold' | 'accept';
  isRepeat: boolean;
}

const READABLE = ['yes', 'no', 'assumed_empty'] as const;
const CASES: Case[] = EVIDENCE.flatMap((evidence) =>
  [false, true].flatMap((echoedBefore) =>
    READABLE.flatMap((readable) =>
      (['hold', 'accept'] as const).flatMap((withoutProof) =>
        [false, true].map((isRepeat) => ({ evidence, echoedBefore, readable, withoutProof, isRepeat })),
      ),
    ),
  ),
);

/** By setting: a weak answer is held, or accepted unless it is in an unknown word. */
const bySetting = ({ withoutProof, evidence }: Case): string =>
  withoutProof === 'accept' && evidence !== 'unknown_word' ? 'take accepted' : 'hold';

const newItem = (one: Case): string => {
  if (one.evidence === 'echo') return 'done';
  if (one.readable === 'yes') return 'look_up';
  if (one.echoedBefore || one.evidence === 'unknown_word') return bySetting(one);
  return one.readable === 'assumed_empty' ? 'take assumed_empty' : 'take unlisted';
};

const publication = (one: Case): string => {
  if (one.evidence === 'echo') return 'done';
  return one.readable === 'yes' ? 'look_up' : bySetting(one);
};

/** True for an answer that is enough on a platform that may answer with a bare 2xx. */
const isUsual = ({ evidence, echoedBefore }: Case): boolean =>
  evidence === 'echo' || (!echoedBefore && evidence !== 'unknown_word');

/** What happens to each write, written a second time. */
const EXPECTED: Record<Operation, (one: Case) => string> = {
  'product.create': newItem,
  'material.create': newItem,
  'material.update': (one) => (isUsual(one) ? 'done' : one.readable === 'yes' ? 'look_up' : bySetting(one)),
  'bom_item.create': (one) => (isUsual(one) ? 'done' : bySetting(one)),
  'passport.init': (one) => (isUsual(one) || one.isRepeat ? 'done' : 'send_again'),
  'passport.publish': publication,
  'passport.unpublish': publication,
  'product.import': () => 'done',
  'product.update': () => 'done',
  'bom_item.update': () => 'done',
};

describe.each(OPERATIONS)('the answer to %s', (operation) => {
  it(`the answer to ${operation} is weighed by its evidence, and else by the list, the setting and earlier answers`, () => {
    for (const one of CASES) {
      const weighed = weigh(operation, one.evidence, one);
      const said = weighed.kind === 'take' ? `take ${weighed.unproven}` : weighed.kind;
      expect(said, JSON.stringify(one)).toBe(EXPECTED[operation](one));
    }
  });
});
