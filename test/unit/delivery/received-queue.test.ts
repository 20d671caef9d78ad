import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createReceivedQueue,
  type Importable,
  type Received,
  type ReceivedQueue,
} from '../../../src/delivery/delivery-window.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import { cpuMs } from '../support/cpu-time.ts';

const received = (id: number, operation: Operation = 'product.create', urgent = false): Received => ({
  id,
  revision: 1,
  operation,
  urgent,
  receivedAt: id,
  lookedAt: id,
});
const member = (id: number): Received => received(id, 'product.import');
/** Takes out the first deliveries of an operation, as the members of an import. */
function takeFrom(queue: ReceivedQueue, operation: Importable, countMax: number): Received[] {
  const taken: Received[] = [];
  for (let one = queue.first(operation); one && taken.length < countMax; one = queue.first(operation)) {
    queue.remove(one);
    taken.push(one);
  }
  return taken;
}
const idsOf = (ones: Iterable<Received>): number[] => Array.from(ones, ({ id }) => id);

describe('the priority queue of received deliveries', () => {
  let queue: ReceivedQueue;
  beforeEach(() => {
    queue = createReceivedQueue();
  });

  it('the priority queue gives urgent deliveries first, then those that were put back, then the others in their order', () => {
    for (const id of [1, 2]) queue.append(received(id));
    queue.append(received(3, 'passport.publish', true));
    for (const one of [received(5), received(4), received(6, 'passport.publish', true)]) queue.prepend(one);
    expect(idsOf(queue.inOrder())).toEqual([6, 3, 4, 5, 1, 2]);
  });

  it('the priority queue may lose the present delivery while it is walked', () => {
    for (const id of [1, 2, 3, 4]) queue.append(received(id));
    const seen: number[] = [];
    for (const one of queue.inOrder()) {
      seen.push(one.id);
      if (one.id % 2 === 1) queue.remove(one);
    }
    expect([seen, idsOf(queue.inOrder())]).toEqual([
      [1, 2, 3, 4],
      [2, 4],
    ]);
  });

  it('the priority queue gathers the members of imports from among the others, and knows since when the first of them waits', () => {
    queue.append(received(1));
    for (const id of [2, 3, 4]) queue.append(member(id));
    expect(queue.waiting('product.import')).toEqual({ count: 3, since: 2 });
    expect(idsOf(takeFrom(queue, 'product.import', 2))).toEqual([2, 3]);
    queue.prepend(member(3));
    expect([queue.waiting('product.import'), idsOf(queue.inOrder())]).toEqual([{ count: 2, since: 3 }, [1, 3, 4]]);
    expect(idsOf(takeFrom(queue, 'product.import', 9))).toEqual([3, 4]);
    expect(queue.waiting('product.import')).toEqual({ count: 0, since: 0 });
  });

  it('the priority queue knows which operations its deliveries have', () => {
    const passport = received(1, 'passport.publish');
    queue.append(passport);
    expect([queue.has('passport.publish'), queue.has('product.create')]).toEqual([true, false]);
    queue.remove(passport);
    queue.remove(passport);
    expect(queue.has('passport.publish')).toBe(false);
  });

  it('the priority queue gives new products and others in turns', () => {
    for (const id of [1, 2, 3]) queue.append(received(id));
    const parts = [11, 12].map((id) => received(id, 'bom_item.create'));
    for (const one of parts) queue.append(one);
    expect(idsOf(queue.inOrder())).toEqual([1, 11, 2, 12, 3]);
    takeFrom(queue, 'product.create', 2);
    expect(idsOf(queue.inOrder())).toEqual([11, 3, 12]);
    if (parts[0]) queue.remove(parts[0]);
    expect(idsOf(queue.inOrder())).toEqual([3, 12]);
  });

  it('the priority queue keeps the order of plain lists, whatever is added, put back and taken out', () => {
    const id = fc.integer({ min: 0, max: 30 });
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom('add', 'putBack'), id, isImport: fc.boolean(), urgent: fc.boolean() }),
      fc.record({ do: fc.constant('remove'), id }),
      fc.record({ do: fc.constant('takeImports'), id: fc.integer({ min: 0, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const own = createReceivedQueue();
        let list: Received[] = [];
        /** By urgency, whether the next one is a new product. */
        const turns = new Map([
          [true, true],
          [false, true],
        ]);
        const isCreate = ({ operation }: Received): boolean => operation === 'product.create';
        const removed = (one: Received): void => void turns.set(one.urgent, !isCreate(one));
        const inOrder = () =>
          [true, false].flatMap((urgent) =>
            inTurns(
              list.filter((one) => one.urgent === urgent),
              turns.get(urgent),
            ),
          );
        function inTurns(ones: Received[], createFirst = true): Received[] {
          const creates = ones.filter(isCreate);
          const others = ones.filter((one) => !isCreate(one));
          const [a, b] = createFirst ? [creates, others] : [others, creates];
          return ones.flatMap((_, at) => [a[at] ?? [], b[at] ?? []].flat());
        }
        const byUrgency = () => [...list.filter(({ urgent }) => urgent), ...list.filter(({ urgent }) => !urgent)];
        for (const one of steps) {
          const present = list.find((other) => other.id === one.id);
          if (one.do === 'takeImports') {
            const taken = byUrgency()
              .filter(({ operation }) => operation === 'product.import')
              .slice(0, one.id);
            expect(takeFrom(own, 'product.import', one.id)).toEqual(taken);
            list = list.filter((other) => !taken.includes(other));
            for (const other of taken) removed(other);
          } else if (one.do === 'remove') {
            if (present === undefined) continue;
            own.remove(present);
            removed(present);
            list = list.filter((other) => other.id !== one.id);
          } else if ('urgent' in one && present === undefined) {
            const added = received(one.id, one.isImport ? 'product.import' : 'product.create', one.urgent);
            if (one.do === 'add') own.append(added);
            else own.prepend(added);
            list = one.do === 'add' ? [...list, added] : [added, ...list];
          }
          expect([...own.inOrder()]).toEqual(inOrder());
          expect(own.waiting('product.import').count).toBe(
            list.filter(({ operation }) => operation === 'product.import').length,
          );
        }
      }),
    );
  });

  it('the priority queue takes import after import out of a long queue without walking all of it each time', () => {
    const count = 20_000;
    for (let id = 0; id < count; id += 1) queue.append(member(id));
    const begunAt = cpuMs();
    for (let taken = 0; taken < count; taken += 1) {
      expect(queue.waiting('product.import').since).toBe(taken);
      takeFrom(queue, 'product.import', 1);
    }
    // Walking the whole queue for each of them would take half a minute.
    expect(cpuMs() - begunAt).toBeLessThan(5000);
  });
});
