import { inReadingOrder } from '../config/loaded-config.ts';
import type { Decider } from '../domain/approval.ts';
import { formerSourceWarnings, refusedRunWarnings, runWarnings } from '../domain/attention.ts';
import { fault } from '../domain/faults.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import type { WorkOf } from '../domain/ports/deliveries.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { ItemCounts } from '../domain/ports/ledger/ledger-standing.ts';
import type { StreamAccount } from '../domain/ports/ledger/ledger-views.ts';
import { FAULT_CASES, FAULTS } from '../domain/words/faults.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageAndCureOf, messageOf } from '../lib/errors.ts';
import { withAnySignal } from '../lib/with-any-signal.ts';
import { createRequestCounts, type EventBus } from '../observe/event-bus.ts';
import { standingAsked } from '../observe/standing.ts';
import { keyAdvice } from '../operations/outcome-fault.ts';
import type { Acceptance, SyncReport, SyncRequest } from '../operations/runtime.ts';
import { awayFault, leftAwayFault, refusedOperationWarnings, refusedScopeFault } from './api-faults.ts';
import type { HeldRuns } from './plan/held-runs.ts';
import type { PlannedSync } from './plan/planned-sync.ts';
import type { Runtime } from './runtime.ts';

/** How often requests in flight are counted when the sync ends early. */
const LANDING_LOOK_MS = 40;
/**
 * When the sync ends early, requests in flight have this time to end. Requests that need longer are reported in their
 * current state.
 */
const LANDING_MS = 1000;
/** How often the sync checks whether only deliveries are left that the API cannot accept. */
const LEFT_LOOK_MS = 1000;
/**
 * The check for deliveries that the API cannot accept reads the deliveries of all sources, so it may take no more than a
 * fiftieth of the time.
 */
const LOOK_SHARE = 50;
const LOOK_MAX_MS = 2000;

/**
 * Pulls the sources, maps and delivers until all automatic work is done. A source that cannot be read does not stop the others.
 */
export async function sync(runtime: Runtime, request: SyncRequest, clock: Clock): Promise<SyncReport> {
  const { config, reads, bus } = runtime;
  const planned =
    request.plan === undefined ? null : await runtime.preparePlanned(request.plan, request.abort, request.waitMs);
  const startedAt = clock.ticks();
  const begunAt = clock.now();
  const requests = createRequestCounts();
  const unsubscribe = bus.subscribe(requests.observe);
  const pause = createPauseBetweenLooks(bus, { clock, waitMs: request.waitMs });
  const asked = planned?.sources ?? request.sources;
  const selected = asked.length > 0 ? [...asked] : config.sources.map(({ id }) => id);
  let pulled: Pulled;
  let stopped: Fault | null = null;
  let accepted: Acceptance | null = null;
  // The plan was made from all rows. So nothing is sent before they are mapped, because an item may be due in its former form.
  const release = planned === null ? () => undefined : runtime.holdWrites();
  try {
    if (request.accept && request.accept.length > 0) {
      const decider = { by: request.askedBy ?? 'cli', at: clock.now(), runs: request.approve };
      accepted = await accept(runtime, request.accept, decider);
    }
    do await runtime.recheck.stageNext();
    while (runtime.recheck.hasMore() && !request.abort.aborted);
    const { nextDueAt, isListing } = await runtime.engine.status();
    if (runtime.mapping.pendingSources().length > 0 || nextDueAt !== null || isListing) await runtime.startWorkers();
    const sources = request.pull === false ? [] : selected;
    pulled = await pullAll(runtime, sources, { request, planned, begunAt });
    stopped = await untilDone(runtime, { ...request, since: startedAt, pause, onMapped: release }, clock);
    // After an abort the workers are stopped first, so that the counts below are read after the last request has ended.
    if (request.abort.aborted) await runtime.stopWorkers();
  } finally {
    release();
    pause.end();
    unsubscribe();
    await planned?.close();
  }
  const { runIds, failed, remapped, unread } = pulled;
  const items = await landed(runtime, selected, clock);
  const views = (await Promise.all(runIds.map((id) => reads.run(id)))).filter((run) => run !== null);
  const runs = views.flatMap((run) => run.streams);
  const standing = await reads.standing(standingAsked(config, selected));
  // A source that cannot be read says more than one whose rows need a person.
  const problem = stopped ?? (unread.find(({ problem }) => !needsPerson(problem)) ?? unread[0])?.problem ?? null;
  return {
    ...standing,
    runs,
    items,
    remapped,
    accepted,
    requests: requests.counts,
    durationMs: clock.ticks() - startedAt,
    fault: problem,
    warnings: [
      ...unread
        .filter((other) => other.problem !== problem)
        .map((other) => `${other.source} was not read completely: ${messageAndCureOf(other.problem)}`),
      ...formerSourceWarnings(standing),
      ...runWarnings([...runs, ...failed]),
      ...refusedRunWarnings(views, standing),
      ...(await warningsOf(runtime)),
      ...(await refusedOperationWarnings(runtime)),
    ],
    waitingFor: await reads.waitingFor(20, selected),
    left: leftOf(items),
  };
}

/** The results of the pulls of a sync. */
interface Pulled {
  runIds: number[];
  /** The counts of runs that failed. */
  failed: StreamAccount[];
  remapped: SyncReport['remapped'];
  unread: { source: string; problem: Fault }[];
}

/** Pulls sources one after the other. Passports are not evaluated meanwhile. */
async function pullAll(
  runtime: Runtime,
  sources: readonly string[],
  { request, planned, begunAt }: { request: SyncRequest; planned: PlannedSync | null; begunAt: number },
): Promise<Pulled> {
  const { abort, waitMs, askedBy } = request;
  const pulled: Pulled = { runIds: [], failed: [], remapped: [], unread: [] };
  const resume = runtime.passports.pause();
  try {
    for (const source of inReadingOrder(runtime.config, sources)) {
      if (abort.aborted) break;
      try {
        const run = await runtime.pull(source, { trigger: 'cli', askedBy }, abort, waitMs, planned?.run(source));
        pulled.runIds.push(run.runId);
        if (run.remapped > 0) pulled.remapped.push({ source, rows: run.remapped });
      } catch (error) {
        const [last] = await runtime.reads.lastRuns({ source, limit: 1 });
        if (last !== undefined && last.startedAt >= begunAt) pulled.failed.push(...last.streams);
        pulled.unread.push({ source, problem: faultOf(error, source) });
      }
    }
  } finally {
    resume();
  }
  return pulled;
}

async function landed({ reads }: Runtime, sources: readonly string[], clock: Clock): Promise<ItemCounts> {
  const since = clock.ticks();
  for (;;) {
    const items = await reads.itemCounts(sources);
    const isFlying = Object.values(items).some(({ sending = 0 }) => sending > 0);
    if (!isFlying || clock.ticks() - since >= LANDING_MS) return items;
    await clock.sleep(LANDING_LOOK_MS);
  }
}

/** Waits until all automatic work of the request is done. Returns the fault that stopped it, if there is one. */
async function untilDone(
  runtime: Runtime,
  request: SyncRequest & { since: number; pause: PauseBetweenLooks; onMapped: () => void },
  clock: Clock,
): Promise<Fault | null> {
  const { abort, waitMs, of, pause } = request;
  let troubleSince: number | null = null;
  let leftAt = clock.ticks() + waitMs;
  for (;;) {
    if (abort.aborted) return abort.reason instanceof Fault ? abort.reason : INTERRUPTED;
    const lost = runtime.ledgerLost();
    if (lost) return lost;
    const lookedAt = clock.ticks();
    // `isMapping` is read before the counts, so that the counts include records that are mapped in between.
    const isMapping = maps(runtime, of);
    if (!isMapping) request.onMapped();
    const { outstanding, nextDueAt, isListing, ...status } = await runtime.engine.status(of);
    const lookMs = clock.ticks() - lookedAt;
    const trouble = status.trouble ?? runtime.mapping.mapQueue.trouble() ?? runtime.paused();
    const isStill = !isMapping && !isListing && outstanding === 0 && nextDueAt === null;
    if (isStill && (await staysStill(runtime, of)) && !(await stagesPassports(runtime, of))) {
      return refusedScopeFault(runtime);
    }
    await runtime.startWorkers();
    const refused = outstanding === 0 ? authorizationFault(runtime) : null;
    if (refused !== null) return refused;
    const away = await awayFault(runtime, { ...request, of, outstanding, now: clock.ticks() });
    if (away !== null) return away;
    // If the list cannot be read, waiting for it would not help.
    const isWaited = isListing && runtime.unreadable() === null;
    const isAtRest = outstanding === 0 && nextDueAt !== 0 && !isWaited && !isMapping;
    if (isAtRest && clock.ticks() >= leftAt && !(await stagesPassports(runtime, of))) {
      const left = await leftAwayFault(runtime, { before: clock.now() - waitMs, of });
      // Only the present answer shows that the API accepts others. If there is none, `awayFault` reports that.
      if (left !== null) {
        await runtime.api.isAway(clock.ticks(), abort);
        if (runtime.api.unreachableSince() === null) return left;
      }
      leftAt = clock.ticks() + LEFT_LOOK_MS;
    }
    troubleSince = trouble === null ? null : (troubleSince ?? clock.ticks());
    if (trouble !== null && troubleSince !== null && clock.ticks() - troubleSince >= waitMs) {
      return trouble instanceof Fault ? trouble : fault('internal', trouble.message, { cause: trouble });
    }
    await pause.rest(abort, of === undefined ? 0 : Math.min(LOOK_MAX_MS, LOOK_SHARE * lookMs));
  }
}

/** The fault of an API that refuses the key or the plan; null if it accepts both. */
function authorizationFault({ api, config }: Runtime): Fault | null {
  const authorization = api.authorization();
  if (authorization.open) return null;
  const { by, reason } = authorization;
  const what = by === 'plan' ? "the organisation's plan" : 'the key';
  const message = `The API refuses ${what}: ${reason.message}`;
  const path = 'target.apiKey';
  if (by === 'plan') return fault('api.plan', message, { path, suggestion: FAULTS['api.plan'].cure });
  const suggestion = keyAdvice(config.target.apiKey, FAULT_CASES['api.key'].sync.cure);
  return fault('api.key', message, { path, suggestion });
}

/** Whether records of the request wait to be mapped. */
function maps(runtime: Runtime, of: WorkOf | undefined): boolean {
  if (of === undefined) return runtime.mapping.busy();
  return 'sources' in of && runtime.mapping.pendingSources().some((source) => of.sources.includes(source));
}

/**
 * True if nothing is left when the writes that were under way have ended. Whoever has settled the last delivery marks the
 * passports as dirty after its write, and the engine may have evaluated them meanwhile. So nothing is awaited between this
 * look and the evaluation of passports.
 */
async function staysStill(runtime: Runtime, of: WorkOf | undefined): Promise<boolean> {
  await runtime.ledger.writesEnded();
  const isMapping = maps(runtime, of);
  const { outstanding, nextDueAt, isListing } = await runtime.engine.status(of);
  return !isMapping && !isListing && outstanding === 0 && nextDueAt === null;
}

/** Evaluates passports. True if a delivery of the request has become due. */
async function stagesPassports({ passports, engine }: Runtime, of: WorkOf | undefined): Promise<boolean> {
  // Passports that a person has asked for are staged without an evaluation.
  if (of !== undefined && 'passportsOf' in of) return false;
  const staged = await passports.evaluate();
  if (of === undefined || staged === 0) return staged > 0;
  return (await engine.status(of)).nextDueAt !== null;
}

const INTERRUPTED = fault('interrupted', 'The sync was stopped before it was done.', {
  suggestion: 'Nothing is lost: run the sync again, and it continues where it stopped.',
});

/** Whether a source was read, and waits for a person to decide about its rows. */
function needsPerson({ code }: Fault): boolean {
  return code === 'source.refused' || code === 'source.gone';
}

function faultOf(error: unknown, source: string): Fault {
  if (error instanceof Fault) return error;
  const ledger = ledgerFaultOf(error);
  if (ledger) return ledger;
  return fault('internal', `The source "${source}" could not be pulled: ${messageOf(error)}`, { cause: error });
}

function leftOf(items: ItemCounts): number {
  return Object.values(items).reduce((sum, states) => sum + (states.due ?? 0) + (states.sending ?? 0), 0);
}

async function warningsOf({ reads }: Runtime): Promise<string[]> {
  const cycles = await reads.bomCycles(20);
  return cycles.map((path) => `The bill of materials of ${path[0]} contains itself: ${path.join(' → ')}.`);
}

/** The pause after something has happened. */
const SHORTEST_MS = 40;
/** The longest pause while nothing happens, for example while the API asks to wait. */
const LONGEST_MS = 640;
/** The longest pause as a share of the time after which the sync gives up, so that it gives up in time. */
const SHARE_OF_WAIT = 0.1;

/**
 * Pauses that cost little CPU time while nothing happens, and that end soon after something has happened.
 *
 * @param waitMs how long the sync waits for something that does not happen
 */
export function createPauseBetweenLooks(bus: EventBus, { clock, waitMs }: { clock: Clock; waitMs: number }) {
  const longestMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, SHARE_OF_WAIT * waitMs));
  let hasHappened = false;
  let nextMs = SHORTEST_MS;
  let wake = new AbortController();
  const unsubscribe = bus.subscribe(() => {
    hasHappened = true;
    wake.abort('event');
  });

  return {
    /**
     * Resolves when it is time to look again: after `SHORTEST_MS` if something has happened since the last look, and otherwise
     * at the next event. Without an event each pause is twice as long as the one before it, up to the longest one.
     *
     * @param leastMs the pause is at least this long
     */
    async rest(abort: AbortSignal, leastMs: number = 0): Promise<void> {
      const firstMs = Math.max(SHORTEST_MS, leastMs);
      await clock.sleep(firstMs, abort);
      if (!hasHappened && !abort.aborted && nextMs > firstMs) {
        wake = new AbortController();
        await withAnySignal([abort, wake.signal], (signal) => clock.sleep(nextMs - firstMs, signal));
      }
      nextMs = hasHappened ? SHORTEST_MS : Math.min(longestMs, nextMs * 2);
      hasHappened = false;
    },
    end: unsubscribe,
  };
}

export type PauseBetweenLooks = ReturnType<typeof createPauseBetweenLooks>;

/** Accepts all reads, runs and changes of these sources that are guarded, held or blocked at the moment. */
export async function accept(
  { ledger, held: heldRuns }: { ledger: IntakeLedger & ContactLedger; held: HeldRuns },
  named: readonly string[],
  decider: Decider,
): Promise<Acceptance> {
  const sources = [...new Set(named)];
  const { reads } = await ledger.accept({ sources });
  const adopted: Acceptance['adopted'] = [];
  const held: Acceptance['held'] = [];
  for (const source of sources) {
    const run = await heldRuns.approve(source, decider);
    if (run !== null) held.push(run);
    const counts = await ledger.acceptAdopted(source);
    for (const kind of ITEM_KINDS) {
      const count = counts[kind] ?? 0;
      if (count > 0) adopted.push({ source, kind, count });
    }
  }
  return { sources, guarded: reads, held, adopted };
}
