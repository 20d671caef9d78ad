import type { VirtualTime } from '../../support/time/virtual-time.ts';

/** When a process dies: after this many calls of ports, before the next call or before its answer arrives. */
export interface Death {
  calls: number;
  side: 'before' | 'after';
  /** The names of the calls that count. Without names all calls count. */
  names?: readonly string[];
}

/** A call of a port that is chosen in advance, and when something else happens there. */
export interface CallPoint {
  /** The names of the calls that count; null for all of them. */
  names: readonly string[] | null;
  /** How many of these calls happen before the chosen one. */
  calls: number;
  /**
   * `before`: the call waits for the event. `beside`: neither waits. `after`: the result of the call waits. In the
   * `same commit`: the call waits until the change was handed to the ledger, and the write of the call comes first or
   * last.
   */
  side: 'before' | 'beside' | 'after' | 'first in the same commit' | 'last in the same commit';
}

/**
 * Wraps all ports of one process. After the process has died, no promise of a port resolves any more, so that its work
 * stops where it was.
 */
export interface Fence {
  isAlive(): boolean;
  /** Returns the port behind the fence. */
  around<T extends object>(port: T): T;
  /** Kills the process at a later call. */
  plan(death: Death): void;
  /** Runs `happen` at a later call. */
  planAt(point: CallPoint, happen: () => Promise<void>): void;
  kill(): void;
}

/**
 * @param onDeath called at the instant of death, before anything else can happen
 * @param onCircle called when the process makes too many calls at one instant; it is stopped then
 * @param pauseMs how long a call is delayed, so that parallel work happens in many orders
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
  /** A call that waits until a change was handed to the ledger, so that both are in one commit. */
  let waiting: { isFirst: boolean; begin: () => void } | null = null;

  function kill(): void {
    if (!alive) return;
    alive = false;
    onDeath();
  }

  /** Counts one call, and kills the process at the planned one. */
  function count(side: Death['side'], name: string): void {
    if (death === null || death.side !== side || death.names?.includes(name) === false) return;
    death = { ...death, calls: death.calls - 1 };
    if (death.calls < 0) kill();
  }

  /**
   * An endless loop of promises would let no timer run. So a process that makes too many calls at one instant is
   * stopped.
   */
  function countAtOnce(): void {
    if (calls.at !== time.ticks()) calls = { at: time.ticks(), count: 0 };
    calls.count += 1;
    if (calls.count !== AT_ONCE_MAX) return;
    onCircle();
    kill();
  }

  /** Counts down to the chosen call. Returns what is planned at that call, and null at any other. */
  function takePlanned(name: string, given: readonly unknown[]): typeof planned {
    const isCounted = planned !== null && (planned.names?.includes(name) ?? name !== 'sleep');
    const isChosen = isCounted && planned !== null && planned.calls === 0;
    onCall(name, given, isChosen);
    if (planned === null || !isCounted) return null;
    const taken = planned;
    planned = isChosen ? null : { ...planned, calls: planned.calls - 1 };
    return isChosen ? taken : null;
  }

  /** Waits until the change was handed to the ledger, or is over. */
  async function untilHandedOver(isFirst: boolean, happen: () => Promise<void>): Promise<void> {
    const handedOver = Promise.withResolvers<void>();
    waiting = { isFirst, begin: handedOver.resolve };
    void happen().finally(handedOver.resolve);
    await handedOver.promise;
    waiting = null;
    if (!isFirst) await someTurns();
  }

  /** Lets the waiting call continue, so that both are in one commit. */
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
      await untilHandedOver(chosen.side === 'first in the same commit', chosen.happen);
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

/** The most calls of one process at one instant. The busiest instant of a run has a few hundred. */
const AT_ONCE_MAX = 5_000;

/** Calls that return no promise. */
const SYNCHRONOUS: ReadonlySet<PropertyKey> = new Set(['now', 'ticks', 'pendingSources']);

/** Calls that hand a change of the desired state to the ledger. */
const CHANGES: ReadonlySet<string> = new Set(['stagePage', 'askForPassports']);

/** Lets promises continue without a timer. Everything that is handed to the ledger meanwhile is in one commit. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
