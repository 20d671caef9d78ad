import type { VirtualTime } from './virtual-time.ts';

/** When a process is to die: at a call of a port from now, before the call is made or before its answer is heard. */
export interface Death {
  calls: number;
  side: 'before' | 'after';
  /** The names of the calls that count; all of them where it is left out. */
  names?: readonly string[];
}

/** A call of a port that is chosen in advance, and when something else happens there. */
export interface CallPoint {
  /** The names of the calls that count; null for all of them. */
  names: readonly string[] | null;
  /** How many of them come first. */
  calls: number;
  /**
   * `before` it: the call waits. `beside` it: neither waits. `after` it: its result waits. In the `same commit`: the call waits
   * until the ledger is told of the change, and its own write goes first or last.
   */
  side: 'before' | 'beside' | 'after' | 'first in the same commit' | 'last in the same commit';
}

/**
 * Stands around all ports of one process. A process that has died never hears of anything again: each of its promises is
 * left open, so that whatever it was doing ends where it was.
 */
export interface Fence {
  isAlive(): boolean;
  /** The same port, behind the fence. */
  around<T extends object>(port: T): T;
  /** Kills the process at a later call. */
  plan(death: Death): void;
  /** Has something happen at a later call. */
  planAt(point: CallPoint, happen: () => Promise<void>): void;
  kill(): void;
}

/**
 * @param onDeath called at the instant of death, before anything else can happen
 * @param onCircle called where it calls and calls while no time passes; it is stopped then
 * @param pauseMs how long this call is put off, so that what goes on side by side meets in ever other orders
 * @param onCall called with each call of a port, its arguments, and whether it is the one of a `CallPoint`
 */
export function createFence({
  time,
  onDeath,
  onCircle,
  pauseMs,
  onCall = () => undefined,
}: {
  time: VirtualTime;
  onDeath: () => void;
  onCircle: () => void;
  pauseMs: (call: string) => number;
  onCall?: (name: string, given: readonly unknown[], isChosen: boolean) => void;
}): Fence {
  let alive = true;
  let calls = { at: time.ticks(), count: 0 };
  let death: Death | null = null;
  let planned: (CallPoint & { happen: () => Promise<void> }) | null = null;
  /** A call that waits until the ledger is told of a change, to share its commit. */
  let waiting: { isFirst: boolean; begin: () => void } | null = null;

  function kill(): void {
    if (!alive) return;
    alive = false;
    onDeath();
  }

  /** Counts one call, and kills the process where it is the one. */
  function count(side: Death['side'], name: string): void {
    if (death === null || death.side !== side || death.names?.includes(name) === false) return;
    death = { ...death, calls: death.calls - 1 };
    if (death.calls < 0) kill();
  }

  /** A circle of promises alone would leave no timer and no test its turn: what is left of it ends at a call. */
  function countAtOnce(): void {
    if (calls.at !== time.ticks()) calls = { at: time.ticks(), count: 0 };
    calls.count += 1;
    if (calls.count !== AT_ONCE_MAX) return;
    onCircle();
    kill();
  }

  /** Counts down to the call that was chosen. Gives what is planned there; null for all other calls. */
  function takePlanned(name: string, given: readonly unknown[]): typeof planned {
    const isCounted = planned !== null && (planned.names?.includes(name) ?? name !== 'sleep');
    const isChosen = isCounted && planned !== null && planned.calls === 0;
    onCall(name, given, isChosen);
    if (planned === null || !isCounted) return null;
    const taken = planned;
    planned = isChosen ? null : { ...planned, calls: planned.calls - 1 };
    return isChosen ? taken : null;
  }

  /** Waits until the ledger is told of what happens, or until that is over. */
  async function untilTold(isFirst: boolean, happen: () => Promise<void>): Promise<void> {
    const told = Promise.withResolvers<void>();
    waiting = { isFirst, begin: told.resolve };
    void happen().finally(told.resolve);
    await told.promise;
    waiting = null;
    if (!isFirst) await someTurns();
  }

  /** Lets a call go on that waits for this one, to share its commit. */
  async function together<T>(name: string, call: () => T): Promise<Awaited<T>> {
    if (waiting === null || !CHANGES.has(name)) return await call();
    const { isFirst, begin } = waiting;
    begin();
    if (isFirst) await someTurns();
    return await call();
  }

  async function guarded<T>(name: string, given: readonly unknown[], call: () => T): Promise<Awaited<T>> {
    time.stir();
    count('before', name);
    countAtOnce();
    if (!alive) return never();
    const pause = pauseMs(name);
    if (pause > 0) await time.sleep(pause);
    if (!alive) return never();
    const chosen = takePlanned(name, given);
    if (chosen?.side === 'before') await chosen.happen();
    else if (chosen?.side === 'beside') void chosen.happen();
    else if (chosen !== null && chosen.side !== 'after') {
      await untilTold(chosen.side === 'first in the same commit', chosen.happen);
    }
    if (!alive) return never();
    try {
      return await together(name, call);
    } finally {
      time.stir();
      count('after', name);
      if (chosen?.side === 'after') await chosen.happen();
      if (!alive) await never();
    }
  }

  return {
    isAlive: () => alive,
    around: (port) =>
      new Proxy(port, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function' || SYNCHRONOUS.has(name)) return member;
          return (...given: unknown[]) =>
            guarded(String(name), given, () => Reflect.apply(member, target, given) as unknown);
        },
      }),
    plan(chosen) {
      death = chosen;
    },
    planAt(point, happen) {
      planned = { ...point, happen };
    },
    kill,
  };
}

/** Calls of one process in which no time passes; the busiest instant of a run has a few hundred. */
const AT_ONCE_MAX = 5_000;

/** What a clock says needs no waiting for. */
const SYNCHRONOUS: ReadonlySet<PropertyKey> = new Set(['now', 'ticks']);

/** Calls that tell the ledger of a change of what is desired. */
const CHANGES: ReadonlySet<string> = new Set(['stagePage', 'askForPassports']);

/** Lets promises go on, and no timer: what is given to the ledger meanwhile is in the same commit. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
