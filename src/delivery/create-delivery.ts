import type { Ledger } from '../domain/ports/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { PlatformReader } from '../domain/ports/platform.ts';
import type { Emit, ProgressEvent } from '../domain/ports/progress.ts';
import type { Queues } from '../domain/ports/queues.ts';
import type { Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging.ts';
import { type Breaker, createBreaker } from './admission/breaker.ts';
import { createCreatePause } from './admission/create-pause.ts';
import { createPacer, type Pacer } from './admission/pacer.ts';
import { createPing } from './admission/ping.ts';
import { createRetryBudget } from './admission/retry-budget.ts';
import { suspendedBy } from './admission/suspended-work.ts';
import { createTargetGate, type TargetGate } from './admission/target-gate.ts';
import { createDeliverer } from './deliverer.ts';
import { createEngine, type Engine } from './engine.ts';
import { createFailedJobs, type FailedJobsOptions } from './failed-jobs.ts';
import { createFeeder } from './feeder.ts';
import { createFirstContact } from './first-contact.ts';
import { createPassports, type Passports } from './passports.ts';
import { createPlatformRequests, type PlatformRequests } from './platform-requests.ts';
import { createRateController, type RateController } from './rate/rate-controller.ts';
import { createRecheck, type Recheck } from './recheck.ts';
import { createDoubts, type Doubts } from './unconfirmed/doubts.ts';

/** What the delivery of items needs from the process that it runs in. */
export interface DeliveryOptions {
  ledger: Ledger;
  queues: Queues;
  target: Target;
  reader: PlatformReader;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
  emit: Emit;
  log: Logger;
  /** Takes secrets out of a text that is stored (I7). */
  scrub: (text: string) => string;
  /** How many requests may be under way at once. */
  connections: number;
  /** Requests per second at most, or null for no ceiling. */
  maxRate: number | null;
  /** Whether publishing has an API key of its own. */
  ownPublishKey: boolean;
  /** Null where nobody looks at the failed jobs of the queue. */
  failedJobs: { views: LedgerViews; replay: FailedJobsOptions['replay'] } | null;
  /** Work beside the deliveries that has to go on as long as they do. Called at intervals. */
  eachRound: () => Promise<void>;
  /** Whether more deliveries may be staged soon: a source is being read or mapped. Passports wait for the end of that. */
  isStaging: () => boolean;
}

/** Everything that brings deliveries from the ledger to the platform, put together. */
export interface Delivery {
  engine: Engine;
  gate: TargetGate;
  breaker: Breaker;
  pacer: Pacer;
  controller: RateController;
  ping: ReturnType<typeof createPing>;
  passports: Passports;
  recheck: Recheck;
  /** Requests that people make beside the deliveries. */
  platform: PlatformRequests;
  /** The list that could not be read for the longest time; null where every list was read the last time. */
  unreadable: Doubts['unreadable'];
  /** Items were mapped, so that deliveries may be due and passports need evaluation. */
  itemsMapped(): void;
}

/** Puts the parts together. Nothing is sent before the engine is started. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { ledger, queues, target, profile, clock, random, log, scrub } = options;
  const passports = createPassports({ ledger, now: () => clock.ticks() });
  const recheck = createRecheck({ ledger, now: () => clock.ticks() });
  const emit = (event: ProgressEvent): void => {
    options.emit(event);
    if (event.type === 'settled' || event.type === 'adopted') passports.stir();
  };

  const gate = createTargetGate(clock, { ownPublishKey: options.ownPublishKey });
  const controller = createRateController(options.maxRate, random);
  const breaker = createBreaker(random);
  const ping = createPing({ target, gate, emit });
  const pacer = createPacer({ controller, breaker, ping, concurrency: options.connections, clock });
  const retries = createRetryBudget();
  const pause = createCreatePause(clock);
  const held = () => suspendedBy(gate.refused().keys(), profile, pause.operations());
  const parts = { ...options, emit, pacer, breaker, retries, gate, pause };

  const feeder = createFeeder({ ledger, queues, held, breaker, random });
  const deliverer = createDeliverer(parts);
  const doubts = createDoubts(parts);
  const contact = createFirstContact(parts);
  const failedJobs = options.failedJobs && createFailedJobs({ queues, ...options.failedJobs });

  async function eachRound(): Promise<void> {
    await options.eachRound();
    if ((await recheck.look()) > 0) engine.wake();
    const atRest = !options.isStaging() && feeder.outstanding() === 0;
    if ((await passports.look(atRest)) > 0) engine.wake();
  }

  const engine = createEngine({
    ledger,
    queues,
    feeder,
    deliverer,
    doubts,
    contact,
    gate,
    held,
    failedJobs,
    clock,
    log,
    concurrency: JOBS_MAX,
    scrub,
    eachRound,
  });

  return {
    engine,
    gate,
    breaker,
    pacer,
    controller,
    ping,
    passports,
    recheck,
    platform: createPlatformRequests(parts),
    unreadable: () => doubts.unreadable() ?? contact.unreadable(),
    itemsMapped() {
      passports.stir();
      engine.wake();
    },
  };
}

/** How many jobs of the `deliver` queue are processed at once. */
const JOBS_MAX = 8;
