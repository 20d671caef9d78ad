import { beforeEach, describe, expect, it } from 'vitest';
import { createReachability } from '../../../src/delivery/admission/api-health.ts';
import { type Authorization, createAuthorization, suspendedBy } from '../../../src/delivery/admission/authorization.ts';
import { LIST_ACCESSES } from '../../../src/domain/delivery/operation.ts';
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
const SOME = ['read', 'product.create', 'material.create', 'passport.publish'] as const;
const allowed = () => SOME.filter((access) => authorization.allows(access));
const lacking = () => [...authorization.refusedScopes().keys()];

describe('an authorization hold', () => {
  it('an authorization hold closes the operation that is refused, and no other', () => {
    authorization.observe(denied('scope', 403), 'product.import');
    expect([authorization.state(), allowed(), lacking()]).toEqual([{ open: true }, [...SOME], ['write']]);
    authorization.observe(ACCEPTED, 'material.create');
    expect([...authorization.refused()]).toEqual([
      ['product.import', { code: 'denied_scope', message: 'No.', status: 403 }],
    ]);
    expect([allowed(), lacking()]).toEqual([[...SOME], []]);
    authorization.reopenAccess('product.import');
    expect([authorization.refused().size, authorization.isTried('product.import')]).toEqual([0, false]);
  });

  it('an authorization hold takes a scope as lacking while everything that was tried is refused', () => {
    authorization.observe(ACCEPTED, 'material.create');
    authorization.observe(denied('scope', 403), 'product.create');
    expect([allowed(), lacking()]).toEqual([['read', 'material.create', 'passport.publish'], []]);
    authorization.observe(denied('scope', 403), 'material.create');
    expect([allowed(), lacking()]).toEqual([['read', 'passport.publish'], ['write']]);
    authorization.observe(denied('scope', 403), 'passport.publish');
    expect([allowed(), lacking()]).toEqual([['read'], ['write', 'publish']]);
  });

  it('an authorization hold lets the other key work when the one for publishing is not valid', () => {
    authorization = createAuthorization({ ownPublishKey: true });
    authorization.observe(denied('key', 401), 'passport.publish');
    expect([authorization.state(), allowed()]).toEqual([{ open: true }, ['read', 'product.create', 'material.create']]);
    expect([authorization.allows('passport.unpublish'), lacking()]).toEqual([false, ['publish']]);
    authorization.observe(denied('key', 401), 'product.create');
    expect(allowed()).toEqual([]);
  });

  it.each([
    ['key', 401],
    ['plan', 402],
  ] as const)(
    'an authorization hold closes everything when the %s is refused, and knows afterwards what is granted',
    (by, status) => {
      authorization.observe(denied('scope', 403), 'passport.publish');
      authorization.observe(denied(by, status), 'product.create');
      expect([authorization.state(), allowed()]).toMatchObject([
        { open: false, by, reason: { code: `denied_${by}`, status } },
        [],
      ]);
      authorization.reopen();
      expect(allowed()).toEqual(['read', 'product.create', 'material.create']);
    },
  );

  it('an authorization hold asks once more where a refused request is one that others were allowed', () => {
    authorization.observe(ACCEPTED, 'product.create');
    authorization.observe(denied('scope', 403), 'product.create', 'question');
    expect([
      authorization.isTried('product.create'),
      allowed(),
      authorization.questionsInARow('product.create'),
    ]).toEqual([false, [...SOME], 1]);
    authorization.observe(ACCEPTED, 'product.create');
    expect([authorization.isTried('product.create'), authorization.questionsInARow('product.create')]).toEqual([
      true,
      0,
    ]);
  });

  it('an authorization hold learns nothing from a refusal that is about the request', () => {
    authorization.observe(ACCEPTED, 'product.create');
    authorization.observe(denied('scope', 403), 'product.create', 'request');
    expect([authorization.isTried('product.create'), allowed()]).toEqual([true, [...SOME]]);
  });

  it('an authorization hold forgets with a corrected key how many requests in a row were refused', () => {
    const both = ['product.create', 'passport.publish'] as const;
    for (const access of both) authorization.observe(denied('scope', 403), access, 'question');
    authorization.reopen();
    expect(both.map((access) => authorization.questionsInARow(access))).toEqual([0, 0]);
  });

  it('an authorization hold stays closed when the answer to an earlier request comes late', () => {
    authorization.observe(denied('scope', 403), 'passport.publish');
    authorization.observe(ACCEPTED, 'passport.publish');
    expect([authorization.allows('passport.publish'), lacking()]).toEqual([false, ['publish']]);
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

  it('a refused operation suspends its own work, and no other', () => {
    const nothing = suspendedBy([], profile);
    expect([nothing.operations, nothing.unconfirmed.operations, nothing.unconfirmed.kinds]).toEqual([[], [], []]);
    expect(suspendedBy(['passport.publish'], profile).operations).toEqual(['passport.publish']);
    expect(suspendedBy(['product.import', 'product.list'], profile).operations).toEqual(['product.import']);
  });

  it('refused lists suspend the work that only reading them can settle, and no write', () => {
    const suspended = suspendedBy(LIST_ACCESSES, profile);
    expect(suspended.operations).toEqual([]);
    expect(suspended.unconfirmed.operations).toEqual(['product.create', 'material.create', 'passport.unpublish']);
    expect(suspended.unconfirmed.reasons).toContain('exists');
    expect(suspended.unconfirmed.kinds).toEqual(['product', 'material', 'passport']);
    const { unconfirmed } = suspendedBy(['publication.list'], profile);
    expect([unconfirmed.operations, unconfirmed.kinds]).toEqual([['passport.unpublish'], ['passport']]);
    expect(suspendedBy(LIST_ACCESSES, Profile.parse({ idempotency: 'honoured' })).unconfirmed.operations).toEqual([]);
  });

  it('unconfirmed imports of changed products also wait for a refused list while the list has to prove an import', () => {
    const { operations, unconfirmed } = suspendedBy(['product.list'], profile, ['product.import']);
    expect(operations).toEqual(['product.import']);
    expect(unconfirmed.operations).toEqual(['product.create', 'product.import']);
    expect(suspendedBy(['material.list'], profile, ['product.import']).unconfirmed.operations).not.toContain(
      'product.import',
    );
  });
});
