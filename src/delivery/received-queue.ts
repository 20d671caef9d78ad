import type { DueDelivery } from '../domain/ports/due.ts';

/** A delivery whose wake-up job was received, and that waits to be sent. */
export interface Received extends Pick<DueDelivery, 'id' | 'revision' | 'operation'> {
  /** A person may be waiting for it. */
  urgent: boolean;
  /** When it was received, by `Clock.ticks`. */
  receivedAt: number;
  /** When it was last known to be due, by `Clock.ticks`. */
  lookedAt: number;
  /** When the API last refused its scope to this delivery; null for never, undefined as long as nobody has looked. */
  deniedAt?: number | null;
}

/** A priority queue: urgent deliveries before the others, and else in the order in which they were received. */
export interface ReceivedQueue {
  add(one: Received): void;
  /** Puts deliveries back to the front of their kind. */
  putBack(ones: readonly Received[]): void;
  remove(one: Received): void;
  /** All of them in their order; removing the present one while walking is safe. */
  inOrder(): Iterable<Received>;
  /** How many deliveries of bulk imports wait, and since when the first of them does. */
  imports(): { count: number; since: number };
  /** Takes out up to so many deliveries of bulk imports. */
  takeImports(countMax: number): Received[];
  count(): number;
  /** Takes out all of them. */
  clear(): Received[];
}

export function createReceivedQueue(): ReceivedQueue {
  let urgent: Received[] = [];
  let bulk: Received[] = [];
  let importCount = 0;

  const isImport = ({ operation }: Received): boolean => operation === 'product.import';
  const listOf = (one: Received): Received[] => (one.urgent ? urgent : bulk);
  const all = (): Received[] => [...urgent, ...bulk];

  function remove(one: Received): void {
    const list = listOf(one);
    const at = list[0] === one ? 0 : list.indexOf(one);
    if (at === -1) return;
    if (at === 0) list.shift();
    else list.splice(at, 1);
    if (isImport(one)) importCount -= 1;
  }

  return {
    add(one) {
      listOf(one).push(one);
      if (isImport(one)) importCount += 1;
    },
    putBack(ones) {
      urgent = [...ones.filter((one) => one.urgent), ...urgent];
      bulk = [...ones.filter((one) => !one.urgent), ...bulk];
      importCount += ones.filter(isImport).length;
    },
    remove,
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
    imports: () => ({ count: importCount, since: importCount === 0 ? 0 : (all().find(isImport)?.receivedAt ?? 0) }),
    takeImports(countMax) {
      const taken = all().filter(isImport).slice(0, countMax);
      const gone = new Set(taken);
      urgent = urgent.filter((one) => !gone.has(one));
      bulk = bulk.filter((one) => !gone.has(one));
      importCount -= taken.length;
      return taken;
    },
    count: () => urgent.length + bulk.length,
    clear() {
      const ones = all();
      urgent = [];
      bulk = [];
      importCount = 0;
      return ones;
    },
  };
}
