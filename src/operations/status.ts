// How the ledger, the queue and the daemon stand.

import { z } from 'zod';
import { formerSourceWarnings, refusedRunWarnings, runWarnings } from '../domain/attention.ts';
import { type ImportProof, UNTRIED } from '../domain/delivery/import-proof.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import { fault } from '../domain/faults.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import { PASSPORT_STATES, type PassportCounts } from '../domain/passport.ts';
import type { Attention, ItemCounts, LedgerStanding } from '../domain/ports/ledger/ledger-standing.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { freeBytesBeside } from '../ledger/file/file.ts';
import { Fault } from '../lib/errors.ts';
import { causesOf, type LeftToSend, secondsLeft, soonSent, standingAsked } from '../observe/standing.ts';
import { defineOperation } from './operation.ts';
import { guardWarnings } from './results.ts';
import type { DaemonView, OperationContext, StatusContext } from './runtime.ts';
import { Stages, Status } from './status-document.ts';

export const showStatus = defineOperation({
  name: 'status',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Shows health, counts, runs, exports that the guard holds, the rate, and the last reload of the config.',
  at: 'GET /status',
  request: z.strictObject({}),
  result: Status,
  async run(_, context: StatusContext) {
    const { runtime, clock, schedule, daemon } = context;
    const { config, reads } = runtime;
    const now = clock.now();
    // These parts wait for different things, so the answer takes only as long as the slowest part.
    const [{ standing, attention, runs, imports, ...ledger }, queue, { health, deliveries, left, ...process }] =
      await Promise.all([
        reads === null ? NOTHING : readLedger(reads, config),
        queueOf(context),
        daemon === null ? NO_DAEMON : daemonOf(daemon),
      ]);
    const lost = daemon?.ledgerLost() ?? null;
    if (lost !== null) throw lost;
    const open = left ?? (reads === null ? NOTHING_LEFT : { ...(await reads.openDeliveries()), requested: 0 });
    return {
      ledger: {
        file: config.ledger,
        exists: reads !== null,
        freeBytes: reads === null ? null : freeBytesBeside(config.ledger),
        health: health?.ledger ?? null,
      },
      items: standing.items,
      passports: allStates(standing.passports),
      quarantined: standing.quarantined,
      // As in the document of a sync, `warnings` also has the messages of the guard.
      warnings: [
        ...guardWarnings(standing.guarded),
        ...formerSourceWarnings(standing),
        ...runWarnings(runs.flatMap(({ lastRun }) => lastRun?.streams ?? [])),
        ...refusedRunWarnings(
          runs.flatMap(({ lastRun }) => lastRun ?? []),
          standing,
        ),
      ],
      guarded: [...standing.guarded],
      held: [...standing.held],
      productsInQuarantine: ledger.productsInQuarantine,
      missing: standing.missing,
      missingOutcomes: [...standing.missingOutcomes],
      paddedKeys: [...standing.paddedKeys],
      formerSources: [...standing.formerSources],
      suspended: [...standing.suspended],
      refused: [...standing.refused],
      causes: causesOf(atRest({ standing, attention })),
      waitingFor: attention.waitingFor,
      duplicates: attention.duplicates,
      otherForms: [...standing.otherForms],
      adopted: attention.adopted,
      unansweredParts: attention.parts,
      unproven: attention.unproven,
      apiWait: goingOn(ledger.apiWait, now),
      deferred: ledger.deferred,
      imports: {
        creates: importOf(config.profile.imports.creates === 'off' ? null : imports.creates),
        changes: importOf(config.profile.productUpdate === 'none' ? null : imports.changes),
      },
      queue: { ...queue, health: health?.queue ?? null },
      deliveries,
      left: {
        ...open,
        soon: soonSent(open),
        seconds:
          daemon === null || health === null
            ? null
            : secondsLeft(open, {
                perSecond: daemon.activity.deliveredPerSecond(),
                api: health.api,
                queue: health.queue,
                pausedQueues: queue.paused,
              }),
      },
      reload: ledger.reload,
      backup: ledger.backup,
      sources: config.sources.map(({ id: source }) => {
        const { lastRun = null, completeAt = null } = runs.find((run) => run.source === source) ?? {};
        return {
          source,
          lastRun,
          nextRunAt: schedule.nextRun(source),
          due: ledger.dueRuns.includes(source),
          ...pauseOf(schedule.pausedUntil(source)),
          completeAt,
        };
      }),
      failedRuns: [...standing.failedRuns],
      stuck: attention.stuck,
      awaitingReadBack: attention.awaitingReadBack,
      ...process,
      status: health?.status ?? null,
      api: health?.api ?? null,
      pausedQueues: queue.counts === null ? null : queue.paused,
      lastReload: ledger.reload,
    };
  },
  // No delivery is sent without the queue, so an unreachable queue decides first.
  exitCode: ({ queue, causes }) => (queue.problem !== null ? 3 : causes.length > 0 ? 4 : 0),
});

/** @param until the end of the present pause, Infinity if it has no end, or null without a pause */
function pauseOf(until: number | null): { paused: boolean; pausedUntil: number | null } {
  return { paused: until !== null, pausedUntil: until === Number.POSITIVE_INFINITY ? null : until };
}

/** What the ledger has for `status`. */
async function readLedger(reads: Reads, config: StatusContext['runtime']['config']) {
  const [standing, productsInQuarantine, attention, runs, apiWait, deferred, imports, reload, backup, dueRuns] =
    await Promise.all([
      reads.standing(standingAsked(config)),
      reads.productsInQuarantine(),
      reads.attention([]),
      reads.sourceRuns(config.sources.map(({ id }) => id)),
      reads.apiWait(),
      reads.deferred(),
      reads.importProofs(),
      reads.daemonNote('reload'),
      reads.daemonNote('backup'),
      reads.daemonNote('dueRuns'),
    ]);
  return {
    standing,
    productsInQuarantine,
    attention,
    runs,
    apiWait,
    deferred,
    imports,
    reload,
    backup,
    dueRuns: Object.keys(dueRuns ?? {}),
  };
}

const NOTHING_LEFT: LeftToSend = {
  due: 0,
  sending: 0,
  following: 0,
  requested: 0,
  waiting: 0,
  unconfirmed: 0,
  incomplete: 0,
};

/** What is shown before the first sync. */
const NOTHING: Awaited<ReturnType<typeof readLedger>> = {
  standing: {
    items: { product: {}, material: {}, bom_item: {} },
    passports: {},
    unconfirmedPassports: 0,
    quarantined: 0,
    guarded: [],
    held: [],
    failedRuns: [],
    suspended: [],
    otherForms: [],
    refused: [],
    missing: {},
    missingOutcomes: [],
    paddedKeys: [],
    formerSources: [],
  },
  productsInQuarantine: 0,
  attention: {
    waitingFor: [],
    stuck: [],
    awaitingReadBack: { count: 0, nextLookAt: null },
    duplicates: { count: 0, whole: 0, examples: [] },
    adopted: [],
    parts: { products: 0, bomItems: 0 },
    unproven: [],
  },
  runs: [],
  apiWait: null,
  deferred: null,
  imports: { creates: UNTRIED, changes: UNTRIED },
  reload: null,
  backup: null,
  dueRuns: [],
};

/** What a daemon knows about itself. */
async function daemonOf(daemon: DaemonView) {
  const [health, deliveries, left] = await Promise.all([daemon.health.check(), daemon.stages(), daemon.left()]);
  return {
    health,
    version: daemon.version,
    startedAt: daemon.startedAt,
    running: daemon.running(),
    requestsPerSecond: { now: daemon.activity.requestsPerSecond(), allowed: daemon.learntRate() },
    deliveries,
    left,
  };
}

const NO_DAEMON = {
  health: null,
  version: null,
  startedAt: null,
  running: [],
  requestsPerSecond: null,
  deliveries: null,
  left: null,
};

async function queueOf(context: StatusContext) {
  const { kind } = context.runtime.config.queue;
  try {
    const found = await context.queues();
    return { kind, counts: found?.counts ?? null, paused: found?.paused ?? [], problem: null };
  } catch (error) {
    // The counts of the ledger are shown even without the queue.
    if (error instanceof Fault) return { kind, counts: null, paused: [], problem: error.message };
    throw error;
  }
}

/** Leaves out items that need no person, because beside a daemon there are always some. */
function atRest({ standing, attention }: { standing: LedgerStanding; attention: Attention }): LedgerStanding {
  const items: ItemCounts = { product: {}, material: {}, bom_item: {} };
  let underWay = attention.awaitingReadBack.count;
  for (const kind of ITEM_KINDS) {
    const { due: _, sending: __, waiting = 0, in_doubt: inDoubt = 0, ...counts } = standing.items[kind];
    const looked = Math.min(inDoubt, underWay);
    underWay -= looked;
    items[kind] = { ...counts, in_doubt: inDoubt - looked, waiting: attention.waitingFor.length > 0 ? waiting : 0 };
  }
  return { ...standing, items, unconfirmedPassports: 0 };
}

/**
 * The wait that may still last. The ledger keeps the last wait, but a wait without an end is out of date if no process
 * asks the API any more.
 */
function goingOn(wait: ApiWait | null, now: number): ApiWait | null {
  return wait !== null && now < (wait.until ?? wait.askAgainAt + OLD_NEWS_MS) ? wait : null;
}

const OLD_NEWS_MS = 60_000;

function allStates(passports: PassportCounts): PassportCounts {
  return Object.fromEntries(PASSPORT_STATES.map((state) => [state, passports[state] ?? 0]));
}

/** @param proof null if the profile uses no imports for this */
function importOf(proof: ImportProof | null) {
  if (proof === null) return { state: 'off' as const };
  // The form of the answers is of no use to people.
  const { form: _, ...shown } = { form: [], ...proof };
  return shown;
}

/** Only the memory of the process that sends deliveries has their stages. */
export const deliveryStages = defineOperation({
  name: 'delivery-stages',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Counts the deliveries in each stage.',
  at: 'GET /delivery-stages',
  request: z.strictObject({}),
  result: Stages,
  async run(_, { daemon }: OperationContext) {
    if (daemon === null) throw fault('usage', 'No daemon works on this ledger.');
    return daemon.stages();
  },
});
