import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import type { ContactRules } from '../domain/ports/first-contact.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { createRestored } from './backup/restored.ts';
import { createAdoptedBom } from './contact/adopted-bom.ts';
import { createAdoption } from './contact/adoption.ts';
import { createAdoptionByHand } from './contact/adoption-by-hand.ts';
import { createContact } from './contact/contact.ts';
import { contactMethods } from './contact/contact-methods.ts';
import { createListedEntries } from './contact/listed.ts';
import { createListings } from './contact/listings.ts';
import { noteApiWait } from './deliveries/api-wait.ts';
import { createClaims } from './deliveries/claims.ts';
import { createDeadLetter } from './deliveries/dead-letter.ts';
import { createDeliver } from './deliveries/deliver.ts';
import { createDue } from './deliveries/due.ts';
import { createFollowProfile } from './deliveries/follow-profile.ts';
import { createImports } from './deliveries/imports.ts';
import { createLookUpRefusedCreates } from './deliveries/look-up-refused-creates.ts';
import { createNamedDeliveries } from './deliveries/named-deliveries.ts';
import { createPlainSettles } from './deliveries/plain-settles.ts';
import { createRecheck } from './deliveries/recheck.ts';
import { createRemaining } from './deliveries/remaining.ts';
import { createReplay } from './deliveries/replay.ts';
import { createRequests } from './deliveries/requests.ts';
import { createSettleRequest } from './deliveries/settle-request.ts';
import { createSettles } from './deliveries/settles.ts';
import { createUnconfirmed } from './deliveries/unconfirmed.ts';
import { createHighWater, type HighWater } from './identity/high-water.ts';
import { takeIdentity } from './identity/identity.ts';
import { assertNotGone, assertNotRestored } from './identity/recognise.ts';
import { createItems } from './items/items.ts';
import { createAcceptMissing } from './items/missing-items.ts';
import { createRelease } from './items/release.ts';
import { createRemoteIds } from './items/remote-ids.ts';
import { createPassportItems } from './passports/passport-items.ts';
import { createPassports } from './passports/passports.ts';
import { createPassportsByHand } from './passports/passports-by-hand.ts';
import { readHolder } from './read-ledger.ts';
import { createEndStream } from './records/end-stream.ts';
import { createGuardedReads } from './records/guarded-reads.ts';
import { createPageLooks } from './records/look-up-page.ts';
import { createPendingRecords } from './records/pending-records.ts';
import { createRunAccounts } from './records/run-accounts.ts';
import { createRuns } from './records/runs.ts';
import { createStagePage } from './records/stage-page.ts';
import { createStaging } from './records/staging.ts';
import { createStreams } from './records/streams.ts';
import { openDatabase, type Sqlite } from './store/database.ts';
import { createFollowClock } from './store/follow-clock.ts';
import { createGroupCommit } from './store/group-commit.ts';
import { thisHolder } from './store/holder.ts';
import { ledgerFaultOf } from './store/ledger-fault.ts';
import { watchLedger } from './store/ledger-watch.ts';
import { acquireLock, type LedgerLock } from './store/lock.ts';
import { createLogSync, type LogSync } from './store/log-sync.ts';
import { createMeta } from './store/meta.ts';
import { createPrune } from './store/prune.ts';
import type { UpgradeOptions } from './upgrade/upgrade.ts';
import { createViews } from './views/views.ts';

export interface SqliteLedgerOptions {
  file: string;
  /** The API's base URL. A ledger belongs to one target for ever. */
  target: string;
  profile: Profile;
  passportRules: PassportRules;
  contactRules: ContactRules;
  encode: Encode;
  encodeImport: EncodeImport;
  clock: Clock;
  /** The command that opens the ledger. Other processes name it in their fault `ledger.held`. */
  command: string;
  /** Reports in full sentences how a ledger of an older version is upgraded. */
  report?: UpgradeOptions['report'];
  /** Opens the sync of commits to the disk. Tests in virtual time replace it, because a real disk takes real time. */
  openLog?: (db: Sqlite, file: string) => LogSync;
}

/** The ledger on SQLite, with its views and its id. */
export interface SqliteLedger extends Ledger {
  /** Random, and the same for the file's whole life. The queues carry it in their names. */
  id: string;
  views: LedgerViews;
  /**
   * Why this process may not write to the ledger any more; null while it may. Once it has a value it never becomes null
   * again.
   */
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
    // A refused ledger must stay unchanged, also by an upgrade.
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
  const listings = createListings(context, listed);
  const contact = createContact(context, { listings, listed, restored });
  const adoptedBom = createAdoptedBom(context);
  const requests = createRequests(db);
  const items = createItems(context, { restored, contact, adoptedBom, requests });
  const guardedReads = createGuardedReads(context);
  const run = {
    began: (source: string) => contact.runBegan(source),
    completed(runId: number) {
      restored.sourceWasRead(runId);
      adoptedBom.sourceWasRead(runId);
    },
  };
  const streams = createStreams(db);
  const accounts = createRunAccounts(db);
  const runs = createRuns(context, { run, guardedReads, streams, accounts });
  const endStream = createEndStream(context, { guardedReads, streams, accounts });
  const pendingRecords = createPendingRecords(db);
  const staging = createStaging(context, { items, contact, accounts });
  const pageLooks = createPageLooks(db, streams);
  const storePage = createStagePage(context, { items, staging, streams, accounts, contact });
  const imports = createImports(context, requests, options.encodeImport);
  const due = createDue(context, contact);
  const remaining = createRemaining(context, contact);
  const passportItems = createPassportItems(context);
  const passports = createPassports(context, { items, passportItems });
  const passportsByHand = createPassportsByHand(context, { items, passportItems });
  const claims = createClaims(context, { requests, imports, passports, contact }, options.encode);
  const release = createRelease(context, items);
  const adoption = createAdoption(context, {
    contact,
    listings,
    listed,
    items,
    adoptedBom,
    passports: passportItems,
    release,
  });
  const adoptionByHand = createAdoptionByHand(db, { adoption, listed, items, adoptedBom, passports: passportItems });
  const remoteIds = createRemoteIds(context, items);
  const deliver = createDeliver(context, { items, requests, passports, restored, adoption, contact, release });
  const settling = { items, requests, imports, passports, restored, remoteIds };
  const settles = createSettles(context, {
    plain: createPlainSettles(context, { ...settling, release }),
    settleRequest: createSettleRequest(context, { ...settling, deliver }),
  });
  const lookUpRefusedCreates = createLookUpRefusedCreates(context, items);
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

  /** Runs a read that compares stored times with the present, after the ledger has followed a changed clock. */
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
        lookUpRefusedCreates(start.source);
        return runs.startRun(start);
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
      // The seen ids are added only after the commit. A page that could not be stored is staged again, and its rows
      // must not count as repeated rows then.
      for (const id of ids) page.seen.add(id);
      return { ...stored, counted: skipped === null };
    },
    endStream: (end) => commit.run(() => endStream(end)),
    endRun: (end) => commit.run(() => runs.endRun(end)),
    accept: ({ sources }) => commit.run(() => ({ sources, reads: guardedReads.accept(sources) })),
    pendingRecords: async (request) => reading(() => pendingRecords(request)),
    stage: (records) => commit.run(() => staging.stage(records)),
    dueDeliveries: (request) => timely(() => due.list(request)),
    someDueDelivery: (request) => timely(() => due.some(request)),
    dueByHand: (request) => timely(() => due.byHand(request)),
    nextDueAt: (request) => timely(() => remaining.nextAt(request)),
    leftAway: (request) => timely(() => remaining.leftAway(request)),
    countSending: async (of) => reading(() => remaining.countSending(of)),
    hasSuspended: async (of) => reading(() => remaining.hasSuspended(of)),
    isDue: (deliveryId) => timely(() => due.isDue(deliveryId)),
    denialsOf: async (deliveryId) => reading(() => due.denialsOf(deliveryId)),
    countSuspended: async (suspended) => reading(() => remaining.countSuspended(suspended)),
    claim: (requests) => commit.run(() => claims.claim(requests)),
    settle: (requests) => commit.run(() => settles.settle(requests)),
    deadLetter: (request) => commit.run(() => deadLetter(request)),
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
    unpublishedPassports: async (request) => reading(() => passportsByHand.unpublished(request)),
    askForPassports: (request) => commit.run(() => passportsByHand.ask(request)),
    replayPassports: (request) => commit.run(() => passportsByHand.replay(request)),
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run(() => recheck(request));
    },
    acknowledgedCreates: async (request) => reading(() => unconfirmed.acknowledgedCreates(request)),
    unprovenKinds: async () => reading(() => restored.unprovenKinds()),
    hasUnbound: async (kind, naturalKeys) => reading(() => restored.hasUnbound(kind, naturalKeys)),
    endProof: (kind) => commit.run(() => restored.endProof(kind)),
    ...contactMethods({ commit, contact, listings, adoption, byHand: adoptionByHand, reading }),
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

/** Runs a read, and turns errors of SQLite and the disk into faults of the ledger. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  }
}
