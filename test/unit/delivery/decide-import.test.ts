import { describe, expect, it } from 'vitest';
import { decideImport } from '../../../src/delivery/outcome/decide-import.ts';
import { decideReadBack } from '../../../src/delivery/unconfirmed/decide-read-back.ts';
import type { MemberOutcome, Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { SentContent, UnconfirmedDelivery } from '../../../src/domain/ports/deliveries.ts';
import type { RemoteItem } from '../../../src/domain/ports/target.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { covers } from '../../support/docs/reliability.ts';

const profile = Profile.parse({});
const context = {
  profile,
  now: 1000,
  random: 0.5,
  takesOthers: false,
  forbidden: false,
  isProof: false,
  isTaken: false,
};
const detail = { status: 400, message: 'No.' };

const members = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    kind: 'product' as const,
    key: `P${index + 1}`,
    naturalKey: `SKU-${index + 1}`,
    remoteId: index + 1,
    attempts: 0,
    groupMax: null,
    revision: 1,
    operation: 'product.import' as const,
    source: 'erp',
    uncertain: false,
    busySince: null,
    awaySince: null,
  }));
const decided = (outcome: Outcome, { count = 4, sends = 1 } = {}) =>
  decideImport(outcome, { members: members(count), sends }, context);
const kinds = (outcome: Outcome, options = {}) => decided(outcome, options).decisions.map(({ kind }) => kind);
const accepted = (...outcomes: MemberOutcome[]): Outcome => ({
  kind: 'accepted',
  evidence: 'echo',
  remoteId: null,
  members: outcomes,
});
const single = (outcome: MemberOutcome) => decided(accepted(outcome), { count: 1 }).decisions[0];

it('an import is sent in halves at once after a 500, if a repetition is safe', () => {
  const failed = (status: number): Outcome => ({
    kind: 'ambiguous',
    cause: 'server_error',
    detail: { status, message: '' },
  });
  expect(decided(failed(500))).toMatchObject({ keep: false, groupMax: 2 });
  expect(decided(failed(502))).toMatchObject({ keep: true, groupMax: null });
  const members4 = { members: members(4), sends: 1 };
  const strict = { ...context, profile: Profile.parse({ productUpdate: 'none' }) };
  expect(decideImport(failed(500), members4, strict)).toMatchObject({ keep: true });
});

describe('an import that the API cannot take', () => {
  const away: Outcome = { kind: 'unavailable', sent: true, retryAfterMs: null, detail };
  const decidedWhile = (takesOthers: boolean, { count = 4, sends = 1 } = {}) =>
    decideImport(away, { members: members(count), sends }, { ...context, takesOthers });

  it('an import that the API cannot take may join any batch as long as the API takes no other delivery', () => {
    expect(decidedWhile(false)).toMatchObject({ keep: false, groupMax: null });
    expect(decidedWhile(false, { sends: 2 })).toMatchObject({ keep: true, groupMax: null });
  });

  it(
    'an import that the API cannot take is sent in halves while the API takes others, as one member may be at fault',
    covers('bad-row', 'I5'),
    () => {
      expect(decidedWhile(true)).toMatchObject({ keep: false, groupMax: 2, decisions: { 0: { kind: 'retry' } } });
      expect(decidedWhile(true, { count: 1 })).toMatchObject({ groupMax: null });
      // An earlier attempt of it may have arrived.
      const doubtful = decidedWhile(true, { sends: 2 });
      expect(doubtful).toMatchObject({
        keep: false,
        groupMax: 2,
        decisions: { 0: { kind: 'unconfirmed', spend: false } },
      });
    },
  );
});

it('an import that is refused, while others are taken, is sent in halves until the one at fault is blocked', () => {
  const outcome: Outcome = { kind: 'denied', by: 'scope', detail };
  const decidedAs = (count: number, forbidden: boolean) =>
    decideImport(outcome, { members: members(count), sends: 1 }, { ...context, forbidden });
  expect(decidedAs(4, true)).toMatchObject({ keep: false, groupMax: 2, decisions: { 0: { kind: 'retry' } } });
  expect(decidedAs(1, true)).toMatchObject({ decisions: [{ kind: 'blocked', reason: { code: 'forbidden' } }] });
  expect(decidedAs(4, false)).toMatchObject({ groupMax: null });
});

describe('an answer to an import', () => {
  it('an answer to an import gives each member its own decision, and splits the import', () => {
    const outcome: Outcome = {
      kind: 'refused',
      detail,
      members: [
        { kind: 'accepted', effect: 'updated', remoteId: 1 },
        { kind: 'refused', detail },
        { kind: 'untouched' },
        { kind: 'unknown' },
      ],
    };
    expect(kinds(outcome)).toEqual(['delivered', 'rejected', 'retry', 'unconfirmed']);
    expect(decided(outcome)).toMatchObject({ keep: false, groupMax: null });
    expect(decided(outcome).decisions[3]).toMatchObject({ reason: { code: 'unclear' }, nextLookAt: 3000, spend: true });
  });

  it('an answer to an import causes a read-back of members that it does not name', () => {
    expect(kinds({ kind: 'accepted', evidence: 'echo', remoteId: null }, { count: 2 })).toEqual([
      'unconfirmed',
      'unconfirmed',
    ]);
  });

  it('an answer to an import blocks a product that was created a second time instead of updated, and names both', () => {
    const decision = single({ kind: 'accepted', effect: 'created', remoteId: 77 });
    expect(decision).toMatchObject({ kind: 'blocked', reason: { code: 'not_upserted' } });
    expect(JSON.stringify(decision)).toMatch(/the product 1\. .* a second product, 77\..*productUpdate: none/);
  });

  it.each<[string, MemberOutcome, string]>([
    ['an update', { kind: 'accepted', effect: 'updated', remoteId: 1 }, 'delivered'],
    ['an update with the id of something else', { kind: 'accepted', effect: 'updated', remoteId: 900 }, 'delivered'],
    ['an update without an id', { kind: 'accepted', effect: 'updated', remoteId: null }, 'delivered'],
    ['a creation of what is there under that id', { kind: 'accepted', effect: 'created', remoteId: '1' }, 'delivered'],
    ['a creation without an id', { kind: 'accepted', effect: 'created', remoteId: null }, 'unconfirmed'],
    ['something stored', { kind: 'accepted', effect: null, remoteId: null }, 'delivered'],
    ['something stored under another id', { kind: 'accepted', effect: null, remoteId: 900 }, 'unconfirmed'],
  ])('an answer to an import that tells of %s is believed where its id fits', (_what, outcome, kind) => {
    const decision = single(outcome);
    expect(decision?.kind).toBe(kind);
    // The id that the ledger knows stays, since an import may number its rows.
    if (decision?.kind === 'delivered') expect(decision.remoteId).toBe(1);
  });

  it('an answer to an import that names no member halves the import until one member is alone', () => {
    expect(decided({ kind: 'refused', detail }, { count: 5 })).toMatchObject({ keep: false, groupMax: 3 });
    expect(kinds({ kind: 'refused', detail }, { count: 2 })).toEqual(['retry', 'retry']);
    expect(decided({ kind: 'refused', detail }, { count: 2 }).groupMax).toBe(1);
    expect(kinds({ kind: 'refused', detail }, { count: 1 })).toEqual(['rejected']);
    expect(kinds({ kind: 'gated', detail }, { count: 2 })).toEqual(['retry', 'retry']);
    expect(kinds({ kind: 'gated', detail }, { count: 1 })).toEqual(['blocked']);
  });

  it('an answer to an import about the request itself does not split the import', () => {
    expect(kinds({ kind: 'refused', detail, endpoint: true }, { count: 2 })).toEqual(['blocked', 'blocked']);
  });

  it.each<[string, Outcome]>([
    ['429', { kind: 'throttled', retryAfterMs: null, detail }],
    ['503', { kind: 'unavailable', sent: true, retryAfterMs: null, detail }],
    ['401', { kind: 'denied', by: 'key', detail }],
  ])(
    'an answer to an import of %s takes an import apart, but not one that may have arrived before',
    (_status, outcome) => {
      expect(decided(outcome).decisions).toMatchObject(Array(4).fill({ kind: 'retry', spend: false }));
      expect(decided(outcome).keep).toBe(false);
      expect(decided(outcome, { sends: 2 }).keep).toBe(true);
    },
  );

  it('an answer to an import that says that the import is still in work keeps the import', () => {
    expect(decided({ kind: 'in_flight', detail })).toMatchObject({ keep: true });
    expect(kinds({ kind: 'in_flight', detail }, { count: 1 })).toEqual(['unconfirmed']);
  });

  it(
    'an import in work that uses up attempts settles before a list is read for its members',
    covers('answer-lost', 'I3'),
    () => {
      const waitMs = (sends: number): number => {
        const request = { members: members(4), sends };
        const [decision] = decideImport({ kind: 'in_flight', detail }, request, { ...context, random: 0 }).decisions;
        return decision?.kind === 'unconfirmed' && decision.nextLookAt !== null
          ? decision.nextLookAt - 1000
          : Number.NaN;
      };
      const { retry, settlingDelayMs } = Profile.parse({});
      expect(waitMs(retry.attemptsMax + 1)).toBeGreaterThanOrEqual(settlingDelayMs.timeout);
      expect(waitMs(1)).toBeLessThan(settlingDelayMs.timeout);
    },
  );

  it('an answer to an import that is lost keeps the import once, and splits it the next time', () => {
    const lost: Outcome = { kind: 'ambiguous', cause: 'reset', detail };
    expect(decided(lost)).toMatchObject({ keep: true, groupMax: null });
    expect(decided(lost, { sends: 2 })).toMatchObject({ keep: false, groupMax: 2 });
    expect(decided(lost, { sends: 9, count: 1 })).toMatchObject({ keep: true });
  });

  it('an answer to an import that is lost uses an attempt only of a member that was alone', () => {
    const lost: Outcome = { kind: 'ambiguous', cause: 'reset', detail };
    expect(decided(lost).decisions[0]).toMatchObject({ kind: 'unconfirmed', spend: false });
    expect(decided(lost, { count: 1 }).decisions[0]).toMatchObject({ kind: 'unconfirmed', spend: true });
  });
});

describe('the list of products', () => {
  const payload = { sku: 'A', name: 'New', gtin: null };
  const sent: SentContent = { payload, changed: ['name'], former: { sku: 'A', name: 'Old' }, remoteId: 1 };
  const listed = (remoteId: JsonValue, fields: JsonObject): RemoteItem => ({ remoteId, naturalKey: 'A', fields });
  const HIDES = 'It hides the SKU.';
  const readBack = (
    found: RemoteItem[],
    change: Partial<UnconfirmedDelivery & { sent: SentContent }> = {},
    settings = context,
    unclear: string | null = null,
  ) => {
    const delivery = {
      id: 1,
      kind: 'product' as const,
      key: 'P',
      revision: 1,
      operation: 'product.import' as const,
      source: 'erp',
      path: '',
      body: null,
      naturalKey: 'A',
      sentKey: { field: 'sku', value: 'A' },
      productId: null,
      attempts: 1,
      since: 0,
      sentAt: 0,
      importId: null,
      isImportedCreate: false,
      sent,
      reason: { code: 'unclear' as const, message: 'The answer does not name it.' },
      ...change,
    };
    const match = { found, unclear };
    return decideReadBack(delivery, match, {
      ...settings,
      operation: 'product.import',
      attempts: delivery.attempts,
      dueAt: 0,
      refund: false,
    });
  };

  it('the list of products proves a change of an import that it shows', () => {
    const decision = { kind: 'delivered', remoteId: 1, contentKnown: true, by: 'read_back' };
    expect(readBack([listed(1, { sku: 'A', name: 'New', gtin: null })])).toEqual(decision);
    expect(readBack([listed(1, { sku: 'A', name: 'New' })])).toEqual(decision);
    expect(readBack([listed('1', { sku: 'A', name: 'New', gtin: '' })])).toEqual(decision);
  });

  it('the list of products disproves a change of an import by a field that differs, and by a missing product', () => {
    for (const found of [[listed(1, { sku: 'A', name: 'Old' })], [listed(1, { name: 'New', gtin: '1' })], []]) {
      expect(readBack(found)).toMatchObject({ kind: 'resend', absent: true });
    }
  });

  it('the list of products proves nothing about a changed field that it shows in a form of its own', () => {
    const change = { payload: { sku: 'A', country_of_origin: 'FR' }, changed: ['country_of_origin'], remoteId: 1 };
    const proof = (country: string) =>
      readBack([listed(1, { sku: 'A', country_of_origin: country })], {
        sent: { ...change, former: { sku: 'A', country_of_origin: 'DE' } },
        reason: { code: 'change_proof', message: '' },
      });
    // One product is shown, and the answer says that it was updated.
    expect(proof('France').kind).toBe('delivered');
    expect(proof('fr').kind).toBe('delivered');
    expect(proof('DE')).toMatchObject({ kind: 'resend', absent: true });
  });

  it('a list that does not show a change whose answer stated a problem ends the change with the words of the platform', () => {
    const stated = { code: 'unechoed', message: 'It states a problem: Locked.', words: 'Locked.' } as const;
    const change = { operation: 'material.update', reason: stated } as const;
    expect(readBack([listed(1, { sku: 'A', name: 'Old' })], change)).toMatchObject({
      kind: 'rejected',
      reason: { code: 'refused', message: expect.stringContaining('Locked.') as string },
    });
    expect(readBack([listed(1, { sku: 'A', name: 'New', gtin: null })], change).kind).toBe('delivered');
  });

  it('the list of products causes no more attempts of an import than the profile allows', () => {
    expect(readBack([], { attempts: 8 })).toMatchObject({ kind: 'parked', reason: { code: 'exhausted' } });
  });

  it('the list of products leaves a change of an import to a person if it does not show the fields', () => {
    const hidden = { kind: 'unconfirmed', nextLookAt: null, reason: { code: 'unclear' } };
    expect(readBack([listed(1, { sku: 'A' })])).toMatchObject(hidden);
    // If the earlier content is unknown, equal fields prove nothing: they may have been equal before the write.
    const unknown = { sent: { ...sent, changed: null } };
    expect(readBack([listed(1, { sku: 'A', name: 'New' })], unknown)).toMatchObject(hidden);
    expect(readBack([listed(1, { sku: 'A', name: 'New', gtin: null })], unknown).kind).toBe('delivered');
  });

  it('the list of products shows a second product if the import did not update', () => {
    const twice = [listed(1, { sku: 'A', name: 'Old' }), listed(2, { sku: 'A', name: 'New' })];
    expect(readBack(twice)).toMatchObject({ kind: 'blocked', reason: { code: 'not_upserted' } });
    expect(readBack([listed(2, { sku: 'A', name: 'New' })])).toMatchObject({ kind: 'blocked' });
    expect(readBack([listed(1, { sku: 'A', name: 'New' }), listed(2, { sku: 'A', name: 'New' })]).kind).toBe(
      'delivered',
    );
  });

  it('the list of products causes no other attempt if the profile says that an import does not update', () => {
    const none = { ...context, profile: Profile.parse({ productUpdate: 'none' }) };
    expect(readBack([], {}, none)).toMatchObject({ kind: 'parked', reason: { code: 'unclear' } });
    const person = {
      kind: 'unconfirmed',
      nextLookAt: null,
      reason: { message: expect.stringMatching(/It hides the SKU\. .*settle/) },
    };
    expect(readBack([], {}, none, HIDES)).toMatchObject(person);
  });

  it('the list of products causes another attempt of an import if it neither shows nor excludes the product', () => {
    const message = 'The answer does not name it. It hides the SKU.';
    expect(readBack([], {}, context, HIDES)).toMatchObject({ kind: 'resend', absent: false, reason: { message } });
    // One of the attempts may have taken effect, so the next revision assumes nothing about the content.
    const spent = { kind: 'parked', open: true, reason: { code: 'exhausted' } };
    expect(readBack([], { attempts: 8 }, context, HIDES)).toMatchObject(spent);
    expect(readBack([listed(1, { sku: 'A', name: 'New' })], {}, context, HIDES).kind).toBe('delivered');
  });
});
