// What operations need of the process in which they run. A daemon implements all of it, and the process of a command what a
// command can do.

import type { LoadedConfig, LoadedSource } from '../config/loaded-config.ts';
import type { StageCounts } from '../delivery/delivery-window.ts';
import type { PlatformRequests } from '../delivery/platform-requests.ts';
import type { LatenciesByOperation } from '../domain/activity.ts';
import type { Decider, EffectCounts, HeldRun, WaitingRun } from '../domain/approval.ts';
import type { ItemKind } from '../domain/item.ts';
import type { PlanOutline } from '../domain/plan.ts';
import type { Alerts } from '../domain/ports/alerts.ts';
import type { WorkOf } from '../domain/ports/deliveries.ts';
import type { GuardedRead } from '../domain/ports/guarded-intake.ts';
import type { Correction } from '../domain/ports/intake.ts';
import type { BackupFile, CareLedger, PeopleLedger, ReloadStatus } from '../domain/ports/ledger/care-ledger.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type { DeliveryLedger, PassportLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Attention, ItemCounts, LedgerStanding, WaitingGroup } from '../domain/ports/ledger/ledger-standing.ts';
import type { StreamAccount } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { FormReplay, FormReplayOutcome, ReplayLedger } from '../domain/ports/ledger/replay-ledger.ts';
import type { QueueCounts, QueueName } from '../domain/ports/queues.ts';
import type { ByteSink } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { RequestCounts } from '../observe/event-bus.ts';
import type { HealthReport } from '../observe/health.ts';
import type { LeftToSend } from '../observe/standing.ts';
import type { ReplayReport, ReplayRequest } from '../pipeline/replay.ts';
import type { CorrectionResult } from '../pipeline/store-page.ts';
import type { Failure } from './outcome-fault.ts';
import type { Tested } from './test-document.ts';

/** The parts of the process that operations use. */
export interface OperationContext {
  runtime: OperationRuntime;
  clock: Clock;
  /** Aborted when the process that runs the operation is stopped. */
  abort: AbortSignal;
  /** True in a daemon: it continues the remaining work after the operation has ended, and does other work at the same time. */
  goesOn: boolean;
  /** Who has asked: a user of the dashboard, `token`, or a user of the system. */
  who: string;
  /** Receives a document that is not JSON, before the result. */
  bytes: ByteSink;
  /** Pulls, maps and delivers until all automatic work is done. */
  sync: (request: SyncRequest) => Promise<SyncReport>;
  queues: StatusContext['queues'];
  schedule: StatusContext['schedule'];
  /** What a daemon shows about itself; null in the process of another command. */
  daemon: DaemonView | null;
}

/** The context of an operation that only reads the ledger. Another process may hold the ledger. */
export interface LookContext {
  runtime: Pick<OperationRuntime, 'reads' | 'config' | 'alerts'>;
  clock: Pick<Clock, 'now'>;
}

/** The context of an operation that also answers before the first sync. */
export interface EarlyContext {
  runtime: Pick<OperationRuntime, 'config' | 'alerts'> & {
    /** Null if there is no ledger yet. */
    reads: Reads | null;
  };
  clock: Pick<Clock, 'now'>;
}

/** The context of `status`, which also shows what is beside the ledger. */
export interface StatusContext extends EarlyContext {
  /**
   * The counts of the queues, and the queues that a person has paused. Null for the embedded queues of another process.
   *
   * @throws Fault `queue.unreachable`
   */
  queues(): Promise<{ counts: Record<QueueName, QueueCounts>; paused: QueueName[] } | null>;
  /** Times of a source in milliseconds since the epoch. */
  schedule: {
    /** When the next run begins automatically; null if none does. */
    nextRun(source: string): number | null;
    /** The end of the present pause, Infinity if it has no end; null if the source is not paused. */
    pausedUntil(source: string): number | null;
  };
  daemon: DaemonView | null;
}

/** The context of an operation that sends requests to the platform only, and needs no ledger. */
export interface PlatformContext extends Pick<OperationContext, 'abort' | 'bytes'> {
  runtime: Pick<OperationRuntime, 'platform'>;
}

export interface OperationRuntime {
  config: Pick<LoadedConfig<unknown>, 'file' | 'ledger' | 'queue' | 'profile' | 'alerts'> & {
    sources: readonly Pick<LoadedSource<unknown>, 'id' | 'onMissing'>[];
  };
  ledger: PassportLedger &
    ReplayLedger &
    ContactLedger &
    PeopleLedger &
    Pick<CareLedger, 'noteDaemon'> &
    Pick<DeliveryLedger, 'settle'> &
    Pick<IntakeLedger, 'refuse'>;
  reads: Reads;
  /** Requests that people make beside the deliveries. */
  platform: PlatformRequests;
  secrets: SecretStore;
  api: { learntRate(): number | null };
  queues: { setPaused(queue: QueueName, paused: boolean): Promise<void> };
  engine: { wake(): void };
  passports: { markDirty(): void; addRequested(count: number): void };
  /** The work that only a daemon does; null in the process of another command. */
  care: Care | null;
  /** Null in a process that is not a daemon. */
  alerts: Alerts | null;
  /** Why this process may not write to the ledger any more and has to end; null while it may. */
  ledgerLost(): Fault | null;
  /** The runs that exceed the bounds of their sources, and their plans. */
  held: {
    /** The held run of a source, also one about which a person has decided; null if there is none. */
    of(source: string): HeldRun | null;
    /** Refuses the held run of a source. Null if no such run waits for a decision. */
    refuse(source: string, decider: Decider): Promise<HeldRun | null>;
    /**
     * What a held run would do, with the first items of each action.
     *
     * @throws Fault `usage` if its plan is gone, or is not as it was written
     */
    outline(run: WaitingRun): Promise<PlanOutline>;
    /**
     * The file of its plan.
     *
     * @throws Fault `usage` if it is gone
     */
    bytes(run: WaitingRun): Promise<AsyncIterable<Uint8Array>>;
  };
  replay(request: ReplayRequest): Promise<ReplayReport>;
  /** Reloads changed settings, as before a replay. Only a daemon reloads settings. */
  lookAtConfig(): Promise<void>;
  /** Sends the items again that the platform has in another form than the profile now has. */
  replayForm(request: Omit<FormReplay, 'after'>): Promise<FormReplayOutcome>;
  /**
   * Plans the next sync of these sources, or of all if none is named. One plan is made at a time.
   *
   * @param write gets the lines of the plan, some hundred at once
   * @returns the last line
   * @throws Fault `daemon.busy`, `interrupted`, or a fault of the ledger
   */
  plan(
    sources: readonly string[],
    write: (lines: readonly object[]) => Promise<void>,
    abort: AbortSignal,
  ): Promise<{ ok: boolean }>;
  /**
   * Runs the cases of these files, or those beside the config, with the config and the mappings as they are on the disk.
   *
   * @throws Fault `cases.missing`, `cases.invalid`, `cases.stopped`, `daemon.busy`, or a fault of the config or its mappings
   */
  testCases(files: readonly string[], abort: AbortSignal): Promise<Tested>;
  /** Stores corrected rows of one stream, after the runs of its source have ended. */
  correct(
    rows: { source: string; stream: string; rows: readonly Correction[]; askedBy?: string },
    abort: AbortSignal,
  ): Promise<CorrectionResult>;
  /** Interrupts the present run of a source between two pages. False if no run is under way. */
  stopRun(source: string): boolean;
}

/** Reloads, backups and pauses of a daemon. */
export interface Care {
  lastReload(): ReloadStatus | null;
  /**
   * Reads the config and all files that it names again. Replaces either all settings or none.
   *
   * @param accept true to use the config that waits for a person
   */
  reload(cause: 'person', accept?: boolean): Promise<Reloaded>;
  backups: { list(): Promise<BackupFile[]>; backUpNow(): Promise<BackupFile> };
  /** The end of the present pause of a source, in milliseconds since the epoch, or Infinity; null if the source is not paused. */
  pausedUntil(source: string): number | null;
}

/** The answer to a reload. */
export interface Reloaded extends ReloadStatus {
  /** The settings that were replaced, as paths in the config: `sources.erp`, `passports`, `target.maxRate`. */
  changed: string[];
  /**
   * Sources whose run is under way. The run ends with the settings with which it began; the new settings are used after
   * that.
   */
  after: string[];
  /** What it changes in the stored rows, by the source that has the items. Null if that was not counted. */
  effects: Record<string, EffectCounts> | null;
  /** How many public passports then differ from their products. */
  publicPassports: number;
}

/** What a daemon shows about itself. */
export interface DaemonView {
  version: string;
  log: Logger;
  startedAt: number;
  health: { check(): Promise<HealthReport> };
  activity: {
    requestsPerSecond(): number;
    deliveredPerSecond(): number;
    /** The latencies of the last minutes. */
    latencies(): LatenciesByOperation;
  };
  /** Requests a second that the API allows, as far as it is known. */
  learntRate(): number | null;
  /** The deliveries by stage. */
  stages(): Promise<StageCounts>;
  /** What is still to be sent. The counts may be some seconds old. */
  left(): Promise<LeftToSend>;
  nextRun(source: string): number | null;
  /** Why the daemon may not write to its ledger any more and has to end; null while it may. */
  ledgerLost(): Fault | null;
  /** The sources that are being pulled at the moment. */
  running(): string[];
}

export interface SyncRequest {
  /** The ids of the sources; an empty list stands for all sources. */
  sources: readonly string[];
  /** How long the API, a list that is needed, or the queue may be out of reach before the sync ends. */
  waitMs: number;
  abort: AbortSignal;
  /** False to read no source and to deliver only the work that is in the ledger, as after a replay. */
  pull?: boolean;
  /** The file of a plan: exactly this plan is applied, or nothing is. */
  plan?: string | undefined;
  /** The sources whose guarded reads, held runs and blocked changes a person accepts when the sync begins. */
  accept?: readonly string[];
  /** The numbers of the held runs that are meant; without it, those that are held when the sync begins. */
  approve?: readonly number[] | undefined;
  /**
   * The sync waits for the deliveries of these sources or products; if undefined, for all deliveries. A daemon also sends
   * other deliveries, and its schedules add new ones, so a sync that waited for all deliveries might never end.
   */
  of?: WorkOf | undefined;
  /** Who has asked for the sync. */
  askedBy?: string | undefined;
}

export interface SyncReport extends LedgerStanding {
  runs: StreamAccount[];
  items: ItemCounts;
  /** The sources whose mapping has changed, with the number of stored rows that the sync has mapped again. */
  remapped: { source: string; rows: number }[];
  /** What a person has accepted; null if nothing was to be accepted. */
  accepted: Acceptance | null;
  requests: RequestCounts;
  durationMs: number;
  /** Why the sync did not finish: a source, the API, the queue, or a person who stopped it. */
  fault: Fault | null;
  /** Problems that a person should know and that did not stop the sync. */
  warnings: string[];
  waitingFor: WaitingGroup[];
  /** Items that were not sent. */
  left: number;
}

/** The report of a sync, as plain JSON. */
export interface Synced extends Omit<SyncReport, 'fault'> {
  fault: Failure | null;
  attention: Attention;
}

/** What a person has accepted: guarded reads, held runs, and blocked changes of adopted items. */
export interface Acceptance {
  sources: readonly string[];
  /** Reads that the guard treats as broken exports. */
  guarded: GuardedRead[];
  /** Runs that exceeded the bounds of their sources. */
  held: HeldRun[];
  /** How many changes of adopted items were blocked. */
  adopted: { source: string; kind: ItemKind; count: number }[];
}
