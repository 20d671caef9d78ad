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
} from '../../src/domain/delivery.ts';

/** Every transition that there is, written a second time; all other cells of the table have to refuse. */
const KNOWN: [DeliveryState, DeliveryEvent, DeliveryState][] = [
  ['waiting', 'refs_arrived', 'due'],
  ['waiting', 'refs_missing', 'waiting'],
  ['waiting', 'suspect', 'in_doubt'],
  ['waiting', 'supersede', 'superseded'],
  ['due', 'refs_arrived', 'due'],
  ['due', 'refs_missing', 'waiting'],
  ['due', 'claim', 'sending'],
  ['due', 'suspect', 'in_doubt'],
  ['due', 'reject', 'rejected'],
  ['due', 'supersede', 'superseded'],
  ['sending', 'accept', 'delivered'],
  ['sending', 'retry', 'due'],
  ['sending', 'unconfirmed', 'in_doubt'],
  ['sending', 'suspect', 'in_doubt'],
  ['sending', 'block', 'blocked'],
  ['sending', 'reject', 'rejected'],
  ['sending', 'exhaust', 'parked'],
  ['in_doubt', 'accept', 'delivered'],
  ['in_doubt', 'unconfirmed', 'in_doubt'],
  ['in_doubt', 'suspect', 'in_doubt'],
  ['in_doubt', 'resend', 'due'],
  ['in_doubt', 'block', 'blocked'],
  ['in_doubt', 'reject', 'rejected'],
  ['in_doubt', 'exhaust', 'parked'],
  ['blocked', 'accept', 'delivered'],
  ['blocked', 'reject', 'rejected'],
  ['blocked', 'supersede', 'superseded'],
  ['rejected', 'accept', 'delivered'],
  ['rejected', 'suspect', 'in_doubt'],
  ['rejected', 'supersede', 'superseded'],
  ['parked', 'accept', 'delivered'],
  ['parked', 'reject', 'rejected'],
  ['parked', 'supersede', 'superseded'],
];

describe('the transition table', () => {
  const cells = DELIVERY_STATES.flatMap((state) => DELIVERY_EVENTS.map((event) => ({ state, event })));

  it.each(cells)('has an answer for $event when $state', ({ state, event }) => {
    const next = KNOWN.find(([from, on]) => from === state && on === event)?.[2];
    if (next) expect(transition(state, event)).toBe(next);
    else
      expect(() => transition(state, event)).toThrow(`A delivery that is ${state} cannot take the event "${event}".`);
  });

  it('never supersedes what may have reached the API', () => {
    for (const state of IN_FLIGHT_STATES) expect(TRANSITIONS[state].supersede).toBeNull();
  });

  it('leaves a way out of every state that is not an end', () => {
    for (const state of OPEN_STATES) expect(Object.values(TRANSITIONS[state]).some((next) => next !== null)).toBe(true);
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

  it('is the same for the same revision and fits the header', () => {
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
  ])('is another one with $epoch$target$operation$subject$naturalKey$payloadHash$revision', (change) => {
    expect(idempotencyKey({ ...parts, ...change })).not.toBe(idempotencyKey(parts));
  });

  it('does not confuse where one part ends and the next begins', () => {
    expect(idempotencyKey({ ...parts, naturalKey: 'ab', payloadHash: 'c' })).not.toBe(
      idempotencyKey({ ...parts, naturalKey: 'a', payloadHash: 'bc' }),
    );
  });
});
