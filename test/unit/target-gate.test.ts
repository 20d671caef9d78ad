import { beforeEach, describe, expect, it } from 'vitest';
import { createCanary } from '../../src/delivery/admission/canary.ts';
import { suspendedBy } from '../../src/delivery/admission/suspended-work.ts';
import { createTargetGate, type TargetGate } from '../../src/delivery/admission/target-gate.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { Profile } from '../../src/domain/profile.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { covers } from '../support/reliability.ts';

const denied = (by: 'key' | 'plan' | 'scope', status: number): Outcome => ({
  kind: 'denied',
  by,
  detail: { status, message: 'No.' },
});
const ACCEPTED: Outcome = { kind: 'accepted', remoteId: null };
const THROTTLED: Outcome = { kind: 'throttled', retryAfterMs: null, detail: { status: 429, message: 'Slowly.' } };
const AWAY: Outcome = {
  kind: 'unavailable',
  sent: false,
  retryAfterMs: null,
  detail: { status: null, message: 'Away.' },
};

let clock: ManualClock;
let gate: TargetGate;
beforeEach(() => {
  clock = createManualClock();
  gate = createTargetGate(clock);
});
const allowed = () => (['read', 'write', 'publish'] as const).filter((scope) => gate.allows(scope));

describe('the target gate', () => {
  it('closes the scope that is refused, and no other', () => {
    gate.observe(denied('scope', 403), 'publish');
    expect([gate.state(), allowed()]).toEqual([{ open: true }, ['read', 'write']]);
    expect([...gate.refused()]).toEqual([['publish', { code: 'denied_scope', message: 'No.', status: 403 }]]);
    gate.observe(denied('scope', 403), 'read');
    gate.reopenScope('publish');
    expect(allowed()).toEqual(['write', 'publish']);
  });

  it('goes on with the other key when the one for publishing is not valid', () => {
    gate = createTargetGate(clock, { ownPublishKey: true });
    gate.observe(denied('key', 401), 'publish');
    expect([gate.state(), allowed()]).toEqual([{ open: true }, ['read', 'write']]);
    gate.observe(denied('key', 401), 'write');
    expect(allowed()).toEqual([]);
  });

  it.each([
    ['key', 401],
    ['plan', 402],
  ] as const)('closes for everything when the %s is refused, and keeps what it knows of scopes', (by, status) => {
    gate.observe(denied('scope', 403), 'publish');
    gate.observe(denied(by, status), 'write');
    expect([gate.state(), allowed()]).toMatchObject([
      { open: false, by, reason: { code: `denied_${by}`, status } },
      [],
    ]);
    gate.reopen();
    expect(allowed()).toEqual(['read', 'write']);
  });

  it('forgets with the key that was mended how many were refused a scope in a row', () => {
    for (const scope of ['write', 'publish'] as const) gate.question(scope);
    gate.reopen();
    expect((['write', 'publish'] as const).map((scope) => gate.questions(scope))).toEqual([
      { asked: 1, inARow: 0 },
      { asked: 1, inARow: 0 },
    ]);
  });

  it('stays closed when the answer to an earlier request comes late', () => {
    gate.observe(denied('scope', 403), 'publish');
    gate.observe(ACCEPTED, 'publish');
    expect(gate.allows('publish')).toBe(false);
  });

  it('counts since when nothing has been answered', () => {
    gate.observe(AWAY, 'write');
    const since = clock.ticks();
    clock.advance(1000);
    gate.observe(AWAY, 'read');
    expect(gate.unreachableSince()).toBe(since);
    gate.observe(denied('scope', 403), 'read');
    expect(gate.unreachableSince()).toBeNull();
  });

  it('takes a list that is answered and not complete for an answer', () => {
    gate.observe(AWAY, 'write');
    const detail = { status: null, message: 'The listing cannot be relied on.' };
    gate.observe({ kind: 'ambiguous', cause: 'unreadable_answer', atWork: true, detail }, 'read');
    expect(gate.unreachableSince()).toBeNull();
  });

  it('tells since when nothing but a wait was answered, and the last words of it', () => {
    expect(gate.throttled()).toBeNull();
    gate.observe(THROTTLED, 'write');
    const since = clock.ticks();
    clock.advance(1000);
    gate.observe({ ...THROTTLED, retryAfterMs: 9000 }, 'write');
    gate.observe({ ...THROTTLED, detail: { status: 429, message: 'Come back tomorrow.' } }, 'read');
    gate.observe(AWAY, 'write');
    expect([gate.throttled(), gate.lastThrottle()]).toEqual([since, 'Come back tomorrow.']);
    gate.observe(ACCEPTED, 'read');
    expect(gate.throttled()).toBeNull();
  });
});

describe('the canary', () => {
  const NEVER = new AbortController().signal;
  const fresh = { abort: NEVER, deniedAt: null };

  /** Requests that went out and have no answer yet. */
  let air: ((outcome: Outcome) => void)[];
  let results: string[];

  function send(count: number, scope: Scope = 'publish'): Promise<unknown> {
    return Promise.all(
      Array.from({ length: count }, () =>
        canary.run(
          scope,
          async (out) => {
            if (!gate.allows(scope)) return results.push('held');
            out();
            const { promise, resolve } = Promise.withResolvers<Outcome>();
            air.push(resolve);
            const outcome = await promise;
            gate.observe(outcome, scope);
            return results.push(outcome.kind);
          },
          fresh,
        ),
      ),
    );
  }
  let canary: ReturnType<typeof createCanary>;
  beforeEach(() => {
    air = [];
    results = [];
    canary = createCanary({ gate, clock });
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  async function answer(outcome: Outcome): Promise<void> {
    const waiting = air.splice(0);
    for (const resolve of waiting) resolve(outcome);
    await settled();
  }

  it('costs one refusal, however many wait', covers('key-refused', 'I5'), async () => {
    const all = send(50);
    await settled();
    expect(air).toHaveLength(1);
    await answer(denied('scope', 403));
    await all;
    expect(results).toEqual(['denied', ...Array.from({ length: 49 }, () => 'held')]);
  });

  it('lets all others go at once after one was taken, and keeps no other scope waiting', async () => {
    const all = send(5);
    const other = send(1, 'write');
    await settled();
    expect(air).toHaveLength(2);
    await answer(ACCEPTED);
    expect(air).toHaveLength(4);
    await answer(ACCEPTED);
    await Promise.all([all, other]);
    const later = send(3);
    expect(air).toHaveLength(3);
    await answer(ACCEPTED);
    await later;
  });

  it('sends one again after a request that says nothing of the scope, and after the scope was reopened', async () => {
    const all = send(3);
    await settled();
    await answer(THROTTLED);
    expect(air).toHaveLength(1);
    await answer(AWAY);
    expect(air).toHaveLength(1);
    await answer(ACCEPTED);
    await all;
    gate.observe(denied('scope', 403), 'publish');
    gate.reopenScope('publish');
    const more = send(3);
    await settled();
    expect(air).toHaveLength(1);
    await answer(ACCEPTED);
    await answer(ACCEPTED);
    await more;
  });

  it('keeps nobody waiting for longer than a second', async () => {
    const all = send(4);
    await settled();
    clock.advance(999);
    await settled();
    expect(air).toHaveLength(1);
    clock.advance(1);
    await settled();
    expect(air).toHaveLength(4);
    await answer(ACCEPTED);
    await all;
  });

  it('is one that was not refused before, and else the one that was refused longest ago', async () => {
    const order: string[] = [];
    const run = (name: string, deniedAt: number | null) =>
      canary.run(
        'write',
        async () => {
          order.push(name);
          gate.observe(denied('scope', 403), 'write');
        },
        { abort: NEVER, deniedAt },
      );
    const tried = async (...runs: [string, number | null][]): Promise<string[]> => {
      gate.reopenScope('write');
      order.length = 0;
      const all = Promise.all(runs.map(([name, deniedAt]) => run(name, deniedAt)));
      for (let passed = 0; passed < 1100; passed += 50) {
        await settled();
        clock.advance(50);
      }
      await all;
      return order.slice(0, 1);
    };
    expect(await tried(['refused', 7], ['fresh', null])).toEqual(['fresh']);
    expect(await tried(['lately', 9], ['long ago', 7], ['in between', 8])).toEqual(['long ago']);
    expect(await tried(['alone', 9])).toEqual(['alone']);
  });

  it('waits for no other once the work is stopped', async () => {
    const stopping = new AbortController();
    const went: string[] = [];
    const waiting = canary.run('write', async () => went.push('on'), { abort: stopping.signal, deniedAt: 7 });
    await settled();
    expect(went).toEqual([]);
    stopping.abort();
    // No time passes.
    await settled();
    expect(went).toEqual(['on']);
    await waiting;
  });

  it('hands an error to the one that met it alone', async () => {
    const failing = canary.run('write', () => Promise.reject(new Error('The disk is full.')), fresh);
    const next = canary.run('write', () => Promise.resolve('went on'), fresh);
    await expect(failing).rejects.toThrow('The disk is full.');
    expect(await next).toBe('went on');
  });
});

describe('what is held', () => {
  const profile = Profile.parse({});

  it('is what takes the scope', () => {
    const publishing = ['passport.publish', 'passport.unpublish'];
    expect(suspendedBy([], profile)).toEqual({ operations: [], doubts: { operations: [], reasons: [] } });
    expect(suspendedBy(['publish'], profile).operations).toEqual(publishing);
    const { operations } = suspendedBy(['write'], profile);
    expect(operations).toContain('passport.init');
    expect(operations).not.toEqual(expect.arrayContaining(publishing));
  });

  it('is with the scope read what only reading can settle, and no write', () => {
    const held = suspendedBy(['read'], profile);
    expect(held.operations).toEqual([]);
    expect(held.doubts.operations).toEqual(['product.create', 'material.create', 'passport.unpublish']);
    expect(held.doubts.reasons).toContain('exists');
    expect(suspendedBy(['read'], Profile.parse({ idempotency: 'honoured' })).doubts.operations).toEqual([]);
  });
});
