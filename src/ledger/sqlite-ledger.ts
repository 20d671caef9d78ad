import { randomUUID } from 'node:crypto';
import { fault } from '../domain/faults.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import type { PageToStage } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { noteApiWait } from './api-wait.ts';
import { createClaims } from './claims.ts';
import { openDatabase, openDatabaseReadOnly, type Sqlite } from './database.ts';
import { createDoubtful } from './doubtful.ts';
import { createDue } from './due.ts';
import { createFollowClock } from './follow-clock.ts';
import { createFollowProfile } from './follow-profile.ts';
import { createGroupCommit } from './group-commit.ts';
import { assertNotGone, assertNotRestored, createHighWater, type HighWater } from './high-water.ts';
import { createImports } from './imports.ts';
import { createIntake } from './intake.ts';
import { createItems } from './items.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import { acquireLock, type LedgerHolder, type LedgerLock } from './lock.ts';
import { createLogSync, type LogSync } from './log-sync.ts';
import { createMeta, type Meta } from './meta.ts';
import { createNamedDoubts } from './named-doubts.ts';
import { createPassports } from './passports.ts';
import { createPrune } from './prune.ts';
import { createPutAside } from './put-aside.ts';
import { createRecheck } from './recheck.ts';
import { createReplay } from './replay.ts';
import { createRestored } from './restored.ts';
import { createSettles } from './settles.ts';
import { createStaging } from './staging.ts';
import { createViews } from './views.ts';

export interface SqliteLedgerOptions {
  file: string;
  /** The API's base URL; the ledger is bound to it. */
  target: string;
  profile: Profile;
  passportRules: PassportRules;
  encode: Encode;
  encodeImport: EncodeImport;
  clock: Clock;
  /** The command that holds the ledger, for the message that another process gets. */
  command: string;
  /** How what is committed comes to the disk; a test in virtual time does not wait for a real one. */
  openLog?: (db: Sqlite, file: string) => LogSync;
}

/** The ledger on SQLite, together with its read side and the id that names it to the queues. */
export interface SqliteLedger extends Ledger {
  /** Random, fixed for the file's life. */
  id: string;
  views: LedgerViews;
  /** Why this process may write to the ledger no more, or null while it may: that never mends itself. */
  lost(): Fault | null;
}

/**
 * Opens the ledger for writing, as its only writer.
 *
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.unwritable`, `ledger.newer` or `ledger.restored`
 */
export function openSqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  const { file, target, clock } = options;
  const lock = acquireLock(file, () => readHolder(file));
  let db: Sqlite | null = null;
  let highWater: HighWater | null = null;
  try {
    assertNotGone(file);
    db = openDatabase(file);
    assertNotRestored(db, file);
    const meta = createMeta(db);
    const id = meta.getOrCreate('id', randomUUID);
    const epoch = meta.getOrCreate('epoch', randomUUID);
    bindTarget(
      meta.getOrCreate('target', () => target),
      target,
      file,
    );
    meta.set(
      'holder',
      JSON.stringify({ pid: process.pid, command: options.command, since: new Date(clock.now()).toISOString() }),
    );
    highWater = createHighWater(db, file, id);
    const log = (options.openLog ?? createLogSync)(db, file);
    return compose(db, { id, meta, highWater, log, lock }, { ...options, epoch });
  } catch (error) {
    highWater?.close();
    db?.close();
    lock.release();
    throw ledgerFaultOf(error) ?? error;
  }
}

/** Opens the ledger's read side beside whoever writes. Null where there is no ledger yet. */
export function openLedgerViews(options: {
  file: string;
  passportRules: PassportRules;
}): { id: string; views: LedgerViews; close(): void } | null {
  const db = openDatabaseReadOnly(options.file);
  if (!db) return null;
  return {
    id: createMeta(db).get('id') ?? '',
    views: createViews(db, options.passportRules),
    close: () => void db.close(),
  };
}

export function readHolder(file: string): LedgerHolder | null {
  const db = openDatabaseReadOnly(file);
  if (!db) return null;
  try {
    const text = createMeta(db).get('holder');
    return text === null ? null : (JSON.parse(text) as LedgerHolder);
  } finally {
    db.close();
  }
}

/** @throws Fault `ledger.target` */
export function bindTarget(bound: string, asked: string, file: string): void {
  if (bound === asked) return;
  throw fault('ledger.target', `The ledger ${file} belongs to ${bound}, and the config names ${asked}.`, {
    path: 'target.baseUrl',
    suggestion:
      'Remote ids and idempotency keys of one API mean nothing at another: name a ledger file of its own for it.',
  });
}

function compose(
  db: Sqlite,
  { id, meta, highWater, log, lock }: { id: string; meta: Meta; highWater: HighWater; log: LogSync; lock: LedgerLock },
  options: SqliteLedgerOptions & { epoch: string },
): SqliteLedger {
  const { clock, profile, passportRules, epoch, target } = options;
  const context = { db, clock, profile, passportRules, epoch, target };
  const restored = createRestored(context);
  const items = createItems(context, restored);
  const intake = createIntake(context, restored);
  const staging = createStaging(context, items);
  const imports = createImports(context, options.encodeImport);
  const due = createDue(context);
  const passports = createPassports(context, items);
  const claims = createClaims(context, { imports, passports }, options.encode);
  const settles = createSettles(context, { items, imports, passports, restored });
  const putAside = createPutAside(context, { items, imports, settles });
  const doubtful = createDoubtful(context, items);
  const followProfile = createFollowProfile(context, items);
  const replay = createReplay(context, { items, imports, restored }, staging);
  const recheck = createRecheck(context, { items, passports });
  const named = createNamedDoubts(context);
  const prune = createPrune(context);
  const commit = createGroupCommit(db, { highWater, log, lost: () => lock.lost() });
  const followClock = createFollowClock({ db, clock, commit });

  /** A read that compares times with the present. */
  async function timely<T>(read: () => T): Promise<T> {
    await followClock.notice();
    return reading(read);
  }

  return {
    id,
    views: createViews(db, passportRules),
    lost: () => commit.failed() ?? lock.lost(),
    recover: (settlingDelayMs) =>
      commit.run(() => {
        followClock.atStart();
        const voided = doubtful.voidLeases(settlingDelayMs);
        followProfile();
        return { voided };
      }),
    startRun: (start) => commit.run(() => intake.startRun(start)),
    async stagePage(page) {
      const passed = mayPassOver(page) ? reading(() => intake.passOver(page)) : null;
      const { changed, ids } =
        passed === null ? await commit.run(() => intake.stagePage(page)) : { changed: 0, ids: passed };
      // A page that could not be stored is staged again, and its rows must not pass for repeated ones then.
      for (const id of ids) page.seen.add(id);
      return { changed, counted: passed === null };
    },
    endStream: (end) => commit.run(() => intake.endStream(end)),
    endRun: (end) => commit.run(() => intake.endRun(end)),
    pendingRecords: async (request) => reading(() => intake.pendingRecords(request)),
    stage: (records) => commit.run(() => staging.stage(records)),
    dueDeliveries: (request) => timely(() => due.list(request)),
    someDueDelivery: (request) => timely(() => due.some(request)),
    dueByHand: (request) => timely(() => due.byHand(request)),
    nextDueAt: (request) => timely(() => due.nextAt(request)),
    leftAway: (request) => timely(() => due.leftAway(request)),
    isDue: async (deliveryId) => reading(() => due.isDue(deliveryId)),
    denialsOf: async (deliveryId) => reading(() => due.denialsOf(deliveryId)),
    countHeld: async (held) => reading(() => due.countHeld(held)),
    claim: (deliveryId) => commit.run(() => claims.claim(deliveryId)),
    settle: (settlement) => commit.run(() => settles.settle(settlement)),
    putAside: (request) => commit.run(() => putAside(request)),
    settleImport: (settlement) => commit.run(() => settles.settleImport(settlement)),
    doubtfulDeliveries: (request) => timely(() => doubtful.list(request)),
    doubtsOf: async (name) => reading(() => named.doubtsOf(name)),
    boundTo: async (kind, remoteId) => reading(() => named.boundTo(kind, remoteId)),
    replayCandidates: async (request) => reading(() => replay.candidates(request)),
    replay: (request) => commit.run(() => replay.replay(request)),
    forceDoubts: (request) => commit.run(() => replay.forceDoubts(request)),
    judgePassports: (request) => commit.run(() => passports.judge(request)),
    askForPassports: (request) => commit.run(() => passports.ask(request)),
    replayPassports: (request) => commit.run(() => passports.replay(request)),
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run(() => recheck(request));
    },
    unprovenKinds: async () => reading(() => restored.unprovenKinds()),
    hasUnbound: async (kind, naturalKeys) => reading(() => restored.hasUnbound(kind, naturalKeys)),
    endProof: (kind) => commit.run(() => restored.endProof(kind)),
    noteApiWait: (wait) => commit.run(() => noteApiWait(meta, wait)),
    prune: () => commit.run(prune),
    touch: () => commit.run(() => meta.set('touched', new Date(clock.now()).toISOString())),
    async close() {
      await commit.close();
      try {
        highWater.close();
      } finally {
        log.close();
        db.close();
        lock.release();
      }
    },
  };
}

/** Unchanged records are counted at least once in so many, for whoever looks at the run. */
const UNCOUNTED_MAX = 20_000;

/** Whether a page that changes nothing needs no write. A cursor is stored with its page (I1). */
function mayPassOver({ cursor, uncounted, records }: PageToStage): boolean {
  return cursor === undefined && uncounted !== undefined && uncounted + records.length <= UNCOUNTED_MAX;
}

/** A read of the file: what SQLite or the disk has against it is the ledger's trouble. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  }
}
