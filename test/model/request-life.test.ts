/*
 * The desired state changes at every point in the life of a request, one point after the other: before and after each
 * call of a port, while a request is in flight, and during the commit of a claim or of a settlement. In the end the
 * platform has the last desired state, written once, and so has the ledger. The invariants of the model test hold at
 * every point.
 *
 * A failure prints the script, which can be added to `examples.ts`.
 */
import { describe, expect, it } from 'vitest';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { IS_FULL } from '../support/runner/chaos.ts';
import { type Phase, type Played, playAt, pointsOf } from './script/walk.ts';
import { allWalksOf, BATCHES, type ChangedWalk, longestWalkOf, REQUESTS, walksOfBatch } from './script/walks.ts';

/** The phases of every request with the most steps. */
const ALWAYS: readonly Phase[] = [
  'due',
  'in the commit of its claim',
  'claimed',
  'sent',
  'answered',
  'in the commit of its settlement',
  'waiting for a retry',
  'unconfirmed',
  'being read back',
  'read back',
  'in the commit of its read-back',
];
const SENT_AGAIN: readonly Phase[] = ['waiting to be sent again', 'sent again'];
/** Requests whose lost answer is resolved by a read-back alone if the write has arrived. */
const IS_READ_BACK: ReadonlySet<string> = new Set([
  'product.create',
  'product.import, after a proof',
  'material.create',
  'passport.publish',
  'passport.unpublish',
]);

/** The first import of changes, which is never sent again under its key: a list confirms it, or it has proven nothing. */
const IS_PROOF: ReadonlySet<string> = new Set(['product.import']);

/** More failures would not help to find the cause. */
const FAILED_MAX = 3;

/** Plays every point of the walks. Returns the plays and the failures. */
async function walkAll(walks: readonly ChangedWalk[]): Promise<{ played: Played[]; failed: string[] }> {
  const played: Played[] = [];
  const failed: string[] = [];
  for (const { walk, change, everyCall } of walks) {
    for (const point of await pointsOf(walk, IS_FULL && everyCall)) {
      const one = await playAt(walk, point, change);
      played.push(one);
      const breaches = one.phase === null ? [...one.breaches, 'The point was not reached.'] : one.breaches;
      if (breaches.length === 0) continue;
      const where = `${walk.name}, ${one.phase ?? 'never'}, ${JSON.stringify(point)}`;
      failed.push(`${where}:\n${breaches.join('\n')}\nunder the script\n${JSON.stringify(one.script)}`);
      if (failed.length >= FAILED_MAX) return { played, failed };
    }
  }
  return { played, failed };
}

describe('what is desired changes at every point of a request', () => {
  it.each(REQUESTS)(
    'a change at every point of a request leaves the platform with what was desired last, once: $name',
    covers(['changed-amid', 'answer-lost', 'server-error'], ...ORACLE),
    async (request) => {
      const { played, failed } = await walkAll(IS_FULL ? allWalksOf(request) : longestWalkOf(request));
      expect(failed).toEqual([]);
      const phases = new Set(played.map(({ phase }) => phase));
      const isSentAgain = !IS_PROOF.has(request.name) && (IS_FULL || !IS_READ_BACK.has(request.name));
      const expected = isSentAgain ? [...ALWAYS, ...SENT_AGAIN] : ALWAYS;
      expect(expected.filter((phase) => !phases.has(phase))).toEqual([]);
    },
  );
});

describe('what is desired changes while several requests are claimed and settled together, one of which fails', () => {
  it.each(BATCHES)(
    'a change while several requests are claimed and settled together, one of which fails, leaves each item as it was desired last: $name',
    covers(['changed-amid', 'answer-lost', 'bad-row'], ...ORACLE),
    async (batch) => {
      const walks = walksOfBatch(batch);
      const { played, failed } = await walkAll(IS_FULL ? walks : walks.slice(0, 1));
      expect(failed).toEqual([]);
      const isOneRequest = batch.name.startsWith('one bulk import');
      expect(played.some((one) => isOneRequest || one.claimedAtOnce > 1)).toBe(true);
      expect(played.some((one) => isOneRequest || one.settledAtOnce > 1)).toBe(true);
    },
  );
});
