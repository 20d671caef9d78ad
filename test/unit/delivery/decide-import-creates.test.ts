import { describe, expect, it } from 'vitest';
import type { DecisionContext } from '../../../src/delivery/outcome/decide-import.ts';
import { decideCreates } from '../../../src/delivery/outcome/decide-import-creates.ts';
import type { MemberOutcome, Outcome } from '../../../src/domain/delivery/outcome.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { claimedProduct } from '../../support/ledger/deliveries.ts';

const NOW = 100_000;
const detail = { status: 400, message: 'No.' };
const profile = Profile.parse({});
const context = { profile, now: NOW, random: 0.5, takesOthers: false, forbidden: false, isProof: false };

function decided(outcome: Outcome, { count = 4, ...given }: Partial<DecisionContext> & { count?: number } = {}) {
  const members = Array.from({ length: count }, (_, at) => claimedProduct({ id: at + 1 }));
  return decideCreates(outcome, { members }, { ...context, ...given });
}

const accepted = (...members: MemberOutcome[]): Outcome => ({
  kind: 'accepted',
  evidence: 'echo',
  remoteId: null,
  members,
});
const made = (remoteId: number | null): MemberOutcome => ({ kind: 'accepted', effect: 'created', remoteId });
const NOT_NAMED: MemberOutcome = { kind: 'unknown' };

describe('the members of an import of new products', () => {
  it('the members of an import of new products each get what the answer says about them', () => {
    const wrong: MemberOutcome = { kind: 'refused', detail };
    const exists: MemberOutcome = { kind: 'refused', detail, exists: true };
    const { decisions, keep, groupMax } = decided(accepted(made(7), wrong, exists, NOT_NAMED));
    expect([keep, groupMax]).toEqual([false, 1]);
    expect(decisions).toMatchObject([
      { kind: 'delivered', remoteId: 7, by: 'answer' },
      { kind: 'rejected', reason: { code: 'refused' } },
      { kind: 'unconfirmed', nextLookAt: NOW, reason: { code: 'exists', lookAgain: true } },
      { kind: 'unconfirmed', reason: { code: 'unclear', since: NOW } },
    ]);
  });

  it('the members of an import of new products are looked up where the answer does not name their ids', () => {
    const { decisions } = decided(accepted(made(null)), { count: 1 });
    expect(decisions).toMatchObject([{ kind: 'unconfirmed', reason: { code: 'unclear' } }]);
  });

  it('the members of an import of new products are looked up after a refusal that names others', () => {
    const outcome: Outcome = { kind: 'refused', detail, members: [{ kind: 'refused', detail }, { kind: 'untouched' }] };
    const { decisions, groupMax } = decided(outcome, { count: 2 });
    expect(decisions).toMatchObject([
      { kind: 'rejected' },
      { kind: 'unconfirmed', reason: { code: 'import_refused' } },
    ]);
    expect(groupMax).toBe(1);
  });

  it.each<[string, Outcome, string]>([
    ['a refusal as a whole', { kind: 'refused', detail }, 'import_refused'],
    ['a refusal of the address', { kind: 'refused', detail, endpoint: true }, 'import_refused'],
    ['a business rule', { kind: 'gated', detail }, 'import_refused'],
    ['a refusal because one exists', { kind: 'exists', detail }, 'import_exists'],
    ['an answer that it is still at work', { kind: 'in_flight', detail }, 'in_flight'],
    ['a time-out', { kind: 'ambiguous', cause: 'timeout', detail }, 'timeout'],
    ['a lost connection', { kind: 'ambiguous', cause: 'reset', detail }, 'reset'],
    ['a 500', { kind: 'ambiguous', cause: 'server_error', detail }, 'server_error'],
  ])(
    'the members of an import are looked up after %s, and sent in halves if the list lacks them',
    (_, outcome, code) => {
      const { decisions, keep, groupMax } = decided(outcome);
      expect([keep, groupMax]).toEqual([false, 2]);
      expect(decisions).toHaveLength(4);
      for (const decision of decisions) {
        expect(decision).toMatchObject({ kind: 'unconfirmed', reason: { code, since: NOW } });
      }
    },
  );

  it('the members of an import of new products are not looked up before the wait is over that a lost answer has asked for', () => {
    const outcome: Outcome = { kind: 'ambiguous', cause: 'timeout', retryAfterMs: 90_000, detail };
    expect(decided(outcome).decisions[0]).toMatchObject({ nextLookAt: NOW + 90_000 });
  });

  it.each<Outcome>([
    { kind: 'throttled', retryAfterMs: null, detail },
    { kind: 'denied', by: 'key', detail },
    { kind: 'unavailable', sent: false, retryAfterMs: null, detail },
  ])('the members of an import that the platform has not worked on are due again: $kind', (outcome) => {
    const { decisions, groupMax } = decided(outcome);
    expect(groupMax).toBeNull();
    for (const decision of decisions) expect(decision).toMatchObject({ kind: 'retry', spend: false });
  });

  it('the members of an import are due again in halves where the API cannot take it, while it takes other writes', () => {
    const outcome: Outcome = { kind: 'unavailable', sent: true, retryAfterMs: null, detail };
    expect(decided(outcome, { takesOthers: true })).toMatchObject({
      groupMax: 2,
      decisions: [{ kind: 'retry' }, {}, {}, {}],
    });
  });

  it('the members of an import of new products are looked up where a scope is refused that other deliveries are granted', () => {
    const { decisions } = decided({ kind: 'denied', by: 'scope', detail }, { forbidden: true });
    expect(decisions[0]).toMatchObject({ kind: 'unconfirmed', reason: { code: 'import_refused' } });
  });

  it('the members of an import of new products are looked up where they are the proof, whatever the answer says', () => {
    const { decisions } = decided(accepted(made(7)), { count: 1, isProof: true });
    expect(decisions).toMatchObject([{ kind: 'unconfirmed', reason: { code: 'import_proof' } }]);
  });
});
