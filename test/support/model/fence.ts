import type { VirtualTime } from './virtual-time.ts';

/** When a process is to die: at a call of a port from now, before the call is made or before its answer is heard. */
export interface Death {
  calls: number;
  side: 'before' | 'after';
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
  kill(): void;
}

/**
 * @param onDeath called at the instant of death, before anything else can happen
 * @param onCircle called where it calls and calls while no time passes; it is stopped then
 * @param pauseMs how long this call is put off, so that what goes on side by side meets in ever other orders
 */
export function createFence({
  time,
  onDeath,
  onCircle,
  pauseMs,
}: {
  time: VirtualTime;
  onDeath: () => void;
  onCircle: () => void;
  pauseMs: (call: string) => number;
}): Fence {
  let alive = true;
  let calls = { at: time.ticks(), count: 0 };
  let death: Death | null = null;

  function kill(): void {
    if (!alive) return;
    alive = false;
    onDeath();
  }

  /** Counts one call, and kills the process where it is the one. */
  function count(side: Death['side']): void {
    if (death === null || death.side !== side) return;
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

  async function guarded<T>(name: string, call: () => T): Promise<Awaited<T>> {
    time.stir();
    count('before');
    countAtOnce();
    if (!alive) return never();
    const pause = pauseMs(name);
    if (pause > 0) await time.sleep(pause);
    if (!alive) return never();
    try {
      return await call();
    } finally {
      time.stir();
      count('after');
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
          return (...given: unknown[]) => guarded(String(name), () => Reflect.apply(member, target, given) as unknown);
        },
      }),
    plan(planned) {
      death = planned;
    },
    kill,
  };
}

/** Calls of one process in which no time passes; the busiest instant of a run has a few hundred. */
const AT_ONCE_MAX = 5_000;

/** What a clock says needs no waiting for. */
const SYNCHRONOUS: ReadonlySet<PropertyKey> = new Set(['now', 'ticks']);

function never(): Promise<never> {
  return new Promise(() => undefined);
}
