import { createApiClient } from '../../../src/api/api-client.ts';
import type { Transport } from '../../../src/api/transport.ts';
import { createGateWatch } from '../../../src/daemon/gate-watch.ts';
import { type Breaker, createBreaker } from '../../../src/delivery/admission/breaker.ts';
import { createCreatePause } from '../../../src/delivery/admission/create-pause.ts';
import { createPacer } from '../../../src/delivery/admission/pacer.ts';
import { createPing } from '../../../src/delivery/admission/ping.ts';
import { createRetryBudget } from '../../../src/delivery/admission/retry-budget.ts';
import { suspendedBy } from '../../../src/delivery/admission/suspended-work.ts';
import { createTargetGate } from '../../../src/delivery/admission/target-gate.ts';
import { createDeliverer } from '../../../src/delivery/deliverer.ts';
import { createEngine } from '../../../src/delivery/engine.ts';
import { createFeeder } from '../../../src/delivery/feeder.ts';
import { createFirstContact } from '../../../src/delivery/first-contact.ts';
import { createPassports } from '../../../src/delivery/passports.ts';
import { createRateController } from '../../../src/delivery/rate/rate-controller.ts';
import { createRecheck } from '../../../src/delivery/recheck.ts';
import { createUnconfirmedResolver } from '../../../src/delivery/unconfirmed/unconfirmed-resolver.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type { Ledger } from '../../../src/domain/ports/ledger.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { Queues } from '../../../src/domain/ports/queues.ts';
import type { Profile } from '../../../src/domain/profile.ts';
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { createSecretStore } from '../../../src/lib/secrets.ts';
import { createMapWorker } from '../../../src/pipeline/map.ts';
import { createMapQueue } from '../../../src/pipeline/map-queue.ts';
import { pull } from '../../../src/pipeline/pull.ts';
import { type ReplayRequest, replay } from '../../../src/pipeline/replay.ts';
import { createRecordingLog } from '../recording-log.ts';
import { syncedBySqlite } from '../synced-by-sqlite.ts';
import type { Fence } from './fence.ts';
import type { Milestones } from './milestones.ts';
import { type ModelSource, SOURCE } from './model-source.ts';
import type { VirtualTime } from './virtual-time.ts';

export const MODEL_KEY = 'dpp_model0123456789abcdefghij';
export const BASE_URL = 'http://127.0.0.1:9';

/** One process at work on the ledger: the parts of src/daemon/runtime.ts, put together as there, behind a fence. */
export interface ModelProcess {
  ledger: Ledger;
  /** Pulls the source, unless that goes on already. */
  pull(): Promise<void>;
  replay(request: ReplayRequest): Promise<void>;
  askFor(products: readonly string[], status: 'published' | 'unpublished'): Promise<void>;
  wake(): void;
  isPulling(): boolean;
  /** True when nothing can go on by itself. */
  isAtRest(): Promise<boolean>;
  /** What it logged as an error, beside refusals of the key. */
  errors(): string[];
  /** Lets go of the file, whatever is still to be written. Once it is dead. */
  discard(): Promise<void>;
}

export interface ModelProcessOptions {
  file: string;
  profile: Profile;
  rules: PassportRules;
  fence: Fence;
  time: VirtualTime;
  random: () => number;
  transport: Transport;
  queues: Queues;
  source: ModelSource;
  reach: Milestones['reach'];
}

export function startModelProcess(options: ModelProcessOptions): { process: ModelProcess; started: Promise<void> } {
  const { file, profile, rules, fence, time, random, source, reach } = options;
  const clock = fence.around(time);
  const queues = fence.around(options.queues);
  const log = createRecordingLog();
  const secrets = createSecretStore();
  const { target, reader } = createApiClient({
    baseUrl: BASE_URL,
    profile,
    apiKey: { read: () => Promise.resolve(MODEL_KEY) },
    secrets,
    clock,
    log,
    version: '0.0.0',
    random,
    transport: fence.around(options.transport),
  });
  const opened = openSqliteLedger({
    openLog: syncedBySqlite,
    file,
    target: BASE_URL,
    profile,
    passportRules: rules,
    contactRules: { firstContact: 'list', bom: 'ask' },
    encode: target.encode.bind(target),
    encodeImport: target.encodeImport.bind(target),
    clock: time,
    command: 'model',
  });
  const { views } = opened;
  const ledger: Ledger = fence.around(opened);

  const listeners: ((event: ProgressEvent) => void)[] = [];
  const emit = (event: ProgressEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const gate = createTargetGate(clock);
  const controller = createRateController(null, random);
  const breaker = telling(createBreaker(random), () => reach('a breaker opened'));
  const ping = createPing({ target, gate, emit });
  const pacer = createPacer({ controller, breaker, ping, concurrency: 32, clock });
  const pause = createCreatePause(clock);
  const held = () => suspendedBy(gate.refused().keys(), profile, pause.operations());
  const feeder = createFeeder({ ledger, queues, held, breaker, random });
  const retries = createRetryBudget();
  const delivering = { ledger, target, pacer, breaker, retries, gate, pause, profile, clock, random, emit };
  const deliverer = createDeliverer(delivering);
  const doubts = createUnconfirmedResolver({ ...delivering, reader });
  const contact = createFirstContact({ ...delivering, reader, log });
  const passports = createPassports({ ledger, now: () => clock.ticks() });
  const recheck = createRecheck({
    ledger: {
      async recheckBlocked(request) {
        const found = await ledger.recheckBlocked(request);
        for (let staged = 0; staged < found.staged; staged += 1) reach('a blocked delivery was asked again by itself');
        return found;
      },
    },
    now: () => clock.ticks(),
  });
  const mapper = source.mapper();
  const worker = createMapWorker({ ledger, mapperOf: () => mapper, emit });
  const mapQueue = createMapQueue({ queues, worker });
  const mapping = (): boolean => mapQueue.busy() || views.pendingSources().length > 0;
  let pulling = 0;

  const engine = createEngine({
    ledger,
    queues,
    feeder,
    deliverer,
    doubts,
    contact,
    gate,
    held,
    failedJobs: null,
    clock,
    log,
    concurrency: 8,
    scrub: (text) => text,
    async eachRound() {
      await mapQueue.watch(views.pendingSources());
      if ((await recheck.stageNext()) > 0) engine.wake();
      const atRest = pulling === 0 && !mapping() && feeder.outstanding() === 0;
      if ((await passports.evaluateAtRest(atRest)) > 0) engine.wake();
    },
  });
  listeners.push(({ type }) => {
    if (type === 'settled' || type === 'mapped' || type === 'adopted') passports.markDirty();
    if (type === 'mapped') engine.wake();
  });
  const gateWatch = createGateWatch({
    gate,
    target,
    onReopen: () => engine.wake(),
    emit,
    clock,
    log,
    intervalMs: 2000,
  });
  const abort = new AbortController();

  const process: ModelProcess = {
    ledger,
    async pull() {
      if (pulling > 0) return;
      pulling += 1;
      try {
        const guard = { maxMissing: 1, maxDrop: 1 };
        const request = { source: SOURCE, trigger: 'cli' as const, reader: source.reader(), omit: [], guard };
        const onChanged = async (changed: string): Promise<void> => {
          if (views.pendingSources().includes(changed)) await mapQueue.enqueue(changed);
        };
        const { revision: mappingRevision } = mapper;
        const patience = { clock, waitMs: 0, onPause: () => undefined };
        const working = { ledger, emit, onChanged, patience };
        await pull({ ...request, mappingRevision, ignoreMissing: false }, working, abort.signal);
      } finally {
        pulling -= 1;
        passports.markDirty();
      }
    },
    async replay(request) {
      await replay(request, { ledger, mapperOf: () => mapper });
      engine.wake();
    },
    async askFor(products, status) {
      await ledger.askForPassports({ products, status });
      engine.wake();
    },
    // `settle` is a command of its own: the process that comes after it judges all passports.
    wake() {
      passports.markDirty();
      engine.wake();
    },
    isPulling: () => pulling > 0,
    async isAtRest() {
      // A list that was of no use is looked at again after some minutes, which pass quickly here.
      if ((await ledger.contactSteps()).length > 0) return false;
      const { outstanding, nextDueAt, trouble } = await engine.status();
      if (outstanding > 0 || nextDueAt !== null || trouble !== null) return false;
      return pulling === 0 && !mapping() && gate.state().open && gate.refused().size === 0;
    },
    errors: () =>
      log.lines.filter(({ level }) => level === 'error').map(({ message, fields }) => message + JSON.stringify(fields)),
    discard: () => opened.close(),
  };

  async function start(): Promise<void> {
    await ledger.recover(profile.settlingDelayMs.reset);
    await mapQueue.start();
    await engine.start();
    gateWatch.start();
  }
  return { process, started: start() };
}

/** The breaker, telling when it opens. */
function telling(breaker: Breaker, onOpen: () => void): Breaker {
  let wasOpen = false;
  const look = (): void => {
    const isOpen = breaker.openSince() !== null;
    if (isOpen && !wasOpen) onOpen();
    wasOpen = isOpen;
  };
  return {
    ...breaker,
    admit(now) {
      const waitMs = breaker.admit(now);
      look();
      return waitMs;
    },
    observe(signal, now) {
      breaker.observe(signal, now);
      look();
    },
  };
}
