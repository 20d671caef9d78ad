import { afterEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { covers } from '../../support/docs/reliability.ts';
import { scaled } from '../../support/runner/chaos.ts';
import { createVirtualWorld, type VirtualWorld } from '../../support/time/virtual-world.ts';

let world: VirtualWorld;
afterEach(() => world.remove());

const detail = { status: 400, message: 'Nope.' };
/** A refusal that says neither that the item exists nor what is wrong. */
const REFUSED: Outcome = { kind: 'refused', mayExist: true, detail };
const EXISTS: Outcome = { kind: 'exists', detail };
const LOST: Outcome = { kind: 'ambiguous', cause: 'reset', detail: { status: null, message: 'Lost.' } };
const MINUTE_MS = 60_000;

const count = (what: 'write' | 'list', from = 0) =>
  world.requests.filter((request) => request.what === what && request.at >= from).length;
const item = (key: string) => world.ledger.views.item('product', key);
const isBound = () => typeof item('P1')?.remoteId === 'number';
const settled = () => ['due', 'sending', 'in_doubt'].every((state) => world.states()[state] === undefined);

/** The first write of each SKU lands and its answer is lost; a second one is refused. The list lags behind. */
function losesFirst(refusal: Outcome, lagMs: number): void {
  world.failing = ({ what, sku }) => {
    if (what !== 'write' || sku === null) return null;
    return world.created.has(sku) ? { outcome: refusal } : { outcome: LOST, landed: true };
  };
  world.shows = (sku) => world.time.now() - (world.createdAt.get(sku) ?? 0) > lagMs;
}

describe('a create whose answer was lost, and whose repetition is refused', () => {
  it.each([
    ['exists', EXISTS],
    ['says nothing', REFUSED],
  ])(
    'a create whose answer was lost, and whose repetition is refused as one that %s, is bound once the list shows it, and nobody is asked to correct the row',
    covers('answer-lost', 'I5', 'I6'),
    async (_, refusal) => {
      world = await createVirtualWorld({});
      // The platform hides the item for longer than the time between two lists, so the create is sent once more.
      losesFirst(refusal, 50_000);
      await world.stage(['P1']);
      await world.time.pass(5 * MINUTE_MS, isBound);
      expect([item('P1')?.remoteId, world.created.get('P1')]).toEqual([1, 1]);
      expect(world.requests.filter(({ sku }) => sku === 'P1')).toHaveLength(2);
      expect(item('P1')?.timeline.map(({ what }) => what)).not.toContain('rejected');
    },
  );

  it('a lost, then refused create is bound once the list shows it', covers('answer-lost', 'I5', 'I6'), async () => {
    world = await createVirtualWorld({});
    losesFirst(REFUSED, 10 * MINUTE_MS);
    await world.stage(['P1']);
    await world.time.pass(5 * MINUTE_MS);
    expect(item('P1')).toMatchObject({
      state: 'rejected',
      reason: { message: expect.stringContaining('Nope.') as unknown },
    });
    await world.time.pass(6 * MINUTE_MS);
    const writes = count('write');
    await world.stage([]);
    await world.time.pass(MINUTE_MS, isBound);
    expect([item('P1')?.remoteId, world.created.get('P1'), count('write')]).toEqual([1, 1, writes]);
  });
});

describe('bad rows', () => {
  it(
    'bad rows refused in words that may mean anything cost a few listings together, and none the next night',
    covers('bad-row', 'I5', 'I9'),
    async () => {
      world = await createVirtualWorld({});
      world.failing = ({ what }) => (what === 'write' ? { outcome: REFUSED } : null);
      const rows = Array.from({ length: scaled(1000, 10_000) }, (_, index) => `P${index}`);
      await world.stage(rows);
      await world.time.pass(60 * MINUTE_MS, () => world.states()['rejected'] === rows.length);
      expect(world.states()).toEqual({ rejected: rows.length });
      expect(item('P0')).toMatchObject({ reason: { code: 'refused', message: 'Nope.', status: 400 } });
      expect(count('write')).toBe(rows.length);
      expect(count('list')).toBeLessThanOrEqual(10);
      const nextNight = world.time.now();
      await world.stage([]);
      await world.time.pass(5 * MINUTE_MS, settled);
      expect(world.requests.filter(({ at }) => at >= nextNight)).toEqual([]);
    },
  );

  it('bad rows are rejected with the words of the platform, and a corrected row takes the place of its bad one', async () => {
    world = await createVirtualWorld({});
    world.failing = ({ what, sku }) => (what === 'write' && sku === 'bad' ? { outcome: REFUSED } : null);
    await world.stage(['bad', 'good']);
    await world.time.pass(MINUTE_MS, settled);
    expect(world.states()).toEqual({ rejected: 1, delivered: 1 });
    expect(count('list')).toBe(1);
  });

  it('rows refused under 409 are blocked once the list does not show them', covers('gate', 'I5'), async () => {
    world = await createVirtualWorld({});
    world.failing = ({ what }) =>
      what === 'write'
        ? { outcome: { kind: 'gated', mayExist: true, detail: { status: 409, message: 'Review first.' } } }
        : null;
    await world.stage(['P1']);
    await world.time.pass(MINUTE_MS, settled);
    expect(item('P1')).toMatchObject({ state: 'blocked', reason: { code: 'gate', message: 'Review first.' } });
  });
});
