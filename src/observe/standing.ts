import type { Scope } from '../domain/delivery/operation.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { AlertCondition } from '../domain/ports/alerts.ts';
import type { LedgerStanding, SourceCounts, SourceRuns, StandingAsked } from '../domain/ports/ledger/ledger-views.ts';
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
  sources: (Pick<SourceRuns, 'source' | 'lastRun' | 'completeAt'> & { nextRunAt: number | null })[];
}

/** The values that are read each time Prometheus reads the metrics. Times are in milliseconds since the epoch. */
export interface Figures extends Surroundings {
  now: number;
  /** Null while the ledger cannot be read. */
  standing: Pick<Standing, 'sources' | 'guarded'> | null;
  /** The streams of the config, which have a series from the start. */
  streams: readonly { source: string; stream: string }[];
  /** Null while the ledger cannot be read. */
  counts: SourceCounts | null;
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
  return { sources: selected, watched: selected.filter(isWatched) };
}
