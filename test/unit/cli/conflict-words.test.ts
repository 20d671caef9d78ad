import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/delivery/outcome/decide.ts';
import { readConflict } from '../../../src/delivery/outcome/decide-refusal.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { nextState, PASSPORT_STATES } from '../../../src/sandbox/items/passports.ts';
import { covers } from '../../support/docs/reliability.ts';

const EXISTS = [
  'The passport is initialized already.',
  'Passport already initialized.',
  'Already initialised',
  'already exists',
  'It has already been initialized.',
  'Object already exists.',
  'Passport with this product already exists.',
  'passport with this Product and Organization already exists.',
  'A passport for this product already exists.',
  'A digital product passport already exists for product 4711.',
  'DPP for product_id 12 already exists',
  'The DPP has already been created for this product.',
  'Conflict: the passport is already published.',
  'This product already has a passport.',
  'Product 4711 already has an initialized passport.',
  'The product was already initialised.',
  'The passport cannot be initialised: a passport for this product already exists.',
  'Cannot initialise, because the passport has already been initialised.',
  'Duplicate passport.',
  'The fields product, organization must make a unique set.',
  'detail: Passport already exists.',
];

const BUSINESS_RULES = [
  'A review of this product is already open; the passport cannot be initialised before it is closed.',
  'Another review of this product is already in progress.',
  'The passport cannot be initialised: its BOM is already locked by a reviewer.',
  'BOM is already locked',
  'Product is archived already; restore it first.',
  'The passport is not initialized already: materials are missing.',
  'The passport cannot be initialised until the BOM is already approved.',
  'The product needs a GTIN before a passport can be created.',
  'The passport cannot be published: country_of_origin is missing.',
  'Product data incomplete.',
  'Your plan has a limit of 100 passports.',
  'The supplier approval is pending.',
];

const UNCLEAR = [
  'The BOM was already created but is incomplete.',
  'A review of the passport already exists.',
  'Conflict',
  'No.',
  '',
  'Already processed.',
  'The passport is already being initialised by another user.',
  'A passport with this GTIN already exists for another product.',
  'Another passport already exists.',
  'The passport cannot be initialised twice.',
  'Cannot transition from initialized to initialized.',
  'Invalid status: the passport is initialized and its BOM is locked.',
  'Der Produktpass ist bereits initialisiert.',
];

const profile = Profile.parse({});
const stateAfter = (message: string, uncertain: boolean, readable: 'yes' | 'no' = 'yes'): string =>
  decide(
    { kind: 'gated', detail: { status: 409, message } },
    {
      operation: 'passport.init',
      attempts: 0,
      uncertain,
      busySince: null,
      awaySince: null,
      takesOthers: false,
      forbidden: false,
      echoedBefore: false,
      readable,
      profile,
      now: 0,
      random: 0.5,
    },
  ).kind;

describe('a 409 to the initialising of a passport', () => {
  it.each(EXISTS)('a 409 to an initialising counts as success if it says "%s"', (message) => {
    expect(readConflict(message)).toBe('exists');
    expect([stateAfter(message, false), stateAfter(message, true)]).toEqual(['delivered', 'delivered']);
  });

  it.each(BUSINESS_RULES)(
    'a 409 to an initialising is a business rule, also after a lost answer, if it says "%s"',
    covers('gate', 'I4', 'I5'),
    (message) => {
      expect(readConflict(message)).toBe('business_rule');
      expect([stateAfter(message, false), stateAfter(message, true)]).toEqual(['blocked', 'blocked']);
    },
  );

  it.each(UNCLEAR)(
    'a 409 to an initialising is looked up, and the second one is success, if it says "%s"',
    (message) => {
      expect(readConflict(message)).toBe('unclear');
      expect([stateAfter(message, false), stateAfter(message, true)]).toEqual(['unconfirmed', 'delivered']);
      expect(stateAfter(message, false, 'no')).toBe('retry');
    },
  );

  it('a 409 to an initialising counts as success for each message of the sandbox that refuses a second initialising', () => {
    for (const state of PASSPORT_STATES) {
      const next = nextState(state, 'init');
      if (!next.ok) expect(readConflict(next.error)).toBe('exists');
    }
    const early = nextState('none', 'publish');
    expect(early.ok ? null : readConflict(early.error)).not.toBe('exists');
  });
});
