import type { ApiHealth } from '../delivery/admission/api-health.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Probe, Target } from '../domain/ports/target.ts';
import type { Reason } from '../domain/reason.ts';
import type { Scope } from '../domain/scope.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

export interface AuthorizationWatchOptions {
  api: Pick<ApiHealth, 'authorization' | 'refused' | 'reopen' | 'reopenScope'>;
  target: Pick<Target, 'probe' | 'rereadKey'>;
  /** Called when the API takes again what it has refused. */
  onReopen: () => void;
  emit: Emit;
  clock: Clock;
  log: Logger;
  /** Time between two questions to an API that refuses the key, the plan or a scope. */
  intervalMs: number;
}

/** Notices that the API refuses us, and when it no longer does. */
export interface AuthorizationWatch {
  start(): void;
  /** Asks at once where anything is refused, in place of waiting for the next time. */
  askNow(): Promise<void>;
  stop(): Promise<void>;
}

/** What the API refuses: one scope, or with null all that we could send. */
interface Refusal {
  scope: Scope | null;
  by: 'key' | 'plan' | 'scope';
  reason: Reason;
}

/** How soon a closed gate is noticed. */
const LOOK_MS = 500;

/**
 * While the API refuses the key or the plan nothing is sent, and while it refuses a scope nothing that takes it; all of it
 * stays due. The key is read again from its file or variable at once, since it may have been rotated, and then now and then
 * together with a question to the API that writes nothing. Each refusal is logged when it comes and when it ends, not at
 * each question.
 */
export function createAuthorizationWatch(options: AuthorizationWatchOptions): AuthorizationWatch {
  const { api, target, emit, clock, log, intervalMs } = options;
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  /** What keeps the key from being read again; logged when it changes. */
  let keyTrouble: string | null = null;
  /** The refusals that go on, and whether each is no news. */
  const known = new Map<Scope | null, { onTrial: boolean }>();
  const lastEnds = new Map<Scope | null, { message: string; at: number }>();
  let askAt = 0;
  let looking: Promise<void> = Promise.resolve();

  /** One look at a time. */
  function lookNext(): Promise<void> {
    looking = looking.then(look);
    return looking;
  }

  async function watch(): Promise<void> {
    while (!abort.signal.aborted) {
      await lookNext();
      const untilAsked = known.size === 0 ? LOOK_MS : Math.max(1, askAt - clock.ticks());
      await clock.sleep(Math.min(LOOK_MS, untilAsked), abort.signal);
    }
  }

  async function look(): Promise<void> {
    const refusals = refusalsOf(api);
    const fresh = refusals.filter(({ scope }) => !known.has(scope));
    if (known.size === 0) askAt = clock.ticks() + intervalMs;
    for (const refusal of fresh) begin(refusal);
    const isTime = refusals.length > 0 && clock.ticks() >= askAt;
    if (fresh.length === 0 && !isTime) return;
    // A rotated key is used at once. Otherwise nothing can have changed before it is time to ask.
    if (!(await rereadKey()) && !isTime) return;
    const probe = await ask();
    askAt = clock.ticks() + intervalMs;
    if (probe === null) return;
    for (const refusal of refusals) if (isLifted(refusal.scope, probe)) end(refusal);
  }

  function begin({ scope, by, reason }: Refusal): void {
    // Where only sending can tell, it is let out on trial. That it is refused again for the same reason is no news.
    const last = lastEnds.get(scope);
    const onTrial = reason.message === last?.message && clock.ticks() - last.at < intervalMs;
    known.set(scope, { onTrial });
    emit({ type: 'paused', scope, reason });
    const extent =
      scope === null
        ? `${by}; nothing is sent and everything stays due`
        : `scope ${scope}; what takes it stays due, and everything else goes on`;
    log[onTrial ? 'debug' : 'error'](
      { by, scope, status: reason.status ?? null },
      `The API refuses the ${extent}. ${reason.message}`,
    );
  }

  function end({ scope, by, reason }: Refusal): void {
    if (scope === null) api.reopen();
    else api.reopenScope(scope);
    const onTrial = known.get(scope)?.onTrial ?? false;
    known.delete(scope);
    lastEnds.set(scope, { message: reason.message, at: clock.ticks() });
    emit({ type: 'resumed', scope });
    const what = scope === null ? '' : ` the scope ${scope}`;
    log[onTrial ? 'debug' : 'info']({ by, scope }, `Deliveries go on, as the API no longer refuses${what}.`);
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

  async function ask(): Promise<Probe | null> {
    try {
      return await target.probe(abort.signal);
    } catch (error) {
      // An API that is away says nothing about the key: it is asked again.
      log.debug({ error: messageOf(error) }, 'The API gave no answer to the question whether it accepts the key.');
      return null;
    }
  }

  return {
    async askNow() {
      if (refusalsOf(api).length === 0) return;
      // What is refused becomes known at the first look.
      if (known.size === 0) await lookNext();
      askAt = clock.ticks();
      await lookNext();
    },
    start() {
      running = watch();
    },
    async stop() {
      abort.abort();
      await running;
    },
  };
}

/** All that the API refuses at the moment. */
function refusalsOf(api: AuthorizationWatchOptions['api']): Refusal[] {
  const state = api.authorization();
  const whole: Refusal[] = state.open ? [] : [{ scope: null, by: state.by, reason: state.reason }];
  return [...whole, ...Array.from(api.refused(), ([scope, reason]) => ({ scope, by: 'scope' as const, reason }))];
}

/** A missing scope shows in its own answer alone; where the API leaves that open, only sending can tell. */
function isLifted(scope: Scope | null, { denied, scopes }: Probe): boolean {
  if (denied !== null && denied.by !== 'scope') return false;
  return scope === null || scopes[scope] !== 'no';
}
