import type { LatencyComparison } from '../../../domain/activity.ts';
import type { UnprovenWrites } from '../../../domain/attention.ts';
import type { Scope } from '../../../domain/delivery/operation.ts';
import type { StuckDelivery } from '../../../domain/ports/ledger/ledger-standing.ts';
import type { QueueName } from '../../../domain/ports/queues.ts';
import type { HealthReport } from '../../../observe/health.ts';
import type { LeftToSend, Standing } from '../../../observe/standing.ts';
import type { CauseEntry } from '../attention/cause-entries.ts';

/** What is down now, in words. */
export interface Down {
  what: string;
  /** In milliseconds since the epoch; null if it is not known. */
  since: number | null;
  /** The end that the platform has named; null if there is none. */
  until: number | null;
  /** True if nothing is sent meanwhile. */
  stopsAll: boolean;
}

/** The data that the first page shows. */
export interface OverviewView {
  health: HealthReport;
  standing: Standing;
  running: readonly string[];
  /** The sources that are paused now, each with the end of its pause, or Infinity. */
  pauses: ReadonlyMap<string, number>;
  /** Null while the queue is out of reach. */
  pausedQueues: readonly QueueName[] | null;
  /** The problem that stops deliveries, reported by the engine; null if there is none. */
  trouble: string | null;
  /** Why the daemon may not write to its ledger any more and has to end; null while it may. */
  lost: string | null;
  /** When the daemon has refused a changed config; null if it works with the present one. */
  configRefusedAt: number | null;
  /** The API's message if it refuses the key or the plan; null if it does not. */
  refusal: string | null;
  /** The API's message about each refused scope. */
  refusedScopes: readonly { scope: Scope; message: string }[];
  /** A sentence about each refused operation whose scope the key has. */
  refusedOperations: readonly string[];
  /** Why no passport can be published now; null if nothing keeps all of them. */
  passportBlocker: string | null;
  /** Writes that count as done although neither their answers nor a list have proven them. */
  unproven: readonly UnprovenWrites[];
  /** Sources of the config with rows that are not mapped yet. */
  unmapped: readonly string[];
  /** The causes of stuck items and rows that hold the most passports; null if they could not be read. */
  causes: readonly CauseEntry[] | null;
  /** How many rows of each source are in quarantine now, if there are any; null if they could not be counted. */
  inQuarantine: ReadonlyMap<string, number> | null;
  /** The newest deliveries that need a person. */
  stuck: readonly StuckDelivery[];
  /** How many entries the list of causes has. */
  causeCount: number;
  /** Requests per second: those that were sent, and those that the API allows as far as it is known. */
  rate: { now: number; allowed: number | null };
  /** What is still to be sent; null if the ledger cannot be read. */
  left: LeftToSend | null;
  /** In how many seconds it is sent; null while nothing is sent. */
  secondsLeft: number | null;
  /** How many requests the API refused with 429 in the last 24 hours; null if it is not known. */
  refused: number | null;
  /** How long the platform takes to answer; null if nothing is known of the last minutes. */
  latency: LatencyComparison | null;
  passportsWanted: boolean;
  /** How many products only rows in quarantine would make, so that the ledger does not have them. */
  productsInQuarantine: number;
  /** The worst first. */
  down: readonly Down[];
  /** True if the person has the rights of an operator. */
  operates: boolean;
  baseUrl: string;
  version: string;
  startedAt: number;
  now: number;
}
