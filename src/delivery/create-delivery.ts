import { OPERATIONS } from '../domain/delivery/operation.ts';
import type { ContactLedger } from '../domain/ports/ledger/contact-ledger.ts';
import type {
  DeliveryLedger,
  ImportLedger,
  PassportLedger,
  UnconfirmedLedger,
} from '../domain/ports/ledger/delivery-ledger.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { Emit, ProgressEvent } from '../domain/ports/progress.ts';
import type { Queues } from '../domain/ports/queues.ts';
import type { PlatformReader, Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import { type Clock, createWake } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { createAdmission } from './admission/admission.ts';
import { createApiHealth } from './admission/api-health.ts';
import { suspendedBy } from './admission/authorization.ts';
import { createRetryBudget } from './admission/retry-budget.ts';
import { createLoneWrites, createScopeProbe } from './admission/sent-alone.ts';
import { createClaims, createDeliveryPath } from './delivery-path.ts';
import { createDeliveryWindow } from './delivery-window.ts';
import { createDispatcher } from './dispatcher.ts';
import { createEchoes } from './echoes.ts';
import { createEngine } from './engine.ts';
import { createDeadLetter, createFailedJobs, type FailedJobsOptions } from './failed-jobs.ts';
import { createFirstContact } from './first-contact.ts';
import { createBulkImports } from './imports/bulk-imports.ts';
import { createPassports } from './passports.ts';
import { createPlatformRequests } from './platform-requests.ts';
import type { RequestGate } from './rate/request-gate.ts';
import { createRecheck } from './recheck.ts';
import { createCreatePause } from './unconfirmed/list-read-back.ts';
import { createUnconfirmedResolver } from './unconfirmed/unconfirmed-resolver.ts';

/** What the delivery of items needs from its process. */
export interface DeliveryOptions {
  ledger: DeliveryLedger & UnconfirmedLedger & ContactLedger & ImportLedger & Pick<PassportLedger, 'evaluatePassports'>;
  queues: Queues;
  target: Target;
  reader: PlatformReader;
  profile: Profile;
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
  emit: Emit;
  log: Logger;
  /** Removes secrets from a text before it is stored (I7). */
  scrub: (text: string) => string;
  /** How many requests may be under way at once. */
  connections: number;
  /** The gate through which every request goes, also those of `target` and `reader`. */
  gate: RequestGate;
  /** True if the config says that the platform is empty, so that products and materials are not listed. */
  assumesEmpty: boolean;
  /** Whether publishing has a separate API key. */
  ownPublishKey: boolean;
  /** Describes the operation and the item of a delivery, for the log. */
  reads?: Pick<Reads, 'delivery'>;
  /** Null in a process that does not show failed jobs. */
  failedJobs: { reads: Reads; replay: FailedJobsOptions['replay'] } | null;
  /** Called at intervals for work that has to continue beside the deliveries. */
  eachRound: () => Promise<void>;
  /**
   * True while a source is read or mapped, so that more deliveries may be staged soon. Passports are evaluated when it
   * becomes false.
   */
  isStaging: () => boolean;
}

/** At most this many full imports of new products may be received or in flight. */
const IMPORTS_AT_ONCE = 8;

/**
 * The parts that bring deliveries from the ledger to the platform.
 *
 * Builds the parts and connects them. Nothing is sent before the engine is started.
 */
export function createDelivery(options: DeliveryOptions) {
  const { ledger, queues, profile, gate, clock } = options;
  const passports = createPassports({ ledger, now: () => clock.ticks() });
  const recheck = createRecheck({ ledger, now: () => clock.ticks() });
  const emit = (event: ProgressEvent): void => {
    options.emit(event);
    if (event.type === 'settled' || event.type === 'adopted') passports.markDirty();
  };

  const health = createApiHealth({ ...options, rate: gate, emit });
  const retries = createRetryBudget();
  const pause = createCreatePause(clock);
  const bulk = createBulkImports({
    ledger,
    profile,
    canRead: () => health.allows('product.list'),
    canShowChanges: () => readable('product.import') === 'yes',
    canImport: () => health.allows('product.import'),
    clock,
  });
  /** How many callers of `holdWrites` let no write begin. */
  let holds = 0;
  const paused = () => (holds > 0 ? OPERATIONS : [...pause.operations(), ...bulk.paused()]);
  const suspended = () => suspendedBy(health.refused().keys(), profile, paused());
  const echoes = createEchoes(ledger);
  const wakes = { engine: createWake(clock), admission: createWake(clock) };
  const parts = { ...options, emit, wakes, health, retries, pause, bulk, echoes };
  const unconfirmed = createUnconfirmedResolver(parts);
  const { readable } = unconfirmed;
  const contact = createFirstContact(parts);
  const failedJobs = options.failedJobs && createFailedJobs({ queues, ...options.failedJobs });

  const window = createDeliveryWindow({
    importMembers: () => (bulk.sizeMax('product.create') > 1 ? IMPORTS_AT_ONCE : 1) * profile.imports.membersMax,
    wakes,
    clock,
  });
  const dispatcher = createDispatcher({ ...parts, window, failedJobs, suspended });
  const probe = createScopeProbe({ authorization: health, ledger });
  const admission = createAdmission({ ...parts, window, probe, alone: createLoneWrites(parts), paused });
  const deadLetter = createDeadLetter(options);
  const claims = createClaims({ ...parts, window, admission, deadLetter });
  const path = createDeliveryPath({ ...parts, readable, window, dispatcher, admission, claims, deadLetter });
  const beside = { unconfirmed, contact, recheck, passports, failedJobs };
  const engine = createEngine({ ...parts, ...beside, window, dispatcher, claims, path, suspended });

  function holdWrites(): () => void {
    holds += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      holds -= 1;
      engine.wake();
    };
  }

  return {
    engine,
    health,
    window,
    path,
    unconfirmed,
    contact,
    passports,
    recheck,
    /** Requests that people make beside the deliveries. */
    platform: createPlatformRequests(parts),
    /** Of the lists whose last read failed, the one that has failed for the longest time; null if there is none. */
    unreadable: () => unconfirmed.unreadable() ?? contact.unreadable(),
    /** The operations that wait until a list shows the products of an import. */
    proving: () => bulk.proving(),
    /** Replaces the configured ceiling in requests per second; null for none. */
    setMaxRate(maxRate: number | null) {
      gate.setCeiling(maxRate);
      wakes.admission.wake();
    },
    /**
     * Lets no write begin. Lists are read meanwhile, and requests in flight end.
     *
     * @returns a function that ends the hold
     */
    holdWrites,
    /** Call it after items were mapped: deliveries may be due, and passports need evaluation. */
    itemsMapped() {
      passports.markDirty();
      engine.wake();
    },
  };
}

export type Delivery = ReturnType<typeof createDelivery>;
