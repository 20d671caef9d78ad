import type { ApiHealth } from '../delivery/admission/api-health.ts';
import { type Access, accessWord, scopeOf } from '../domain/delivery/operation.ts';
import type { Reason } from '../domain/delivery/stored-reason.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Probe, Target } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';

export interface AuthorizationWatchOptions {
  api: Pick<ApiHealth, 'authorization' | 'refused' | 'isTried' | 'reopen' | 'reopenAccess' | 'endTrial'>;
  target: Pick<Target, 'probe' | 'rereadKey'>;
  /** Called when the API no longer refuses the key, the plan or a scope. */
  onReopen: () => void;
  emit: Emit;
  clock: Clock;
  log: Logger;
  /** The time between two questions to an API that refuses the key, the plan or a scope. */
  intervalMs: number;
}

/** A refusal of the API: of one operation or one list, or of everything if `access` is null. */
interface Refusal {
  access: Access | null;
  by: 'key' | 'plan' | 'scope';
  reason: Reason;
}

/** How often the watch looks for new refusals. */
const LOOK_MS = 500;

/**
 * While the API refuses the key or the plan, nothing is sent. While it refuses a scope, no delivery of that scope is
 * sent. All of them stay due. The watch reads the key again at once, because it may have been replaced. Later it reads
 * the key again at intervals, and asks the API a question that writes nothing. A refusal is logged when it begins and
 * when it ends.
 */
export function createAuthorizationWatch(options: AuthorizationWatchOptions) {
  const { api, target, emit, clock, log, intervalMs } = options;
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  /** Why the key cannot be read again. Each reason is logged once. */
  let keyTrouble: string | null = null;
  /**
   * The present refusals. A refusal with `onTrial` was already known before, so it is only logged at the level `debug`.
   */
  const known = new Map<Access | null, { onTrial: boolean }>();
  /** The last end of each refusal. It is reported when an answer proves it, or when no refusal follows for one interval. */
  const lastEnds = new Map<Access | null, { message: string; by: Refusal['by']; at: number; isReported: boolean }>();
  let askAt = 0;
  let looking: Promise<void> = Promise.resolve();

  /** Runs one look after the other. */
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
    const fresh = refusals.filter(({ access }) => !known.has(access));
    if (known.size === 0) askAt = clock.ticks() + intervalMs;
    for (const refusal of fresh) begin(refusal);
    for (const access of lastEnds.keys()) reportEnd(access);
    const isTime = refusals.length > 0 && clock.ticks() >= askAt;
    if (fresh.length === 0 && !isTime) return;
    // If the key was replaced, the API is asked at once. Otherwise it is asked only when the interval is over.
    if (!(await rereadKey()) && !isTime) return;
    const probe = await ask();
    askAt = clock.ticks() + intervalMs;
    if (probe === null) return;
    for (const refusal of refusals) if (isLifted(refusal.access, probe)) end(refusal);
  }

  function begin({ access, by, reason }: Refusal): void {
    // A delivery is sent to find out whether the API grants the operation. If the API refuses it for the same reason, that is
    // not reported again.
    const last = lastEnds.get(access);
    const isRecent = access !== null ? last?.isReported === false : clock.ticks() - (last?.at ?? 0) < intervalMs;
    const onTrial = reason.message === last?.message && isRecent;
    known.set(access, { onTrial });
    const scope = access === null ? null : scopeOf(access);
    emit({ type: 'paused', scope, reason });
    const extent =
      access === null
        ? `${by}; nothing is sent and everything stays due`
        : `scope ${scope} for ${accessWord(access)}; what needs it stays due, and all other deliveries are sent`;
    log[onTrial ? 'debug' : 'error'](
      { by, scope, operation: access, status: reason.status ?? null },
      `The API refuses the ${extent}. ${reason.message}`,
    );
  }

  function end({ access, by, reason }: Refusal): void {
    if (access === null) api.reopen();
    else api.reopenAccess(access);
    const wasOnTrial = known.get(access)?.onTrial === true;
    known.delete(access);
    const isReported = access === null && wasOnTrial;
    lastEnds.set(access, { message: reason.message, by, at: clock.ticks(), isReported });
    emit({ type: 'resumed', scope: access === null ? null : scopeOf(access) });
    reportEnd(access);
    options.onReopen();
  }

  /** Logs that a refusal is over. The end of a refusal of one operation may be none: a delivery finds out. */
  function reportEnd(access: Access | null): void {
    const ended = lastEnds.get(access);
    if (ended === undefined || ended.isReported || known.has(access) || isTrying(access, ended)) return;
    ended.isReported = true;
    if (access !== null) api.endTrial(access);
    const scope = access === null ? null : scopeOf(access);
    const what = access === null ? '' : ` the scope ${scope} for ${accessWord(access)}`;
    log.info(
      { by: ended.by, scope, operation: access },
      `Deliveries continue, because the API no longer refuses${what}.`,
    );
  }

  /** True while a delivery finds out whether the API still refuses an operation. */
  function isTrying(access: Access | null, { at }: { at: number }): boolean {
    return access !== null && !api.isTried(access) && clock.ticks() - at < intervalMs;
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
      // An answer that did not come shows nothing about the key, so the API is asked again later.
      log.debug(
        { error: messageOf(error) },
        'The API did not answer the request that asks whether it accepts the key.',
      );
      return null;
    }
  }

  return {
    /** Asks the API at once, if it refuses anything. */
    async askNow(): Promise<void> {
      if (refusalsOf(api).length === 0) return;
      // The first look finds the refusal, and the second one asks the API.
      if (known.size === 0) await lookNext();
      askAt = clock.ticks();
      await lookNext();
    },
    start(): void {
      running = watch();
    },
    async stop(): Promise<void> {
      abort.abort();
      await running;
    },
  };
}

export type AuthorizationWatch = ReturnType<typeof createAuthorizationWatch>;

/** All present refusals of the API. */
function refusalsOf(api: AuthorizationWatchOptions['api']): Refusal[] {
  const state = api.authorization();
  const whole: Refusal[] = state.open ? [] : [{ access: null, by: state.by, reason: state.reason }];
  return [...whole, ...Array.from(api.refused(), ([access, reason]) => ({ access, by: 'scope' as const, reason }))];
}

/**
 * True if the probe shows no refusal any more. Only a denied scope proves a refusal; if the API does not name its
 * scopes, a delivery has to find out.
 */
function isLifted(access: Access | null, { denied, scopes }: Probe): boolean {
  if (denied !== null && denied.by !== 'scope') return false;
  return access === null || scopes[scopeOf(access)] !== 'no';
}
