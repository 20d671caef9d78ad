import { beforeEach, describe, expect, it } from 'vitest';
import { type Authorization, createAuthorization } from '../../../src/delivery/admission/authorization.ts';
import { createReachability } from '../../../src/delivery/admission/reachability.ts';
import { suspendedBy } from '../../../src/delivery/admission/suspended-work.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { Profile } from '../../../src/domain/profile.ts';

const denied = (by: 'key' | 'plan' | 'scope', status: number): Outcome => ({
  kind: 'denied',
  by,
  detail: { status, message: 'No.' },
});
const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: null };
const THROTTLED: Outcome = { kind: 'throttled', retryAfterMs: null, detail: { status: 429, message: 'Slowly.' } };
const AWAY: Outcome = {
  kind: 'unavailable',
  sent: false,
  retryAfterMs: null,
  detail: { status: null, message: 'Away.' },
};

let authorization: Authorization;
beforeEach(() => {
  authorization = createAuthorization({ ownPublishKey: false });
});
const allowed = () => (['read', 'write', 'publish'] as const).filter((scope) => authorization.allows(scope));

describe('an authorization hold', () => {
  it('an authorization hold closes the scope that is refused, and no other', () => {
    authorization.observe(denied('scope', 403), 'publish');
    expect([authorization.state(), allowed()]).toEqual([{ open: true }, ['read', 'write']]);
    expect([...authorization.refused()]).toEqual([['publish', { code: 'denied_scope', message: 'No.', status: 403 }]]);
    authorization.observe(denied('scope', 403), 'read');
    authorization.reopenScope('publish');
    expect(allowed()).toEqual(['write', 'publish']);
  });

  it('an authorization hold lets the other key work when the one for publishing is not valid', () => {
    authorization = createAuthorization({ ownPublishKey: true });
    authorization.observe(denied('key', 401), 'publish');
    expect([authorization.state(), allowed()]).toEqual([{ open: true }, ['read', 'write']]);
    authorization.observe(denied('key', 401), 'write');
    expect(allowed()).toEqual([]);
  });

  it.each([
    ['key', 401],
    ['plan', 402],
  ] as const)(
    'an authorization hold closes all scopes when the %s is refused, and knows afterwards which are granted',
    (by, status) => {
      authorization.observe(denied('scope', 403), 'publish');
      authorization.observe(denied(by, status), 'write');
      expect([authorization.state(), allowed()]).toMatchObject([
        { open: false, by, reason: { code: `denied_${by}`, status } },
        [],
      ]);
      authorization.reopen();
      expect(allowed()).toEqual(['read', 'write']);
    },
  );

  it('an authorization hold asks about a scope once more where a refused request is one that others were allowed', () => {
    authorization.observe(ACCEPTED, 'write');
    authorization.observe(denied('scope', 403), 'write', 'question');
    expect([authorization.isTried('write'), allowed(), authorization.questionsInARow('write')]).toEqual([
      false,
      ['read', 'write', 'publish'],
      1,
    ]);
    authorization.observe(ACCEPTED, 'write');
    expect([authorization.isTried('write'), authorization.questionsInARow('write')]).toEqual([true, 0]);
  });

  it('an authorization hold learns nothing about a scope from a refusal that is about the request', () => {
    authorization.observe(ACCEPTED, 'write');
    authorization.observe(denied('scope', 403), 'write', 'request');
    expect([authorization.isTried('write'), allowed()]).toEqual([true, ['read', 'write', 'publish']]);
  });

  it('an authorization hold forgets with a corrected key how many requests in a row were refused a scope', () => {
    for (const scope of ['write', 'publish'] as const) authorization.observe(denied('scope', 403), scope, 'question');
    authorization.reopen();
    expect((['write', 'publish'] as const).map((scope) => authorization.questionsInARow(scope))).toEqual([0, 0]);
  });

  it('an authorization hold stays closed when the answer to an earlier request comes late', () => {
    authorization.observe(denied('scope', 403), 'publish');
    authorization.observe(ACCEPTED, 'publish');
    expect(authorization.allows('publish')).toBe(false);
  });
});

describe('the reachability of the API', () => {
  const observed = (...outcomes: Outcome[]) => {
    const reachability = createReachability();
    for (const [index, outcome] of outcomes.entries()) reachability.observe(outcome, 1000 * (index + 1));
    return reachability;
  };

  it('the reachability of the API counts since when no request has been answered', () => {
    expect(observed(AWAY, AWAY).unreachableSince()).toBe(1000);
    expect(observed(AWAY, AWAY, denied('scope', 403)).unreachableSince()).toBeNull();
  });

  it('the reachability of the API counts a list that is answered and not complete as an answer', () => {
    const detail = { status: null, message: 'The listing cannot be relied on.' };
    const incomplete: Outcome = { kind: 'ambiguous', cause: 'unreadable_answer', atWork: true, detail };
    expect(observed(AWAY, incomplete).unreachableSince()).toBeNull();
  });

  it('the reachability of the API has since when nothing but a wait was answered, and the last words of it', () => {
    expect(observed().throttledSince()).toBeNull();
    const later: Outcome = { ...THROTTLED, detail: { status: 429, message: 'Come back tomorrow.' } };
    const reachability = observed({ ...THROTTLED, retryAfterMs: 9000 } as Outcome, later, AWAY);
    expect([reachability.throttledSince(), reachability.lastThrottle()]).toEqual([1000, 'Come back tomorrow.']);
    reachability.observe(ACCEPTED, 9000);
    expect(reachability.throttledSince()).toBeNull();
  });

  it('the reachability of the API learns nothing from a limit of this machine', () => {
    expect(observed({ ...AWAY, local: true } as Outcome).unreachableSince()).toBeNull();
  });
});

describe('suspended work', () => {
  const profile = Profile.parse({});

  it('a refused scope suspends the work that needs this scope', () => {
    const publishing = ['passport.publish', 'passport.unpublish'];
    expect(suspendedBy([], profile)).toEqual({ operations: [], unconfirmed: { operations: [], reasons: [] } });
    expect(suspendedBy(['publish'], profile).operations).toEqual(publishing);
    const { operations } = suspendedBy(['write'], profile);
    expect(operations).toContain('passport.init');
    expect(operations).not.toEqual(expect.arrayContaining(publishing));
  });

  it('a refused scope read suspends the work that only reading can settle, and no write', () => {
    const suspended = suspendedBy(['read'], profile);
    expect(suspended.operations).toEqual([]);
    expect(suspended.unconfirmed.operations).toEqual(['product.create', 'material.create', 'passport.unpublish']);
    expect(suspended.unconfirmed.reasons).toContain('exists');
    expect(suspendedBy(['read'], Profile.parse({ idempotency: 'honoured' })).unconfirmed.operations).toEqual([]);
  });
});
