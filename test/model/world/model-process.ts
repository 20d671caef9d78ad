import { createApiClient } from '../../../src/api/api-client.ts';
import { wireFormsOf } from '../../../src/api/encode.ts';
import type { Transport } from '../../../src/api/transport.ts';
import { createAuthorizationWatch } from '../../../src/daemon/authorization-watch.ts';
import { createDelivery } from '../../../src/delivery/create-delivery.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate } from '../../../src/delivery/rate/request-gate.ts';
import type { ImportProof } from '../../../src/domain/delivery/import-proof.ts';
import type { PassportAnswer, PassportRules } from '../../../src/domain/passport.ts';
import type { Ledger } from '../../../src/domain/ports/ledger/ledger.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { Queues } from '../../../src/domain/ports/queues.ts';
import type { Profile } from '../../../src/domain/profile.ts';
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { createMapping } from '../../../src/pipeline/map-queue.ts';
import { pull } from '../../../src/pipeline/pull.ts';
import { type ReplayRequest, replay } from '../../../src/pipeline/replay.ts';
import { GUARDS_NOTHING } from '../../support/ledger/ledger.ts';
import { syncedBySqlite } from '../../support/time/synced-by-sqlite.ts';
import type { VirtualTime } from '../../support/time/virtual-time.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import type { Milestones } from '../script/milestones.ts';
import type { Fence } from './fence.ts';
import { type ModelSource, SOURCE, UNSENDABLE } from './model-source.ts';

export const MODEL_KEY = 'dpp_model0123456789abcdefghij';
export const BASE_URL = 'http://127.0.0.1:9';

/**
 * One process that works on the ledger: the parts of src/daemon/runtime.ts, composed in the same way, behind a fence.
 */
export interface ModelProcess {
  ledger: Ledger;
  /** Pulls the source, unless a pull is running. */
  pull(): Promise<void>;
  replay(request: ReplayRequest): Promise<void>;
  askFor(products: readonly string[], status: 'published' | 'unpublished'): Promise<PassportAnswer[]>;
  wake(): void;
  isPulling(): boolean;
  /** True when no work is left that needs no person. */
  isAtRest(): Promise<boolean>;
  /** The errors in its log, without refusals of the key. */
  errors(): string[];
  /** Closes the file without writing what is left. Call it after the death of the process. */
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
  /** The import proof that a new ledger begins with. */
  proof: ImportProof;
  /** Whether the config says that the platform has no items. */
  assumesEmpty: boolean;
  reach: Milestones['reach'];
}

export function startModelProcess(options: ModelProcessOptions): { process: ModelProcess; started: Promise<void> } {
  const { file, profile, rules, fence, time, random, source, reach } = options;
  const clock = fence.around(time);
  const queues = fence.around(options.queues);
  const log = createRecordingLog();
  const secrets = createSecretStore();
  const gate = createRequestGate(createLearntRate(null, random), clock);
  const { target, reader } = createApiClient({
    baseUrl: BASE_URL,
    profile,
    apiKey: { read: () => Promise.resolve(MODEL_KEY) },
    secrets,
    pacing: gate,
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
    forms: wireFormsOf(profile),
    passportRules: rules,
    contactRules: { firstContact: options.assumesEmpty ? 'assume-empty' : 'list', bom: 'ask' },
    guardOf: () => GUARDS_NOTHING,
    encode(write) {
      assertSendable([write.payload]);
      return target.encode(write);
    },
    encodeImport(members) {
      assertSendable(members);
      return target.encodeImport(members);
    },
    clock: time,
    command: 'model',
  });
  const fenced: Ledger = fence.around(opened);
  const ledger: Ledger = {
    ...fenced,
    async claim(requests) {
      const claimed = await fenced.claim(requests);
      if (claimed.length > 1) reach('several requests were claimed in one commit');
      for (const { operation, members } of claimed) {
        const isNew = operation === 'product.import' && members[0]?.operation === 'product.create';
        if (isNew)
          reach(members.length > 1 ? 'new products were sent in one import' : 'one new product was sent in an import');
      }
      if (claimed.length < requests.length) reach('a claim left out what had changed');
      return claimed;
    },
    async settle(requests) {
      const settled = await fenced.settle(requests);
      if (requests.length > 1) reach('several requests were settled in one commit');
      if (settled.some(({ applied }) => !applied)) reach('a settlement changed nothing, since it was stale');
      return settled;
    },
    async deadLetter(request) {
      await fenced.deadLetter(request);
      reach('a delivery that cannot be sent was dead-lettered');
    },
    async recheckBlocked(request) {
      const found = await fenced.recheckBlocked(request);
      for (let staged = 0; staged < found.staged; staged += 1) reach('a blocked delivery was asked again by itself');
      return found;
    },
  };

  const listeners: ((event: ProgressEvent) => void)[] = [];
  const emit = (event: ProgressEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const mapper = source.mapper();
  const mapping = createMapping({ clock, queues, ledger, mapperOf: () => mapper, emit });
  const { mapQueue } = mapping;
  let pulling = 0;
  let wasOpen = false;

  function lookForOutage(): void {
    const isOpen = health.openSince() !== null;
    if (isOpen && !wasOpen) reach('a breaker opened');
    wasOpen = isOpen;
  }

  const { engine, health, passports, ...delivery } = createDelivery({
    ledger,
    queues,
    target,
    reader,
    profile,
    clock,
    random,
    emit,
    log,
    scrub: (text) => text,
    connections: 32,
    gate,
    assumesEmpty: options.assumesEmpty,
    ownPublishKey: false,
    failedJobs: null,
    isStaging: () => pulling > 0 || mapping.busy(),
    async eachRound() {
      lookForOutage();
      await mapping.look();
    },
  });
  listeners.push(({ type }) => {
    if (type === 'mapped') delivery.itemsMapped();
    if (type === 'request') lookForOutage();
  });
  const gateWatch = createAuthorizationWatch({
    api: health,
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
        const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
        const request = { source: SOURCE, trigger: 'cli' as const, reader: source.reader(), omit: [], guard };
        const wait = { clock, waitMs: 0, onPause: () => undefined };
        const mapStored = async (changed: string): Promise<void> => {
          if (ledger.pendingSources().includes(changed)) await mapQueue.mapStored(changed);
        };
        const working = { ledger, emit, mapQueue: { ...mapQueue, mapStored }, clock, wait };
        await pull(
          { ...request, mapper, onMissing: 'flag', snapshotEveryMs: Number.POSITIVE_INFINITY },
          working,
          abort.signal,
        );
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
      const answers = await ledger.askForPassports({ products, status });
      engine.wake();
      return answers;
    },
    // `settle` is a separate command, and the next process evaluates all passports.
    wake() {
      passports.markDirty();
      engine.wake();
    },
    isPulling: () => pulling > 0,
    async isAtRest() {
      // A list that could not be used is read again after some minutes, which pass quickly here.
      if ((await ledger.contactSteps()).length > 0) return false;
      const { outstanding, nextDueAt, trouble } = await engine.status();
      if (outstanding > 0 || nextDueAt !== null || trouble !== null) return false;
      return pulling === 0 && !mapping.busy() && health.authorization().open && health.refused().size === 0;
    },
    errors: () =>
      log.lines.filter(({ level }) => level === 'error').map(({ message, fields }) => message + JSON.stringify(fields)),
    discard: () => opened.close(),
  };

  function assertSendable(payloads: readonly JsonObject[]): void {
    if (payloads.some(({ name }) => name === UNSENDABLE)) throw new Error('This cannot be encoded.');
  }

  async function start(): Promise<void> {
    await ledger.recover(profile.settlingDelayMs.reset);
    if ((await opened.importProofs()).creates.state === 'untried')
      await opened.storeImportProof('creates', options.proof);
    await mapQueue.start();
    await engine.start();
    gateWatch.start();
  }
  return { process, started: start() };
}
