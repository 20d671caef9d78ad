import type { GateState, TargetGate } from '../delivery/target-gate.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Probe, Target } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

export interface GateWatchOptions {
  gate: TargetGate;
  target: Pick<Target, 'probe' | 'rereadKey'>;
  /** Called when the API can be talked to again. */
  onReopen: () => void;
  emit: Emit;
  clock: Clock;
  log: Logger;
  /** Time between two questions to an API that refuses the key, the plan or the scope. */
  intervalMs: number;
}

/** Notices that the API refuses us, and when it no longer does. */
export interface GateWatch {
  start(): void;
  stop(): Promise<void>;
}

/** How soon a closed gate is noticed. */
const LOOK_MS = 500;

/**
 * While the gate is closed nothing is sent and everything stays due. The key is read again from its file or variable at
 * once, since it may have been rotated, and then now and then together with a question to the API that writes nothing.
 * Each refusal is logged when it comes and when it ends, not at each question.
 */
export function createGateWatch(options: GateWatchOptions): GateWatch {
  const { gate, target, emit, clock, log, intervalMs } = options;
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  /** What keeps the key from being read again; logged when it changes. */
  let keyTrouble: string | null = null;
  let last: { message: string; reopenedAt: number } | null = null;

  async function watch(): Promise<void> {
    while (!abort.signal.aborted) {
      const state = gate.state();
      if (!state.open) await untilReopened(state);
      await clock.sleep(LOOK_MS, abort.signal);
    }
  }

  async function untilReopened({ by, reason }: GateState & { open: false }): Promise<void> {
    // Where only sending can tell, the gate is opened on trial. That it closes again for the same reason is no news.
    const onTrial = reason.message === last?.message && clock.now() - last.reopenedAt < intervalMs;
    emit({ type: 'paused', reason });
    log[onTrial ? 'debug' : 'error'](
      { by, status: reason.status ?? null },
      `The API refuses the ${by}; nothing is sent and everything stays due. ${reason.message}`,
    );
    // A rotated key is used at once. Otherwise nothing can have changed yet.
    let ask = await rereadKey();
    for (;;) {
      if (ask && (await works(by))) break;
      await clock.sleep(intervalMs, abort.signal);
      if (abort.signal.aborted) return;
      await rereadKey();
      ask = true;
    }
    gate.reopen();
    last = { message: reason.message, reopenedAt: clock.now() };
    emit({ type: 'resumed' });
    log[onTrial ? 'debug' : 'info']({ by }, 'Deliveries go on, as the API no longer refuses.');
    options.onReopen();
  }

  async function rereadKey(): Promise<boolean> {
    try {
      const changed = await target.rereadKey();
      keyTrouble = null;
      return changed;
    } catch (error) {
      const message = messageOf(error);
      if (message !== keyTrouble) log.error({ error: message }, `The API key cannot be read again: ${message}`);
      keyTrouble = message;
      return false;
    }
  }

  async function works(by: 'key' | 'plan' | 'scope'): Promise<boolean> {
    try {
      return isMended(by, await target.probe(abort.signal));
    } catch (error) {
      // An API that is away says nothing about the key: it is asked again.
      log.debug({ error: messageOf(error) }, 'The API gave no answer to the question whether it accepts the key.');
      return false;
    }
  }

  return {
    start() {
      running = watch();
    },
    async stop() {
      abort.abort();
      await running;
    },
  };
}

/** A missing scope shows in its own answer alone; where the API leaves that open, only sending can tell. */
function isMended(by: 'key' | 'plan' | 'scope', { denied, scopes }: Probe): boolean {
  if (denied !== null) return false;
  return by !== 'scope' || scopes.write !== 'no';
}
