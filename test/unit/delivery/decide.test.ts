import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/delivery/outcome/decide.ts';
import type { AttemptContext } from '../../../src/delivery/outcome/decide-context.ts';
import { decideResend } from '../../../src/delivery/unconfirmed/decide-read-back.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { covers } from '../../support/docs/reliability.ts';

const DAY_MS = 86_400_000;
const NOW = 30 * DAY_MS;
const profile = Profile.parse({});
const context: AttemptContext = {
  operation: 'product.create',
  attempts: 0,
  uncertain: false,
  busySince: null,
  awaySince: null,
  takesOthers: false,
  forbidden: false,
  echoedBefore: false,
  readable: 'yes',
  profile,
  now: NOW,
  random: 0.5,
};
const detail = (status: number | null) => ({ detail: { status, message: 'No.' } });

describe('the decision on an attempt', () => {
  it.each<[string, Outcome]>([
    ['429', { kind: 'throttled', retryAfterMs: null, ...detail(429) }],
    ['503', { kind: 'unavailable', sent: true, retryAfterMs: null, ...detail(503) }],
    ['never sent', { kind: 'unavailable', sent: false, retryAfterMs: null, ...detail(null) }],
    ['401', { kind: 'denied', by: 'key', ...detail(401) }],
    ['a key in flight', { kind: 'in_flight', ...detail(409) }],
  ])('the decision uses no attempt for %s', covers(['throttled', 'api-down', 'key-refused'], 'I5'), (_, outcome) => {
    expect(decide(outcome, { ...context, attempts: 7 })).toMatchObject({ kind: 'retry', spend: false });
  });

  it('a delivery waits with full jitter for an API that cannot be reached', () => {
    const away: Outcome = { kind: 'unavailable', sent: false, retryAfterMs: null, ...detail(null) };
    const due = [0, 0.5, 0.99].map((random) => decide(away, { ...context, random }));
    expect(due.map((decision) => (decision.kind === 'retry' ? decision.dueAt - NOW : null))).toEqual([0, 250, 495]);
  });

  it('a delivery to an API that is away is sent ever less often, and uses no attempt', covers('api-down', 'I5'), () => {
    const away: Outcome = { kind: 'unavailable', sent: true, retryAfterMs: null, ...detail(503) };
    const after = (ms: number, more: Partial<AttemptContext> = {}): Decision =>
      decide(away, { ...context, awaySince: NOW - ms, random: 1, attempts: 7, ...more });
    const waits = [0, 10_000, 60_000, 600_000, 3_600_000, DAY_MS * 9].map((ms) => {
      const decision = after(ms);
      return decision.kind === 'retry' && !decision.spend ? decision.dueAt - NOW : null;
    });
    expect(waits).toEqual([500, 10_000, 60_000, 60_000, 300_000, 300_000]);
    expect(after(10_000)).toMatchObject({ reason: { code: 'unavailable', since: NOW - 10_000 } });
    // A wait that the API asks for counts, up to an hour.
    const asked = (retryAfterMs: number): Decision => decide({ ...away, retryAfterMs }, { ...context, random: 0 });
    expect([asked(5000), asked(DAY_MS)]).toMatchObject([{ dueAt: NOW + 5000 }, { dueAt: NOW + 3_600_000 }]);
  });

  it('a delivery that the API cannot take for longer than any outage while it takes others is parked by its limit', () => {
    const away: Outcome = { kind: 'unavailable', sent: true, retryAfterMs: null, ...detail(503) };
    const at = (ms: number, more: Partial<AttemptContext> = {}): Decision =>
      decide(away, { ...context, awaySince: NOW - ms, takesOthers: true, ...more });
    expect(at(DAY_MS)).toMatchObject({ kind: 'retry', spend: false });
    expect(at(DAY_MS + 3_600_000)).toMatchObject({ kind: 'retry', spend: true });
    expect(at(DAY_MS + 3_600_000, { attempts: 7 })).toMatchObject({ kind: 'parked', reason: { code: 'exhausted' } });
    // I6: an earlier attempt may have arrived, and that is looked up first.
    expect(at(DAY_MS + 3_600_000, { attempts: 7, uncertain: true })).toMatchObject({
      kind: 'unconfirmed',
      spend: true,
    });
  });

  it(
    'a delivery whose item is forbidden is blocked, once it is known that the write did not arrive',
    covers('key-refused', 'I6'),
    () => {
      const denied: Outcome = { kind: 'denied', by: 'scope', ...detail(403) };
      const of = (more: Partial<AttemptContext>): Decision => decide(denied, { ...context, forbidden: true, ...more });
      expect(of({})).toMatchObject({ kind: 'blocked', recheckAt: NOW + 21_600_000, reason: { code: 'forbidden' } });
      expect(of({ uncertain: true })).toMatchObject({ kind: 'unconfirmed', spend: true });
      expect(of({ uncertain: true, operation: 'material.update' }).kind).toBe('blocked');
      expect(of({ uncertain: true, operation: 'bom_item.create' })).toMatchObject({
        kind: 'unconfirmed',
        nextLookAt: null,
      });
      expect(of({ forbidden: false })).toMatchObject({ kind: 'retry', spend: false, reason: { code: 'denied_scope' } });
    },
  );

  it('a delivery whose answer names the item and states a problem is never done or refused without a look', () => {
    const answer: Outcome = { kind: 'accepted', evidence: 'unknown_word', remoteId: 9, words: 'Locked.' };
    const of = (operation: Operation, withoutProof: 'hold' | 'accept' = 'accept'): Decision => {
      const profile = Profile.parse({ answers: { withoutProof } });
      return decide(answer, { ...context, operation, profile, echoedBefore: false, readable: 'yes' });
    };
    const reason = { code: 'unechoed', words: 'Locked.', answeredId: 9 };
    expect(of('bom_item.create')).toMatchObject({ kind: 'unconfirmed', nextLookAt: null, reason });
    expect(of('material.update')).toMatchObject({
      kind: 'unconfirmed',
      nextLookAt: expect.any(Number) as number,
      reason,
    });
    const { reason: held } = of('bom_item.create') as Decision & { reason: Reason };
    expect(held.message).toBe(
      'The answer is a success that names the id "9" and states a problem: Locked. No list can show the BOM item. Look at the platform, and record what is there with `dpp-sync settle`.',
    );
    const refused: Outcome = { kind: 'refused', mayExist: true, namesItem: true, ...detail(200) };
    expect(decide(refused, context)).toMatchObject({
      kind: 'unconfirmed',
      reason: { code: 'may_exist', lookAgain: true },
    });
  });

  it('a delivery is sent less and less often while the platform works on the same key, and for ten minutes at most', () => {
    const busy: Outcome = { kind: 'in_flight', ...detail(409) };
    const after = (ms: number): Decision => decide(busy, { ...context, busySince: ms === 0 ? null : NOW - ms });
    // The earlier request has arrived, so no other revision may replace it.
    expect(after(0)).toMatchObject({ kind: 'retry', dueAt: NOW + 250, uncertain: true, reason: { since: NOW } });
    expect(after(10_000)).toMatchObject({ kind: 'retry', dueAt: NOW + 5000, reason: { since: NOW - 10_000 } });
    expect(after(599_999)).toMatchObject({ kind: 'retry', dueAt: NOW + 30_000 });
    expect(after(600_000)).toMatchObject({ kind: 'unconfirmed', spend: true, reason: { code: 'in_flight' } });
  });

  it(
    'a delivery blocked by a business rule is sent again after about six hours, and a refused one never',
    covers('gate', 'I5'),
    () => {
      const gated: Outcome = { kind: 'gated', ...detail(409) };
      const at = [0, 0.5, 0.999].map((random) => decide(gated, { ...context, random }));
      const hours = at.map((decision) =>
        decision.kind === 'blocked' ? ((decision.recheckAt ?? 0) - NOW) / 3_600_000 : 0,
      );
      expect(hours.map((value) => Math.round(value * 10) / 10)).toEqual([4.8, 6, 7.2]);
      const never = Profile.parse({ recheckBlockedMs: 0 });
      expect(decide(gated, { ...context, profile: never })).toEqual({
        kind: 'blocked',
        reason: { code: 'gate', message: 'No.', status: 409 },
      });
      expect(decide({ kind: 'refused', ...detail(422) }, context).kind).toBe('rejected');
    },
  );

  it.each(['product.create', 'material.create', 'passport.publish', 'passport.unpublish'] as const)(
    'a refused %s is read back if an earlier attempt may have taken effect',
    covers(['answer-lost', 'gate', 'cached-refusal'], 'I4', 'I6'),
    (operation) => {
      const refusals: Outcome[] = [
        { kind: 'refused', ...detail(400) },
        { kind: 'gated', ...detail(409) },
      ];
      const looks = refusals.map((outcome) => decide(outcome, { ...context, operation, uncertain: true }));
      const nextLookAt = NOW + profile.settlingDelayMs.timeout;
      const again = operation.startsWith('passport') ? {} : { lookAgain: true };
      expect(looks).toEqual([
        {
          kind: 'unconfirmed',
          nextLookAt,
          spend: false,
          reason: { code: 'refused', message: 'No.', status: 400, ...again },
        },
        {
          kind: 'unconfirmed',
          nextLookAt,
          spend: false,
          reason: { code: 'gate', message: 'No.', status: 409, ...again },
        },
      ]);
      const certain = refusals.map((outcome) => decide(outcome, { ...context, operation, readable: 'no' }).kind);
      expect(certain).toEqual(['rejected', 'blocked']);
    },
  );

  it.each(['product.create', 'material.create'] as const)(
    'a %s with an unclear refusal is read back, before a person is asked',
    covers(['bad-row', 'answer-lost'], 'I5', 'I6'),
    (operation) => {
      const refusals: Outcome[] = [
        { kind: 'refused', ...detail(400), mayExist: true },
        { kind: 'gated', ...detail(409), mayExist: true },
        { kind: 'exists', ...detail(422) },
      ];
      const of = (attempts: number) => refusals.map((outcome) => decide(outcome, { ...context, operation, attempts }));
      const looked = { kind: 'unconfirmed', nextLookAt: NOW, spend: false };
      const reason = (code: string, status: number, more: object = {}) => ({ code, message: 'No.', status, ...more });
      const again = { lookAgain: true };
      expect(of(0)).toEqual([
        { ...looked, reason: reason('may_exist', 400) },
        { ...looked, reason: reason('may_exist', 409) },
        { ...looked, reason: reason('exists', 422, again) },
      ]);
      // An attempt was lost before, and a list that lags behind may have hidden what it made.
      expect(of(1).slice(0, 2)).toEqual([
        { ...looked, reason: reason('may_exist', 400, again) },
        { ...looked, reason: reason('may_exist', 409, again) },
      ]);
    },
  );

  it('a delivery waits after an ambiguous answer as long as the answer asks for, and for an hour at most', () => {
    const lost: Outcome = { kind: 'ambiguous', cause: 'timeout', retryAfterMs: 7_200_000, ...detail(503) };
    expect(decide(lost, context)).toMatchObject({ kind: 'unconfirmed', nextLookAt: NOW + 3_600_000, spend: true });
  });

  it('the last attempt settles before a list is read, where keys are honoured too', covers('answer-lost', 'I3'), () => {
    const lost: Outcome = { kind: 'ambiguous', cause: 'timeout', retryAfterMs: null, ...detail(null) };
    const honoured = Profile.parse({ idempotency: 'honoured' });
    const waitMs = (attempts: number, operation: Operation): number => {
      const decision = decide(lost, { ...context, operation, profile: honoured, attempts, random: 0 });
      return decision.kind === 'unconfirmed' && decision.nextLookAt !== null ? decision.nextLookAt - NOW : Number.NaN;
    };
    const last = honoured.retry.attemptsMax - 1;
    const { timeout } = honoured.settlingDelayMs;
    const operations = ['product.create', 'material.update', 'bom_item.create', 'passport.publish'] as const;
    expect(operations.map((operation) => waitMs(last - 1, operation))).toEqual([1, 1, 1, 1]);
    expect(operations.map((operation) => waitMs(last, operation))).toEqual([timeout, timeout, timeout, timeout]);
  });

  it('a delivery gets back an attempt that failed in an outage, and is parked only by its own limit', () => {
    const reason: Reason = { code: 'reset', message: 'Lost.' };
    const spent = { ...context, attempts: 8, dueAt: 0, refund: false };
    expect(decideResend(spent, reason, true).kind).toBe('parked');
    expect(decideResend({ ...spent, refund: true }, reason, true)).toMatchObject({ kind: 'resend', refund: true });
  });

  it('a write that may be repeated is parked, and any other is left to a person', covers('server-error', 'I6'), () => {
    const reason: Reason = { code: 'reset', message: 'Lost.' };
    const of = (operation: AttemptContext['operation'], more: Partial<AttemptContext> = {}): string => {
      const decision = decideResend(
        { ...context, operation, attempts: 8, dueAt: 0, refund: false, ...more },
        reason,
        false,
      );
      return decision.kind === 'parked' && decision.open ? 'parked open' : decision.kind;
    };
    expect([of('material.update'), of('product.import')]).toEqual(['parked open', 'parked open']);
    const strict = Profile.parse({ productUpdate: 'none', idempotency: 'honoured' });
    expect([of('product.create'), of('passport.init'), of('product.import', { profile: strict })]).toEqual([
      'unconfirmed',
      'unconfirmed',
      'unconfirmed',
    ]);
  });
});
