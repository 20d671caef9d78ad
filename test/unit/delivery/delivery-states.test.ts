import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  DELIVERY_EVENTS,
  DELIVERY_STATES,
  type DeliveryEvent,
  type DeliveryState,
  IN_FLIGHT_STATES,
  idempotencyKey,
  OPEN_STATES,
  TRANSITIONS,
  transition,
} from '../../../src/domain/delivery/delivery.ts';
import {
  awaySince,
  busySince,
  codesWith,
  hasTrait,
  isLookedForOnce,
  mayExplain,
  REASON_CODES,
  type Reason,
  type ReasonCode,
  storedReason,
  wasThereBefore,
  whenAbsent,
} from '../../../src/domain/delivery/stored-reason.ts';
import type { ReasonTrait, WhenAbsent } from '../../../src/domain/words/reasons.ts';

/** Every transition that there is, written a second time; all other cells of the table have to refuse. */
const KNOWN: [DeliveryState, DeliveryEvent, DeliveryState][] = [
  ['waiting', 'refs_arrived', 'due'],
  ['waiting', 'refs_missing', 'waiting'],
  ['waiting', 'look_up', 'in_doubt'],
  ['waiting', 'supersede', 'superseded'],
  ['due', 'refs_arrived', 'due'],
  ['due', 'refs_missing', 'waiting'],
  ['due', 'claim', 'sending'],
  ['due', 'look_up', 'in_doubt'],
  ['due', 'reject', 'rejected'],
  ['due', 'supersede', 'superseded'],
  ['sending', 'accept', 'delivered'],
  ['sending', 'retry', 'due'],
  ['sending', 'unconfirmed', 'in_doubt'],
  ['sending', 'look_up', 'in_doubt'],
  ['sending', 'block', 'blocked'],
  ['sending', 'reject', 'rejected'],
  ['sending', 'exhaust', 'parked'],
  ['in_doubt', 'accept', 'delivered'],
  ['in_doubt', 'unconfirmed', 'in_doubt'],
  ['in_doubt', 'look_up', 'in_doubt'],
  ['in_doubt', 'resend', 'due'],
  ['in_doubt', 'block', 'blocked'],
  ['in_doubt', 'reject', 'rejected'],
  ['in_doubt', 'exhaust', 'parked'],
  ['blocked', 'accept', 'delivered'],
  ['blocked', 'reject', 'rejected'],
  ['blocked', 'supersede', 'superseded'],
  ['rejected', 'accept', 'delivered'],
  ['rejected', 'look_up', 'in_doubt'],
  ['rejected', 'supersede', 'superseded'],
  ['parked', 'accept', 'delivered'],
  ['parked', 'reject', 'rejected'],
  ['parked', 'supersede', 'superseded'],
];

describe('the transition table', () => {
  const cells = DELIVERY_STATES.flatMap((state) => DELIVERY_EVENTS.map((event) => ({ state, event })));

  it.each(cells)('the transition table has an answer for $event when $state', ({ state, event }) => {
    const next = KNOWN.find(([from, on]) => from === state && on === event)?.[2];
    if (next) expect(transition(state, event)).toBe(next);
    else
      expect(() => transition(state, event)).toThrow(`A delivery that is ${state} cannot take the event "${event}".`);
  });

  it('the transition table never supersedes a write that may have reached the API', () => {
    for (const state of IN_FLIGHT_STATES) expect(TRANSITIONS[state].supersede).toBeNull();
  });

  /** The changes of a state, each as the two states. */
  const CHANGES = [...new Set(KNOWN.filter(([from, , to]) => from !== to).map(([from, , to]) => `${from} ${to}`))];
  const textOf = (file: string): string => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');

  it('the picture in docs/architecture.md has each change of a state', () => {
    const drawn = [...textOf('docs/architecture.md').matchAll(/^ {2}(\w+) --> (\w+)(?=:|$)/gm)];
    expect([...new Set(drawn.map(([, from, to]) => `${from} ${to}`))].toSorted()).toEqual(CHANGES.toSorted());
  });

  it('the head of the file with the transition table lists each change of a state', () => {
    const listed = [
      ...textOf('src/domain/delivery/delivery.ts').matchAll(/^\/\/ {3}(\w+) ──► (\w+(?: \| \w+)*)$/gm),
    ].flatMap(([, from, to = '']) => to.split(' | ').map((one) => `${from} ${one}`));
    expect(listed.toSorted()).toEqual(CHANGES.toSorted());
  });

  it('the transition table leaves a way out of every state that is not an end', () => {
    for (const state of OPEN_STATES) expect(Object.values(TRANSITIONS[state]).some((next) => next !== null)).toBe(true);
  });
});

/** The states that each code may explain, written a second time; each other cell of the table has to be empty. */
const EXPLAINS: Record<ReasonCode, readonly DeliveryState[]> = {
  throttled: ['waiting', 'due', 'sending', 'superseded'],
  local: ['waiting', 'due', 'sending', 'superseded'],
  denied_key: ['waiting', 'due', 'sending', 'superseded'],
  denied_plan: ['waiting', 'due', 'sending', 'superseded'],
  denied_scope: ['waiting', 'due', 'sending', 'superseded'],
  untouched: ['waiting', 'due', 'sending', 'superseded'],
  guarded: ['waiting', 'due', 'sending', 'superseded'],
  unavailable: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  in_flight: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  reset: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  timeout: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  server_error: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  unreadable_answer: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  crossed: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  crash: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  unechoed: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  pending: ['in_doubt', 'superseded'],
  conflict: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  unclear: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  change_proof: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  import_proof: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  import_refused: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  import_exists: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  restored: ['waiting', 'due', 'sending', 'in_doubt', 'superseded'],
  shared_id: ['waiting', 'due', 'sending', 'in_doubt', 'blocked', 'parked', 'superseded'],
  made_twice: ['waiting', 'due', 'sending', 'in_doubt', 'parked', 'superseded'],
  exists: ['waiting', 'due', 'sending', 'in_doubt', 'rejected', 'parked', 'superseded'],
  may_exist: ['in_doubt', 'superseded'],
  gate: ['in_doubt', 'blocked', 'superseded'],
  forbidden: ['waiting', 'due', 'sending', 'in_doubt', 'blocked', 'parked', 'superseded'],
  refused: ['waiting', 'due', 'sending', 'in_doubt', 'rejected', 'superseded'],
  unsupported: ['blocked', 'superseded'],
  renamed: ['blocked', 'superseded'],
  not_upserted: ['blocked', 'superseded'],
  import_unproven: ['blocked', 'superseded'],
  adopted: ['blocked', 'superseded'],
  adopted_bom: ['blocked', 'superseded'],
  ambiguous_key: ['blocked', 'superseded'],
  exhausted: ['in_doubt', 'parked', 'superseded'],
  internal: ['in_doubt', 'rejected', 'superseded'],
  person: ['rejected', 'superseded'],
  ignored: ['superseded'],
  unlisted: [],
  unknown: [],
};

/** The codes with each trait, on which decisions depend. */
const DECIDED: Record<ReasonTrait, readonly ReasonCode[]> = {
  needs_reading: [
    'change_proof',
    'conflict',
    'exists',
    'gate',
    'import_exists',
    'import_proof',
    'import_refused',
    'made_twice',
    'may_exist',
    'pending',
    'refused',
    'restored',
    'shared_id',
    'unclear',
    'unechoed',
  ],
  content_unknown: ['exists', 'import_exists', 'import_refused', 'may_exist', 'restored', 'shared_id'],
  found_before: ['exists', 'import_exists', 'may_exist'],
  may_exist: ['may_exist'],
  of_another_item: ['crossed', 'shared_id'],
  since_backup: ['restored'],
  api_away: ['unavailable'],
  keeps_away_since: ['local', 'throttled', 'unavailable'],
  api_busy: ['in_flight'],
  access_denied: ['denied_key', 'denied_plan', 'denied_scope'],
  scope_denied: ['denied_scope'],
  item_forbidden: ['forbidden'],
  asked_again: ['forbidden', 'gate'],
  adopted_change: ['adopted'],
  parts_unknown: ['adopted_bom'],
  may_come_late: ['import_proof', 'unclear'],
  ambiguous_key: ['ambiguous_key'],
  made_second: ['not_upserted'],
  row_at_fault: ['gate', 'refused', 'renamed'],
  made_nothing: [
    'denied_key',
    'denied_plan',
    'denied_scope',
    'forbidden',
    'gate',
    'guarded',
    'internal',
    'local',
    'person',
    'refused',
    'throttled',
    'unavailable',
    'unsupported',
    'untouched',
  ],
  looked_up_by_runs: ['made_twice'],
  was_answered: ['change_proof', 'conflict', 'pending', 'unechoed'],
  needs_proof: ['import_unproven', 'not_upserted'],
};

const ABSENT: Partial<Record<ReasonCode, WhenAbsent>> = {
  exists: 'reject_as_hidden',
  gate: 'block',
  conflict: 'block',
  pending: 'ask_person',
  may_exist: 'reject',
  refused: 'reject',
  crossed: 'ask_person',
  shared_id: 'ask_person',
  made_twice: 'ask_person',
};

describe.each(REASON_CODES)('the reason code %s', (code) => {
  const reason: Reason = { code, message: 'It is so.' };

  it.each(DELIVERY_STATES)(`the reason code ${code} explains %s only where it may`, (state) => {
    expect(mayExplain(code, state)).toBe(EXPLAINS[code].includes(state));
  });

  it(`the reason code ${code} has the traits that something is decided by, and no other`, () => {
    const traits = Object.entries(DECIDED).filter(([, codes]) => codes.includes(code));
    const has = Object.keys(DECIDED).filter((trait) => hasTrait(reason, trait as ReasonTrait));
    expect(has).toEqual(traits.map(([trait]) => trait));
  });

  it(`the reason code ${code} decides about an absent write, and asks a person where no unconfirmed delivery carries it`, () => {
    const rule = ABSENT[code] ?? (mayExplain(code, 'in_doubt') ? 'resend' : 'ask_person');
    expect(whenAbsent(reason)).toBe(rule);
    expect(whenAbsent({ ...reason, status: 409 })).toBe(code === 'may_exist' ? 'block' : rule);
  });

  it(`the reason code ${code} adopts an item that was there before, unless an earlier attempt may have created it`, () => {
    expect(wasThereBefore(reason)).toBe(DECIDED.found_before.includes(code));
    expect(wasThereBefore({ ...reason, afterDoubt: true })).toBe(false);
  });

  it(`the reason code ${code} is looked for once only if nothing says that the item exists, and it is not marked`, () => {
    expect(isLookedForOnce(reason)).toBe(code === 'may_exist');
    expect(isLookedForOnce({ ...reason, lookAgain: true })).toBe(false);
  });

  it(`the reason code ${code} keeps the time since which the API is away or at work on it, if it is about that`, () => {
    const since = { ...reason, since: 7 };
    expect(awaySince(since)).toBe(DECIDED.keeps_away_since.includes(code) ? 7 : null);
    expect(busySince(since)).toBe(code === 'in_flight' ? 7 : null);
    expect([awaySince(reason), busySince(reason)]).toEqual([null, null]);
  });

  it(`the reason code ${code} is read back from the ledger as it was stored`, () => {
    expect(storedReason(JSON.stringify({ ...reason, status: 500 }))).toEqual({ ...reason, status: 500 });
  });
});

describe('the codes of reasons', () => {
  it.each(Object.entries(DECIDED))('the codes of reasons with the trait %s are given to statements', (trait, codes) => {
    expect([...codesWith(trait as ReasonTrait)].toSorted()).toEqual(codes);
  });

  it('the codes of reasons explain every state that needs an explanation', () => {
    const explained = DELIVERY_STATES.filter((state) => REASON_CODES.some((code) => mayExplain(code, state)));
    expect(explained).toEqual(DELIVERY_STATES.filter((state) => state !== 'delivered'));
  });

  it.each([
    ['of another release', '{"code":"shiny_and_new","message":"It is so.","since":7}'],
    ['of none', '{"message":"It is so.","since":7}'],
    ['that is a member of every object', '{"code":"constructor","message":"It is so.","since":7}'],
  ])('a reason is read as unknown, with its words, where its code is %s', (_, stored) => {
    expect(storedReason(stored)).toEqual({ code: 'unknown', message: 'It is so.', since: 7 });
    expect(storedReason(null)).toBeNull();
  });
});

describe('an idempotency key', () => {
  const parts = {
    epoch: 'e1',
    target: 'https://dpp.example.com',
    operation: 'product.create' as const,
    subject: 1,
    naturalKey: 'A-1',
    payloadHash: 'h',
    revision: 1,
  };

  it('an idempotency key is the same for the same revision and fits the header', () => {
    expect(idempotencyKey({ ...parts })).toBe(idempotencyKey(parts));
    expect(idempotencyKey(parts)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it.each([
    { epoch: 'e2' },
    { target: 'https://other.example.com' },
    { operation: 'material.create' as const },
    { subject: 2 },
    { naturalKey: 'A-2' },
    { payloadHash: 'i' },
    { revision: 2 },
  ])('an idempotency key differs with $epoch$target$operation$subject$naturalKey$payloadHash$revision', (change) => {
    expect(idempotencyKey({ ...parts, ...change })).not.toBe(idempotencyKey(parts));
  });

  it('an idempotency key does not confuse where one part ends and the next begins', () => {
    expect(idempotencyKey({ ...parts, naturalKey: 'ab', payloadHash: 'c' })).not.toBe(
      idempotencyKey({ ...parts, naturalKey: 'a', payloadHash: 'bc' }),
    );
  });
});
