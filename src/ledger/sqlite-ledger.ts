import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import type { ContactRules } from '../domain/ports/first-contact.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { createRestored } from './backup/restored.ts';
import { createAdoption } from './contact/adoption.ts';
import { createContact } from './contact/contact.ts';
import { contactMethods } from './contact/contact-methods.ts';
import { createListedEntries } from './contact/listed.ts';
import { createParts } from './contact/parts.ts';
import { noteApiWait } from './deliveries/api-wait.ts';
import { createClaims } from './deliveries/claims.ts';
import { createDeadLetter } from './deliveries/dead-letter.ts';
import { createDeliver } from './deliveries/deliver.ts';
import { createDue } from './deliveries/due.ts';
import { createFollowProfile } from './deliveries/follow-profile.ts';
import { createImports } from './deliveries/imports.ts';
import { createLookAgain } from './deliveries/look-again.ts';
import { createNamedDeliveries } from './deliveries/named-deliveries.ts';
import { createPlainSettles } from './deliveries/plain-settles.ts';
import { createRecheck } from './deliveries/recheck.ts';
import { createReplay } from './deliveries/replay.ts';
import { createRequests } from './deliveries/requests.ts';
import { createSettleRequest } from './deliveries/settle-request.ts';
import { createSettles } from './deliveries/settles.ts';
import { createUnconfirmed } from './deliveries/unconfirmed.ts';
import { createItems } from './items/items.ts';
import { createAcceptMissing } from './items/missing-items.ts';
import { createRelease } from './items/release.ts';
import { createRemoteIds } from './items/remote-ids.ts';
import { createPassportItems } from './passports/passport-items.ts';
import { createPassports } from './passports/passports.ts';
import { readHolder } from './read-ledger.ts';
import { createGuardedReads } from './records/guarded-reads.ts';
import { createIntake } from './records/intake.ts';
import { createPageLooks } from './records/look-up-page.ts';
import { createRunAccounts } from './records/run-accounts.ts';
import { createStagePage } from './records/stage-page.ts';
import { createStaging } from './records/staging.ts';
import { createStreams } from './records/streams.ts';
import { openDatabase, type Sqlite } from './store/database.ts';
import { createFollowClock } from './store/follow-clock.ts';
import { createGroupCommit } from './store/group-commit.ts';
import { createHighWater, type HighWater } from './store/high-water.ts';
import { thisHolder } from './store/holder.ts';
import { takeIdentity } from './store/identity.ts';
import { ledgerFaultOf } from './store/ledger-fault.ts';
import { watchLedger } from './store/ledger-watch.ts';
import { acquireLock, type LedgerLock } from './store/lock.ts';
import { createLogSync, type LogSync } from './store/log-sync.ts';
import { createMeta } from './store/meta.ts';
import { createPrune } from './store/prune.ts';
import { assertNotGone, assertNotRestored } from './store/recognise.ts';
import type { UpgradeOptions } from './store/upgrade.ts';
import { createViews } from './views/views.ts';

export interface SqliteLedgerOptions {
  file: string;
  /** The API's base URL; the ledger is bound to it. */
  target: string;
  profile: Profile;
  passportRules: PassportRules;
  contactRules: ContactRules;
  encode: Encode;
  encodeImport: EncodeImport;
  clock: Clock;
  /** The command that holds the ledger, for the message that another process gets. */
  command: string;
  /** Reports for people what happens while a ledger of an older version is brought up to date. */
  report?: UpgradeOptions['report'];
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
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.unwritable`, `ledger.newer`, `ledger.linked`
 *   or `ledger.restored`
 */
export function openSqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  const { file, target, clock } = options;
  const lock = acquireLock(file, () => readHolder(file));
  let db: Sqlite | null = null;
  let highWater: HighWater | null = null;
  try {
    assertNotGone(file);
    const { report = () => {} } = options;
    // A ledger that is refused stays as it is.
    db = openDatabase(file, { clock, report, beforeUpgrade: (old) => assertNotRestored(old, file) });
    assertNotRestored(db, file);
    const holder = thisHolder({ command: options.command, now: clock.now() });
    const { id, epoch } = takeIdentity(db, { file, target, holder });
    highWater = createHighWater(db, file, id);
    const log = (options.openLog ?? createLogSync)(db, file);
    const lost = watchLedger(file, { lock, highWater });
    return compose(db, { id, highWater, log, lost, lock }, { ...options, epoch });
  } catch (error) {
    highWater?.close();
    db?.close();
    lock.release();
    throw ledgerFaultOf(error) ?? error;
  }
}

interface Parts {
  id: string;
  highWater: HighWater;
  log: LogSync;
  lost: () => Fault | null;
  lock: LedgerLock;
}

function compose(
  db: Sqlite,
  { id, highWater, log, lost, lock }: Parts,
  options: SqliteLedgerOptions & { epoch: string },
): SqliteLedger {
  const { clock, profile, passportRules, contactRules, epoch, target } = options;
  const context = { db, clock, profile, passportRules, contactRules, epoch, target };
  const meta = createMeta(db);
  const restored = createRestored(context);
  const listed = createListedEntries(context);
  const contact = createContact(context, { listed, restored });
  const parts = createParts(context);
  const requests = createRequests(db);
  const items = createItems(context, { restored, contact, parts, requests });
  const guardedReads = createGuardedReads(context);
  const run = {
    began: (source: string) => contact.runBegan(source),
    completed(runId: number) {
      restored.sourceWasRead(runId);
      parts.sourceWasRead(runId);
    },
  };
  const streams = createStreams(db);
  const accounts = createRunAccounts(db);
  const intake = createIntake(context, { run, guardedReads, streams, accounts });
  const staging = createStaging(context, { items, contact, accounts });
  const pageLooks = createPageLooks(db, streams);
  const storePage = createStagePage(context, { items, staging, streams, accounts, contact });
  const imports = createImports(context, requests, options.encodeImport);
  const due = createDue(context, contact);
  const passportItems = createPassportItems(context);
  const passports = createPassports(context, { items, passportItems });
  const claims = createClaims(context, { requests, imports, passports, contact }, options.encode);
  const release = createRelease(context, items);
  const adoption = createAdoption(context, { contact, listed, items, parts, passports: passportItems, release });
  const remoteIds = createRemoteIds(context, items);
  const deliver = createDeliver(context, { items, requests, passports, restored, adoption, contact, release });
  const settling = { items, requests, imports, passports, restored, remoteIds };
  const settles = createSettles(context, {
    plain: createPlainSettles(context, { ...settling, release }),
    settleRequest: createSettleRequest(context, { ...settling, deliver }),
  });
  const lookAgain = createLookAgain(context, items);
  const deadLetter = createDeadLetter(context, { items, requests, imports, settles });
  const unconfirmed = createUnconfirmed(context, items);
  const followProfile = createFollowProfile(context, items);
  const replay = createReplay(context, { items, requests, restored, contact }, staging);
  const recheck = createRecheck(context, { items, passports });
  const named = createNamedDeliveries(context);
  const acceptMissing = createAcceptMissing(context);
  const prune = createPrune(context);
  const commit = createGroupCommit(db, { highWater, log, lost });
  const followClock = createFollowClock({ db, clock, commit });

  /** A read that compares times with the present. */
  async function timely<T>(read: () => T): Promise<T> {
    await followClock.notice();
    return reading(read);
  }

  return {
    id,
    views: createViews(db, passportRules),
    lost: () => commit.failed() ?? lost(),
    recover: (settlingDelayMs) =>
      commit.run(() => {
        followClock.atStart();
        const voided = unconfirmed.voidLeases(settlingDelayMs);
        followProfile();
        contact.atStart();
        return { voided };
      }),
    startRun: (start) =>
      commit.run(() => {
        lookAgain(start.source);
        return intake.startRun(start);
      }),
    async lookUpPage(page) {
      const { ids, ...lookUp } = reading(() => pageLooks.lookUp(page));
      for (const id of ids) page.seen.add(id);
      return lookUp;
    },
    async stagePage(page) {
      const skipped = reading(() => pageLooks.skip(page));
      const { ids, ...stored } =
        skipped === null ? await commit.run(() => storePage(page)) : { changed: 0, ids: skipped };
      // A page that could not be stored is staged again, and its rows must not pass for repeated ones then.
      for (const id of ids) page.seen.add(id);
      return { ...stored, counted: skipped === null };
    },
    endStream: (end) => commit.run(() => intake.endStream(end)),
    endRun: (end) => commit.run(() => intake.endRun(end)),
    accept: ({ sources }) => commit.run(() => ({ sources, reads: guardedReads.accept(sources) })),
    pendingRecords: async (request) => reading(() => intake.pendingRecords(request)),
    stage: (records) => commit.run(() => staging.stage(records)),
    dueDeliveries: (request) => timely(() => due.list(request)),
    someDueDelivery: (request) => timely(() => due.some(request)),
    dueByHand: (request) => timely(() => due.byHand(request)),
    nextDueAt: (request) => timely(() => due.nextAt(request)),
    leftAway: (request) => timely(() => due.leftAway(request)),
    countSending: async (of) => reading(() => due.countSending(of)),
    hasSuspended: async (of) => reading(() => due.hasSuspended(of)),
    isDue: (deliveryId) => timely(() => due.isDue(deliveryId)),
    denialsOf: async (deliveryId) => reading(() => due.denialsOf(deliveryId)),
    countSuspended: async (held) => reading(() => due.countSuspended(held)),
    claim: (requests) => commit.run(() => claims.claim(requests)),
    settle: (requests) => commit.run(() => settles.settle(requests)),
    putAside: (request) => commit.run(() => deadLetter(request)),
    unconfirmedDeliveries: (request) => timely(() => unconfirmed.list(request)),
    deliveriesNamed: async (name) => reading(() => named.named(name)),
    countSelected: async (selection) => reading(() => named.count(selection)),
    selectedDeliveries: async (request) => reading(() => named.selected(request)),
    acceptMissing: (request) => commit.run(() => acceptMissing(request)),
    boundTo: async (kind, remoteId) => reading(() => named.boundTo(kind, remoteId)),
    replayCandidates: async (request) => reading(() => replay.candidates(request)),
    replay: (request) => commit.run(() => replay.replay(request)),
    forceUnconfirmed: (request) => commit.run(() => replay.forceUnconfirmed(request)),
    evaluatePassports: (request) => commit.run(() => passports.evaluate(request)),
    unpublishedPassports: async (request) => reading(() => passports.unpublished(request)),
    askForPassports: (request) => commit.run(() => passports.ask(request)),
    replayPassports: (request) => commit.run(() => passports.replay(request)),
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run(() => recheck(request));
    },
    acknowledgedCreates: async (request) => reading(() => unconfirmed.acknowledgedCreates(request)),
    unprovenKinds: async () => reading(() => restored.unprovenKinds()),
    hasUnbound: async (kind, naturalKeys) => reading(() => restored.hasUnbound(kind, naturalKeys)),
    endProof: (kind) => commit.run(() => restored.endProof(kind)),
    ...contactMethods({ commit, contact, adoption, reading }),
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

/** A read of the file: what SQLite or the disk has against it is the ledger's trouble. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  }
}
