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
 * @param pauseMs how long the next call is put off, so that what goes on side by side meets in ever other orders
 */
export function createFence({
  time,
  onDeath,
  pauseMs,
}: {
  time: VirtualTime;
  onDeath: () => void;
  pauseMs: () => number;
}): Fence {
  let alive = true;
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

  async function guarded<T>(call: () => T): Promise<Awaited<T>> {
    time.stir();
    count('before');
    if (!alive) return never();
    const pause = pauseMs();
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
          return (...given: unknown[]) => guarded(() => Reflect.apply(member, target, given) as unknown);
        },
      }),
    plan(planned) {
      death = planned;
    },
    kill,
  };
}

/** What a clock says needs no waiting for. */
const SYNCHRONOUS: ReadonlySet<PropertyKey> = new Set(['now', 'ticks']);

function never(): Promise<never> {
  return new Promise(() => undefined);
}
