import type { Scope } from '../domain/delivery/operation.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { AlertCondition } from '../domain/ports/alerts.ts';
import type {
  ItemState,
  LedgerStanding,
  OpenDeliveries,
  StandingAsked,
} from '../domain/ports/ledger/ledger-standing.ts';
import type { SourceCounts, SourceRuns } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { QueueCounts, QueueName } from '../domain/ports/queues.ts';
import type { ApiStanding } from './health.ts';

/** What is known without the ledger. */
export interface Surroundings {
  /** Null while the queue is out of reach. */
  queues: Record<QueueName, QueueCounts> | null;
  api: ApiStanding;
  /** The wait beyond a minute that the API has asked for, or null. */
  apiWait: ApiWait | null;
  /** Scopes that the API refuses to the key. */
  refusedScopes: readonly Scope[];
}

/** The current state. */
export interface Standing extends LedgerStanding, Surroundings {
  /** In how many milliseconds new counts can be read, because counts are kept for a time. 0 if these counts are new. */
  renewableInMs: number;
  sources: (Pick<SourceRuns, 'source' | 'lastRun' | 'lastEnded' | 'completeAt'> & { nextRunAt: number | null })[];
}

/** Everything that is still to be sent, as far as it is known: also what is not staged yet. */
export interface LeftToSend extends OpenDeliveries {
  /** Publications that people have asked for and that the ledger does not have yet. */
  requested: number;
}

/** How many writes are sent next, without a person and without other items. */
export function soonSent({ due, sending, following, requested }: LeftToSend): number {
  return due + sending + following + requested;
}

/** What may keep deliveries from being sent. */
export interface Sending {
  /** Deliveries per second that have ended lately. */
  perSecond: number;
  api: ApiStanding;
  queue: 'ok' | 'unreachable';
  /** Null while the queue is out of reach. */
  pausedQueues: readonly QueueName[] | null;
}

/** In how many whole seconds, at the present speed, all is sent that waits for nothing. Null while nothing is sent. */
export function secondsLeft(left: LeftToSend, { perSecond, api, queue, pausedQueues }: Sending): number | null {
  // The answers of unconfirmed writes are looked up with requests, too.
  const count = soonSent(left) + left.unconfirmed;
  if (count === 0) return 0;
  const isSending = (api === 'ok' || api === 'denied_scope') && queue === 'ok' && pausedQueues?.length === 0;
  return isSending && perSecond > 0 ? Math.ceil(count / perSecond) : null;
}

/** The values that are read each time Prometheus reads the metrics. Times are in milliseconds since the epoch. */
export interface Figures extends Surroundings {
  now: number;
  /** Null while the ledger cannot be read. */
  standing: Pick<Standing, 'sources' | 'guarded' | 'held'> | null;
  /** The streams of the config, which have a series from the start. */
  streams: readonly { source: string; stream: string }[];
  /** Null while the ledger cannot be read. */
  counts: SourceCounts | null;
  /** Null while the ledger cannot be read. */
  left: LeftToSend | null;
  /** Sources that are being pulled. */
  running: readonly string[];
  /** Requests a second that are sent at most; null while no limit is known. */
  learntRate: number | null;
  ledgerBytes: { database: number; log: number };
  /** Null if the system does not report it. */
  ledgerFreeBytes: number | null;
  /** Null without scheduled backups. */
  backup: { lastAt: number | null } | null;
  alerts: readonly { condition: AlertCondition; source: string | null; firing: boolean }[];
  /** Notices since the daemon began. */
  notices: readonly { channel: string; sent: number; failed: number }[];
  config: { loadedAt: number; refused: boolean };
}

/**
 * What to ask the ledger about these sources. The missing items of a source with `onMissing: ignore` are not counted.
 *
 * @param selected ids of configured sources
 */
export function standingAsked(
  { sources }: { sources: readonly { id: string; onMissing: string }[] },
  selected: readonly string[] = sources.map(({ id }) => id),
): StandingAsked {
  const isWatched = (id: string) => sources.some((source) => source.id === id && source.onMissing !== 'ignore');
  return { sources: selected, watched: selected.filter(isWatched), configured: sources.map(({ id }) => id) };
}

// Why a ledger needs a person after all automatic work has ended. Exit code 4 stands for one or more of these causes, and each
// names the command that shows it.

/** The figures of a ledger that show whether it needs a person. */
export type Figured = Pick<
  LedgerStanding,
  | 'items'
  | 'passports'
  | 'unconfirmedPassports'
  | 'quarantined'
  | 'guarded'
  | 'held'
  | 'failedRuns'
  | 'suspended'
  | 'refused'
>;

type CauseName =
  | ItemState
  | 'passport_unconfirmed'
  | 'passport_blocked'
  | 'passport_incomplete'
  | 'quarantined'
  | 'guarded'
  | 'held_run'
  | 'failed_run'
  | 'suspended'
  | 'refused';

export interface Cause {
  /** The name of the cause. It is stable, for scripts. */
  cause: CauseName;
  count: number;
  /** The command that shows the cause, or ends it if there is nothing more to show. */
  command: string;
}

/** States of items that do not need a person. */
const WELL: readonly ItemState[] = ['delivered', 'superseded'];

export function causesOf(standing: Figured): Cause[] {
  const { items, passports, unconfirmedPassports, quarantined, guarded, held, failedRuns, suspended, refused } =
    standing;
  const byState = new Map<ItemState, number>();
  for (const counts of Object.values(items)) {
    for (const [state, count] of Object.entries(counts) as [ItemState, number][]) {
      if (!WELL.includes(state)) byState.set(state, (byState.get(state) ?? 0) + count);
    }
  }
  const { blocked = 0, incomplete = 0 } = passports;
  // A list that is being read does not need a person.
  const unlisted = suspended.reduce((sum, { creates, reason }) => sum + (reason === null ? 0 : creates), 0);
  const causes: Cause[] = [
    ...failedRuns.map(({ source }) => ({ cause: 'failed_run' as const, count: 1, command: `dpp-sync sync ${source}` })),
    ...Array.from(
      Map.groupBy(guarded, ({ source }) => source),
      ([, reads]) => ({
        cause: 'guarded' as const,
        count: reads.length,
        command: 'dpp-sync status',
      }),
    ),
    { cause: 'held_run', count: held.length, command: 'dpp-sync status' },
    { cause: 'suspended', count: unlisted, command: 'dpp-sync status' },
    { cause: 'refused', count: refused.reduce((sum, { count }) => sum + count, 0), command: 'dpp-sync check' },
    ...Array.from(byState, ([cause, count]) => ({ cause, count, command: `dpp-sync items --state ${cause}` })),
    {
      cause: 'passport_unconfirmed',
      count: unconfirmedPassports,
      command: 'dpp-sync items --kind passport --state in_doubt',
    },
    { cause: 'passport_blocked', count: blocked, command: 'dpp-sync items --kind passport' },
    { cause: 'passport_incomplete', count: incomplete, command: 'dpp-sync items --state incomplete' },
    { cause: 'quarantined', count: quarantined, command: 'dpp-sync quarantine' },
  ];
  return causes.filter(({ count }) => count > 0);
}

/** Returns 0 for success, 4 if something needs a person or still waits, and otherwise the exit code of the fault. */
export function exitCodeOf(report: Figured & { fault: { exitCode: number } | null; left?: number }): number {
  if (report.fault) return report.fault.exitCode;
  return causesOf(report).length > 0 || (report.left ?? 0) > 0 ? 4 : 0;
}

/** What is still to be sent, from the ledger and from the requests of people that are not in the ledger yet. */
export async function leftToSend({
  reads,
  passports,
}: {
  reads: Pick<Reads, 'openDeliveries'>;
  passports: { requested(): number };
}): Promise<LeftToSend> {
  // What is requested is read first: what is stored meanwhile may then count twice, and is never left out.
  const requested = passports.requested();
  return { ...(await reads.openDeliveries()), requested };
}
