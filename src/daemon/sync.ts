import { fault } from '../domain/faults.ts';
import type { WorkOf } from '../domain/ports/due.ts';
import type { ItemCounts, StreamAccount, WaitingGroup } from '../domain/ports/ledger-views.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import { causesOf, type LedgerStanding } from '../observe/causes.ts';
import { createRequestCounts, type RequestCounts } from '../observe/request-counts.ts';
import { type Acceptance, accept } from './accept.ts';
import { awayFault, leftAwayFault } from './away-fault.ts';
import type { RuntimeConfig } from './open-source.ts';
import { passportRulesOf } from './passport-rules.ts';
import { refusedScopeFault } from './refused-scope-fault.ts';
import type { Runtime } from './runtime.ts';
import { type SourcesStanding, standingOf } from './standing.ts';

export interface SyncRequest {
  /** Source ids; empty for all. */
  sources: readonly string[];
  /** How long the API, or what is needed of it, and the queue may be out of reach before the sync gives up. */
  waitMs: number;
  abort: AbortSignal;
  /** False to deliver only what the ledger has already: after a replay. */
  pull?: boolean;
  /** Sources of which a person accepts what is held as the sync begins. */
  accept?: readonly string[];
  /**
   * Whose deliveries are waited for; all of them where it is left out. A process that goes on after the sync delivers the
   * others as well, and is given new ones by its schedules: there the sync would wait for ever.
   */
  of?: WorkOf | undefined;
}

export interface SyncReport extends SourcesStanding {
  runs: StreamAccount[];
  items: ItemCounts;
  /** What was held and is accepted now; null where nobody asked for that. */
  accepted: Acceptance | null;
  requests: RequestCounts;
  durationMs: number;
  /** What kept the sync from finishing: a source, the API, the queue, or the person who stopped it. */
  fault: Fault | null;
  /** Things that a person should know of and that stop nothing. */
  warnings: string[];
  waitingFor: WaitingGroup[];
  /** Deliveries that are left to be sent. */
  left: number;
}

/** 0 all well, 4 finished with something that needs a person or still waits, else what the fault says. */
export function exitCodeOf(report: LedgerStanding & { fault: { exitCode: number } | null }): number {
  if (report.fault) return report.fault.exitCode;
  return causesOf(report).length > 0 ? 4 : 0;
}

/** How often the sync looks whether it is done. */
const LOOK_MS = 40;
/** What is in the air when the sync gives up has so long to come to its end, and is told by where it stands then. */
const LANDING_MS = 1000;
/** How often it looks whether only that is left which the API cannot take. */
const LEFT_LOOK_MS = 1000;
/** Looking goes over the deliveries of others as well, so it may take no more than a fiftieth of the time. */
const LOOK_SHARE = 50;
const LOOK_MAX_MS = 2000;

/**
 * Pulls the sources, maps and delivers until nothing is left that could go on by itself. A source that cannot be read
 * does not keep the others from being synced.
 */
export async function sync(runtime: Runtime, request: SyncRequest, clock: Clock): Promise<SyncReport> {
  const { config, views, bus } = runtime;
  const startedAt = clock.ticks();
  const requests = createRequestCounts();
  const unsubscribe = bus.subscribe(requests.observe);
  const selected = request.sources.length > 0 ? [...request.sources] : config.sources.map(({ id }) => id);
  const runIds: number[] = [];
  let problem: Fault | null = null;
  let accepted: Acceptance | null = null;
  try {
    if (request.accept && request.accept.length > 0) accepted = await accept(runtime.ledger, request.accept);
    do await runtime.recheck.stageNext();
    while (runtime.recheck.hasMore() && !request.abort.aborted);
    const { nextDueAt, isListing } = await runtime.engine.status();
    if (views.pendingSources().length > 0 || nextDueAt !== null || isListing) await runtime.startWorkers();
    const resume = runtime.passports.pause();
    try {
      for (const source of request.pull === false ? [] : inOrder(config, selected)) {
        if (request.abort.aborted) break;
        try {
          runIds.push((await runtime.pull(source, 'cli', request.abort, request.waitMs)).runId);
        } catch (error) {
          problem ??= faultOf(error, source);
        }
      }
    } finally {
      resume();
    }
    const ended = await untilDone(runtime, { ...request, since: startedAt }, clock);
    problem = ended ?? problem;
    // What is counted below is how the ledger stands once nothing is under way any more.
    if (request.abort.aborted) await runtime.stopWorkers();
  } finally {
    unsubscribe();
  }
  const items = await landed(runtime, selected, clock);
  return {
    runs: runIds.flatMap((id) => views.run(id)?.streams ?? []),
    items,
    ...standingOf(views, config, selected),
    accepted,
    requests: requests.counts,
    durationMs: clock.ticks() - startedAt,
    fault: problem,
    warnings: warningsOf(runtime),
    waitingFor: views.waitingFor(20, selected),
    left: leftOf(items),
  };
}

async function landed({ views }: Runtime, sources: readonly string[], clock: Clock): Promise<ItemCounts> {
  const since = clock.ticks();
  for (;;) {
    const items = views.itemCounts(sources);
    const isFlying = Object.values(items).some(({ sending = 0 }) => sending > 0);
    if (!isFlying || clock.ticks() - since >= LANDING_MS) return items;
    await clock.sleep(LOOK_MS);
  }
}

/**
 * Sources of BOM items come last: a product of which none is known then has none, and its passport need not wait for
 * another read.
 */
function inOrder(config: RuntimeConfig, selected: readonly string[]): string[] {
  const { bomSources } = passportRulesOf(config);
  const isLast = (source: string) => bomSources.includes(source);
  return [...selected.filter((source) => !isLast(source)), ...selected.filter(isLast)];
}

/** Waits until nothing of what is waited for goes on by itself. Gives what kept it from getting there. */
async function untilDone(
  runtime: Runtime,
  request: SyncRequest & { since: number },
  clock: Clock,
): Promise<Fault | null> {
  const { abort, waitMs, of } = request;
  let troubleSince: number | null = null;
  let leftAt = clock.ticks() + waitMs;
  for (;;) {
    if (abort.aborted) return abort.reason instanceof Fault ? abort.reason : INTERRUPTED;
    const lost = runtime.ledgerLost();
    if (lost) return lost;
    const lookedAt = clock.ticks();
    // First, for what is mapped afterwards shows in the status then.
    const isMapping = maps(runtime, of);
    const { outstanding, nextDueAt, isListing, ...status } = await runtime.engine.status(of);
    const lookMs = clock.ticks() - lookedAt;
    const trouble = status.trouble ?? runtime.mapQueue.trouble() ?? runtime.paused();
    const isStill = !isMapping && !isListing && outstanding === 0 && nextDueAt === null;
    if (isStill && !(await stagesPassports(runtime, of))) return refusedScopeFault(runtime);
    await runtime.startWorkers();
    const authorization = runtime.api.authorization();
    if (!authorization.open && outstanding === 0) {
      const { by, reason } = authorization;
      return fault(by === 'plan' ? 'api.plan' : 'api.key', reason.message, AUTHORIZATION_ADVICE[by]);
    }
    const away = await awayFault(runtime, { ...request, of, outstanding, now: clock.ticks() });
    if (away !== null) return away;
    // A list that cannot be read has nothing to wait for here.
    const isWaited = isListing && runtime.unreadable() === null;
    const isAtRest = outstanding === 0 && nextDueAt !== 0 && !isWaited && !isMapping;
    if (isAtRest && clock.ticks() >= leftAt && !(await stagesPassports(runtime, of))) {
      const left = await leftAwayFault(runtime, { before: clock.now() - waitMs, of });
      if (left !== null) return left;
      leftAt = clock.ticks() + LEFT_LOOK_MS;
    }
    troubleSince = trouble === null ? null : (troubleSince ?? clock.ticks());
    if (trouble !== null && troubleSince !== null && clock.ticks() - troubleSince >= waitMs) {
      return trouble instanceof Fault ? trouble : fault('internal', trouble.message, { cause: trouble });
    }
    const pauseMs = of === undefined ? LOOK_MS : Math.min(LOOK_MAX_MS, Math.max(LOOK_MS, LOOK_SHARE * lookMs));
    await clock.sleep(pauseMs, abort);
  }
}

/** Whether records that are waited for are to be mapped. */
function maps(runtime: Runtime, of: WorkOf | undefined): boolean {
  if (of === undefined) return runtime.mapping();
  return 'sources' in of && runtime.views.pendingSources().some((source) => of.sources.includes(source));
}

/** Judges passports. True where something that is waited for is due by that. */
async function stagesPassports({ passports, engine }: Runtime, of: WorkOf | undefined): Promise<boolean> {
  // Passports that were asked for by hand follow without a judgement.
  if (of !== undefined && 'passportsOf' in of) return false;
  const staged = await passports.evaluate();
  if (of === undefined || staged === 0) return staged > 0;
  return (await engine.status(of)).nextDueAt !== null;
}

const INTERRUPTED = fault('interrupted', 'The sync was stopped before it was done.', {
  suggestion: 'Nothing is lost: run it again, and it goes on where it stopped.',
});

const AUTHORIZATION_ADVICE = {
  key: {
    path: 'target.apiKey',
    suggestion: 'Put a valid key in its place and run the sync again; everything is still due.',
  },
  plan: {
    path: 'target.apiKey',
    suggestion: 'Have the Enterprise plan of the organisation activated; everything is still due.',
  },
} as const;

function faultOf(error: unknown, source: string): Fault {
  if (error instanceof Fault) return error;
  const ledger = ledgerFaultOf(error);
  if (ledger) return ledger;
  return fault('internal', `The source "${source}" could not be pulled: ${messageOf(error)}`, { cause: error });
}

function leftOf(items: ItemCounts): number {
  return Object.values(items).reduce((sum, states) => sum + (states.due ?? 0) + (states.sending ?? 0), 0);
}

function warningsOf(runtime: Runtime): string[] {
  return runtime.views
    .bomCycles(20)
    .map((path) => `The bill of materials of ${path[0]} contains itself: ${path.join(' → ')}.`);
}
