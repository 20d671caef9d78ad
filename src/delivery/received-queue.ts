import type { Operation } from '../domain/delivery.ts';
import type { DueDelivery } from '../domain/ports/due.ts';
import { type Scope, writesThatTake } from '../domain/scope.ts';

/** A delivery whose job was received and that waits to be sent. */
export interface Received extends Pick<DueDelivery, 'id' | 'revision' | 'operation'> {
  /** True if a person may be waiting for it. */
  urgent: boolean;
  /** When it was received, by `Clock.ticks`. */
  receivedAt: number;
  /** When the ledger last confirmed that it is due, by `Clock.ticks`. */
  lookedAt: number;
  /** When the API last refused its scope to this delivery; null if never, undefined if that was not looked up yet. */
  deniedAt?: number | null;
}

/** The priority queue of received deliveries: urgent ones first, then in the order in which they were received. */
export interface ReceivedQueue {
  add(one: Received): void;
  /** Puts deliveries back to the front of their priority. */
  putBack(ones: readonly Received[]): void;
  remove(one: Received): void;
  /** Removes the deliveries with these ids. */
  removeAll(ids: ReadonlySet<number>): void;
  /** All deliveries in their order. The present one may be removed while walking. */
  inOrder(): Iterable<Received>;
  /** How many deliveries of bulk imports wait, and since when the first one has waited. */
  imports(): { count: number; since: number };
  /** Takes out at most `countMax` deliveries of bulk imports. */
  takeImports(countMax: number): Received[];
  count(): number;
  /** True if a waiting delivery needs this scope. */
  has(scope: Scope): boolean;
  /** Takes out all deliveries. */
  clear(): Received[];
}

export function createReceivedQueue(): ReceivedQueue {
  let urgent: Received[] = [];
  let bulk: Received[] = [];
  const counts = new Map<Operation, number>();

  function counted({ operation }: Received, by: 1 | -1): void {
    counts.set(operation, (counts.get(operation) ?? 0) + by);
  }
  const importCount = (): number => counts.get('product.import') ?? 0;
  const isImport = ({ operation }: Received): boolean => operation === 'product.import';
  const listOf = (one: Received): Received[] => (one.urgent ? urgent : bulk);
  const all = (): Received[] => [...urgent, ...bulk];

  function remove(one: Received): void {
    const list = listOf(one);
    const at = list[0] === one ? 0 : list.indexOf(one);
    if (at === -1) return;
    if (at === 0) list.shift();
    else list.splice(at, 1);
    counted(one, -1);
  }

  return {
    add(one) {
      listOf(one).push(one);
      counted(one, 1);
    },
    putBack(ones) {
      if (ones.length === 0) return;
      urgent = [...ones.filter((one) => one.urgent), ...urgent];
      bulk = [...ones.filter((one) => !one.urgent), ...bulk];
      for (const one of ones) counted(one, 1);
    },
    remove,
    removeAll(ids) {
      for (const one of all()) if (ids.has(one.id)) remove(one);
    },
    *inOrder() {
      for (const list of [urgent, bulk]) {
        for (let at = 0; at < list.length; ) {
          const one = list[at];
          if (one === undefined) break;
          yield one;
          if (list[at] === one) at += 1;
        }
      }
    },
    imports: () => ({ count: importCount(), since: importCount() === 0 ? 0 : (all().find(isImport)?.receivedAt ?? 0) }),
    takeImports(countMax) {
      const taken = all().filter(isImport).slice(0, countMax);
      const gone = new Set(taken);
      urgent = urgent.filter((one) => !gone.has(one));
      bulk = bulk.filter((one) => !gone.has(one));
      for (const one of taken) counted(one, -1);
      return taken;
    },
    count: () => urgent.length + bulk.length,
    has: (scope) => writesThatTake([scope]).some((operation) => (counts.get(operation) ?? 0) > 0),
    clear() {
      const ones = all();
      urgent = [];
      bulk = [];
      counts.clear();
      return ones;
    },
  };
}
