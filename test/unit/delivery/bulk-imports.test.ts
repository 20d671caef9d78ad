import { describe, expect, it } from 'vitest';
import { createBulkImports } from '../../../src/delivery/imports/bulk-imports.ts';
import type { ImportProof, ImportUse } from '../../../src/domain/delivery/import-proof.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { ReasonCode } from '../../../src/domain/delivery/stored-reason.ts';
import type { ClaimedRequest, DeliveryName, UnconfirmedDelivery } from '../../../src/domain/ports/deliveries.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { claimedProduct } from '../../support/ledger/deliveries.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const detail = { status: null, message: 'No.' };
const proven = (answersIds: boolean, size = 100) => ({ state: 'proven', size, answersIds, form: [] }) as const;

function given({
  stored = { state: 'untried' },
  gain = { due: 5000, listed: 0 },
  imports = {},
  canRead = true,
  isOpen = true,
  lost = [],
}: {
  stored?: ImportProof;
  gain?: { due: number; listed: number };
  imports?: Partial<Profile['imports']>;
  canRead?: boolean;
  isOpen?: boolean;
  /** The imports of an earlier process that wait for a list. */
  lost?: DeliveryName[][];
} = {}) {
  const clock = createManualClock();
  let proof = stored;
  const ledger = {
    importProofs: async () => ({ creates: proof, changes: { state: 'untried' } as const }),
    storeImportProof: async (use: ImportUse, given: ImportProof) => {
      if (use === 'creates') proof = given;
    },
    importGain: async () => gain,
    lostImports: async (use: ImportUse) => (use === 'creates' ? lost : []),
    isOpen: async () => isOpen,
  };
  const made = createBulkImports({
    ledger,
    profile: Profile.parse({ imports }),
    canRead: () => canRead,
    canShowChanges: () => true,
    canImport: () => true,
    clock,
  });
  const bulk = {
    ...made,
    prepare: (waiting: number) => made.prepare({ creates: waiting, changes: 0 }),
    /** How the next new product is sent. */
    createForm() {
      const size = made.sizeMax('product.create');
      return size === 0 ? 'alone' : size === 1 ? 'proof' : 'import';
    },
    beginProof: (delivery: ReturnType<typeof product>) => made.begin([delivery]),
    giveBack: (delivery: ReturnType<typeof product>) => made.giveBack([delivery]),
  };
  return { bulk, clock, stored: () => proof };
}

const product = (id: number) => claimedProduct({ id });
function importOf(...ids: number[]): ClaimedRequest {
  const write = { operation: 'product.import', path: '/', body: '', idempotencyKey: 'key' } as const;
  return { request: 1, sends: 1, ...write, members: ids.map(product) };
}
const withId: Outcome = {
  kind: 'accepted',
  evidence: 'echo',
  remoteId: null,
  members: [{ kind: 'accepted', effect: 'created', remoteId: 7 }],
};
const without: Outcome = { kind: 'accepted', evidence: 'echo', remoteId: null, members: [{ kind: 'unknown' }] };

function unconfirmed(id: number, code: ReasonCode, since = 0): UnconfirmedDelivery {
  const { attempts, naturalKey, ...name } = product(id);
  const reason = { code, message: 'No answer.', since };
  const write = { path: '/', body: null, sentKey: null, productId: null, importId: null, sent: null };
  return { ...name, ...write, naturalKey, attempts, reason, since, sentAt: since, isImportedCreate: true };
}

/** Sends the proof, and has its answer. */
async function tried(parts: ReturnType<typeof given>, outcome: Outcome, id = 1): Promise<void> {
  await parts.bulk.prepare(100);
  expect(parts.bulk.createForm()).toBe('proof');
  parts.bulk.beginProof(product(id));
  expect(parts.bulk.createForm()).toBe('alone');
  expect(parts.bulk.isProof(importOf(id))).toBe(true);
  parts.bulk.answered(importOf(id), outcome);
}

describe('whether new products are sent in imports', () => {
  it.each<[string, Parameters<typeof given>[0], number]>([
    ['few of them wait', {}, 19],
    ['the profile says so', { imports: { creates: 'off' } }, 5000],
    ['imports have failed to prove themselves', { stored: { state: 'failed', message: 'No.', at: 0 } }, 5000],
    ['no list can be read', { canRead: false }, 5000],
    ['the lists would take more requests than they save', { gain: { due: 25, listed: 20_000 } }, 25],
  ])('new products are sent one by one where %s', async (_, options, waiting) => {
    const { bulk } = given(options);
    await bulk.prepare(waiting);
    expect(bulk.createForm()).toBe('alone');
  });

  it('other new products wait for a larger proof, for a bounded time, and not for the first one', async () => {
    const parts = given();
    await parts.bulk.prepare(5000);
    parts.bulk.beginProof(product(1));
    expect(parts.bulk.paused()).toEqual([]);
    const larger = given({ stored: proven(true, 1) });
    await larger.bulk.prepare(5000);
    larger.bulk.begin([product(1), product(2)]);
    expect(larger.bulk.paused()).toEqual(['product.create']);
    larger.clock.advance(10_000);
    expect(larger.bulk.paused()).toEqual([]);
    larger.bulk.giveBack(product(1));
    larger.bulk.begin([product(1), product(2)]);
    expect(larger.bulk.paused()).toEqual(['product.create']);
    larger.bulk.giveBack(product(2));
    expect(larger.bulk.paused()).toEqual([]);
  });

  it('new products need no list for imports any more where answers name the ids', async () => {
    const gain = { due: 25, listed: 20_000 };
    const { bulk } = given({ gain, stored: proven(true) });
    await bulk.prepare(25);
    expect(bulk.createForm()).toBe('import');
  });

  it('new products are sent in imports until none waits, and then this is decided again', async () => {
    const { bulk, clock } = given({ stored: proven(true) });
    await bulk.prepare(20);
    await bulk.prepare(3);
    expect(bulk.createForm()).toBe('import');
    await bulk.prepare(0);
    clock.advance(60_000);
    await bulk.prepare(3);
    expect(bulk.createForm()).toBe('alone');
  });
});

describe('the proof', () => {
  it.each([
    [withId, true],
    [without, false],
  ])('the import proof is there once a list shows the product exactly once', async (outcome, answersIds) => {
    const parts = given();
    await tried(parts, outcome);
    await parts.bulk.looked(unconfirmed(1, 'import_proof'), [7]);
    expect(parts.stored()).toEqual(proven(answersIds, 1));
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('import');
  });

  it('the import proof fails where the list shows a second product', async () => {
    const parts = given();
    await tried(parts, withId);
    await parts.bulk.looked(unconfirmed(1, 'import_proof'), [7, 8]);
    expect(parts.stored()).toMatchObject({ state: 'failed', message: expect.stringContaining('shows 2 products') });
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('alone');
  });

  it('the import proof fails where neither the answer nor a list shows the product', async () => {
    const parts = given();
    await tried(parts, without);
    await parts.bulk.looked(unconfirmed(1, 'import_proof'), []);
    expect(parts.stored()).toEqual({ state: 'untried' });
    await parts.bulk.absent(unconfirmed(1, 'import_proof'));
    expect(parts.stored()).toMatchObject({ state: 'failed', message: expect.stringContaining('No list has shown') });
  });

  it('the import proof is tried with other products where it was refused, and fails after three of them', async () => {
    const parts = given();
    for (const id of [1, 2, 3]) await tried(parts, { kind: 'refused', detail }, id);
    await parts.bulk.prepare(100);
    expect(parts.stored()).toMatchObject({ state: 'failed' });
  });

  it('the import proof whose answer was lost is tried with another product once listed, and after three of them an hour later', async () => {
    const parts = given();
    for (const id of [1, 2, 3]) {
      await tried(parts, { kind: 'ambiguous', cause: 'reset', detail }, id);
      await parts.bulk.prepare(100);
      expect(parts.bulk.createForm()).toBe('alone');
      await parts.bulk.looked(unconfirmed(id, 'reset'), [id]);
    }
    await parts.bulk.prepare(100);
    expect([parts.stored().state, parts.bulk.createForm()]).toEqual(['postponed', 'alone']);
    parts.clock.advance(3_600_000);
    await tried(parts, withId, 4);
  });

  it('the import proof fails at the first product where the answer was lost and the list shows two', async () => {
    const parts = given();
    await tried(parts, { kind: 'ambiguous', cause: 'reset', detail });
    await parts.bulk.looked(unconfirmed(1, 'reset'), [7, 8]);
    expect(parts.stored().state).toBe('failed');
  });

  it('the import proof is tried with another product where its answer was lost and no list will show it', async () => {
    const parts = given();
    await tried(parts, { kind: 'ambiguous', cause: 'reset', detail });
    await parts.bulk.absent(unconfirmed(1, 'reset'));
    await tried(parts, withId, 2);
  });

  it('the import proof is tried with another product where its product was refused by itself', async () => {
    const parts = given();
    const refused: Outcome = {
      kind: 'accepted',
      evidence: 'echo',
      remoteId: null,
      members: [{ kind: 'refused', detail }],
    };
    for (const id of [1, 2, 3, 4, 5]) {
      await parts.bulk.prepare(100);
      parts.bulk.beginProof(product(id));
      parts.bulk.answered(importOf(id), refused);
      expect(parts.bulk.isProof(importOf(id))).toBe(false);
    }
    await tried(parts, withId, 6);
  });

  it('the import proof is put off for an hour where it was not allowed three times', async () => {
    const parts = given();
    for (const id of [1, 2, 3]) await tried(parts, { kind: 'denied', by: 'key', detail }, id);
    await parts.bulk.prepare(100);
    expect([parts.stored().state, parts.bulk.createForm()]).toEqual(['postponed', 'alone']);
  });

  it('the import proof is lost again where an import has changed a product in place of creating it', async () => {
    const { bulk, stored } = given({ stored: proven(true) });
    await bulk.prepare(100);
    const members = [1, 2].map(
      (remoteId) => ({ kind: 'accepted', effect: remoteId === 2 ? 'updated' : 'created', remoteId }) as const,
    );
    bulk.answered(importOf(1, 2), { kind: 'accepted', evidence: 'echo', remoteId: null, members });
    await bulk.prepare(100);
    expect(stored()).toMatchObject({ state: 'failed', message: expect.stringContaining('have changed a product') });
  });

  it('the import proof fails where the answer names another id than the list', async () => {
    const parts = given();
    await tried(parts, withId);
    await parts.bulk.looked(unconfirmed(1, 'import_proof'), [70]);
    expect(parts.stored()).toMatchObject({ state: 'failed', message: expect.stringMatching(/the id 7,.*the id 70/) });
  });

  it('the import proof is made with another product after a restart, which forgets the answer', async () => {
    const { bulk, stored } = given();
    await bulk.prepare(100);
    await bulk.looked(unconfirmed(1, 'import_proof'), [7]);
    expect([stored().state, bulk.createForm()]).toEqual(['untried', 'proof']);
  });

  it('the import proof of a process that has ended is awaited, and no other one is sent before', async () => {
    const parts = given({ lost: [[product(1)]] });
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('alone');
    await parts.bulk.looked(unconfirmed(1, 'crash'), ['a']);
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('proof');
  });

  it('the import proof of a process that has ended is awaited once if two parts ask for it at the same time', async () => {
    const parts = given({ lost: [[product(1)]] });
    const lost = unconfirmed(1, 'crash');
    await Promise.all([parts.bulk.prepare(100), parts.bulk.mayMakeUntil(lost), parts.bulk.looked(lost, ['a'])]);
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('proof');
  });

  it('the import proof fails after a restart as well where the list shows a second product', async () => {
    const { bulk, stored } = given();
    await bulk.looked(unconfirmed(1, 'import_proof'), [7, 8]);
    expect(stored().state).toBe('failed');
  });

  it.each<Outcome>([
    { kind: 'throttled', retryAfterMs: null, detail },
    { kind: 'unavailable', sent: false, retryAfterMs: null, detail },
  ])('the import proof is tried again where the import was not processed: $kind', async (outcome) => {
    const parts = given();
    for (let id = 1; id < 6; id += 1) await tried(parts, outcome, id);
    expect(parts.stored()).toEqual({ state: 'untried' });
  });

  it('the import proof is tried again where its delivery was not sent', async () => {
    const { bulk } = given();
    await bulk.prepare(100);
    bulk.beginProof(product(1));
    bulk.giveBack(product(2));
    expect(bulk.createForm()).toBe('alone');
    bulk.giveBack(product(1));
    expect(bulk.createForm()).toBe('proof');
  });

  it('the import proof is lost again where a later list shows an imported product twice', async () => {
    const { bulk, stored } = given({ stored: proven(true) });
    await bulk.prepare(100);
    await bulk.looked(unconfirmed(5, 'timeout'), [7, 8]);
    expect([stored().state, bulk.createForm()]).toEqual(['failed', 'alone']);
  });
});

describe('an import that was split', () => {
  const refused: Outcome = { kind: 'refused', detail };

  it('an import that was split keeps imports in use until its members were sent again, but for a few of them', async () => {
    const { bulk, clock } = given({ stored: proven(true) });
    await bulk.prepare(100);
    expect(bulk.fewest()).toBe(1);
    bulk.answered(importOf(1, 2, 3), refused);
    await bulk.prepare(0);
    expect([bulk.createForm(), bulk.fewest()]).toEqual(['import', 20]);
    clock.advance(600_000);
    await bulk.prepare(0);
    expect([bulk.createForm(), bulk.fewest()]).toEqual(['alone', 1]);
  });

  it('an import that was split puts imports in use again where no other member waited for its answer', async () => {
    const { bulk } = given({ stored: proven(true) });
    await bulk.prepare(100);
    await bulk.prepare(0);
    expect(bulk.createForm()).toBe('alone');
    bulk.answered(importOf(1, 2, 3), refused);
    expect(bulk.createForm()).toBe('import');
  });

  it('an import that the platform has not worked on does not count as split', async () => {
    const { bulk } = given({ stored: proven(true) });
    await bulk.prepare(100);
    bulk.answered(importOf(1, 2), { kind: 'throttled', retryAfterMs: null, limit: null, detail } as Outcome);
    expect(bulk.fewest()).toBe(1);
  });
});

describe('a proof that a person has settled', () => {
  it('an import proof that a person has settled is forgotten, and another product becomes the proof', async () => {
    const parts = given({ isOpen: false });
    await parts.bulk.prepare(100);
    parts.bulk.beginProof(product(1));
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('proof');
  });

  it('an import proof that no person has settled is awaited', async () => {
    const parts = given();
    await parts.bulk.prepare(100);
    parts.bulk.beginProof(product(1));
    await parts.bulk.prepare(100);
    expect(parts.bulk.createForm()).toBe('alone');
  });
});

describe('an import that has changed products', () => {
  it.each([
    ['one that it names', 'updated' as const, 'have changed 2 products that the platform had already: SKU-1, SKU-2.'],
    ['some that it only counts', 'mixed' as const, 'have changed some of these 2 products'],
  ])('an import that has changed products ends imports of new products: %s', async (_, effect, message) => {
    const { bulk, stored } = given({ stored: proven(false) });
    await bulk.prepare(100);
    const members = [1, 2].map(() => ({ kind: 'accepted' as const, effect, remoteId: null }));
    bulk.answered(importOf(1, 2), { kind: 'accepted', evidence: 'echo', remoteId: null, members });
    await bulk.prepare(100);
    expect([stored(), bulk.createForm()]).toMatchObject([
      { state: 'failed', message: expect.stringContaining(message) },
      'alone',
    ]);
  });
});

describe('until when an import may still make a product', () => {
  const early = proven(true);
  const late = proven(false);

  it.each<[string, ReasonCode, ImportProof, number | null, number | null]>([
    ['its answer was lost, and answers name ids', 'timeout', early, null, 305_000],
    ['its answer has left the product out', 'unclear', early, null, null],
    ['its answer was lost, and answers name no ids', 'timeout', late, null, null],
    ['its answer was lost before anything was proven', 'timeout', { state: 'untried' }, null, null],
    ['its answer was lost, answers name ids, and a time is set', 'timeout', early, 60_000, 65_000],
    ['it was refused', 'import_refused', late, null, 0],
    ['its answer was lost, and a time is set', 'timeout', late, 60_000, 65_000],
    ['its answer has left the product out, and a time is set', 'unclear', early, 60_000, 65_000],
  ])(
    'an import may still make a product until a known time, or nobody knows until when, where %s',
    async (_, code, stored, settlesWithinMs, until) => {
      const { bulk } = given({ stored, imports: { settlesWithinMs } });
      expect(await bulk.mayMakeUntil(unconfirmed(1, code, 5000))).toBe(until);
    },
  );
});

describe('an import whose answer has another form', () => {
  const answer = (form: string[]): Outcome => ({ ...withId, kind: 'accepted', evidence: 'echo', remoteId: null, form });

  it('an import whose answer has another form than a list has confirmed is a proof again', async () => {
    const parts = given({ stored: { ...proven(true), form: ['id: number'] } });
    await parts.bulk.prepare(100);
    parts.bulk.answered(importOf(1), answer(['id: number']));
    expect(parts.bulk.isProof(importOf(1))).toBe(false);
    parts.bulk.answered(importOf(2), answer(['id: uuid']));
    expect(parts.bulk.isProof(importOf(2))).toBe(true);
    await parts.bulk.looked(unconfirmed(2, 'import_proof'), [7]);
    expect(parts.stored()).toEqual({ ...proven(true), form: ['id: number', 'id: uuid'] });
    parts.bulk.answered(importOf(3), answer(['id: uuid']));
    expect(parts.bulk.isProof(importOf(3))).toBe(false);
  });

  it('an import that is larger than what a list has confirmed is a proof again, one at a time', async () => {
    const parts = given({ stored: proven(true, 2) });
    await parts.bulk.prepare(100);
    expect(parts.bulk.sizeMax('product.create')).toBe(20);
    parts.bulk.begin([1, 2, 3].map((id) => ({ ...product(id), operation: 'product.create' as const })));
    expect(parts.bulk.sizeMax('product.create')).toBe(2);
    expect(parts.bulk.isProof(importOf(1, 2, 3))).toBe(true);
  });
});
