import type { WireForms } from '../domain/delivery/wire-form.ts';
import type { ItemKind } from '../domain/item.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import type { ContactRules } from '../domain/ports/first-contact.ts';
import type { MissingGuard } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { AdoptionByHand } from './contact/adoption-by-hand.ts';
import { noteApiWait } from './deliveries/api-wait.ts';
import { createHighWater, type HighWater } from './identity/high-water.ts';
import { takeIdentity } from './identity/identity.ts';
import { assertNotGone, assertNotRestored } from './identity/recognise.ts';
import { storeForms, type WrittenForms } from './items/wire-forms.ts';
import { createLedgerParts } from './ledger-parts.ts';
import { readHolder } from './read-ledger.ts';
import { writeDaemonNote } from './store/daemon-notes.ts';
import { openDatabase, type Sqlite } from './store/database.ts';
import { createFollowClock } from './store/follow-clock.ts';
import { createGroupCommit, type GroupCommit } from './store/group-commit.ts';
import { thisHolder } from './store/holder.ts';
import { fullDiskFault, ledgerFaultOf } from './store/ledger-fault.ts';
import { watchLedger } from './store/ledger-watch.ts';
import { acquireLock, type LedgerLock } from './store/lock.ts';
import { createLogSync, type LogSync } from './store/log-sync.ts';
import type { UpgradeOptions } from './upgrade/upgrade.ts';
import { createViews } from './views/views.ts';

export interface SqliteLedgerOptions {
  file: string;
  /** The API's base URL. A ledger belongs to one target for ever. */
  target: string;
  profile: Profile;
  passportRules: PassportRules;
  contactRules: ContactRules;
  /** The guard of a source; null for a source that the config does not have. */
  guardOf: (source: string) => MissingGuard | null;
  /** The forms in which `encode` and `encodeImport` send items under this profile. */
  forms: WireForms;
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
  /** A random id that never changes for this ledger. The names of the queues contain it. */
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
    // A ledger that is refused must not be changed, not even by an upgrade.
    db = openDatabase(file, { clock, report, beforeUpgrade: (old) => assertNotRestored(old, file) });
    assertNotRestored(db, file);
    const holder = thisHolder({ command: options.command, now: clock.now() });
    const { id, epoch } = takeIdentity(db, { file, target, holder });
    const forms = storeForms(db, options.forms);
    highWater = createHighWater(db, file, id);
    const log = (options.openLog ?? createLogSync)(db, file);
    const lost = watchLedger(file, { lock, highWater });
    return compose(db, { id, forms, highWater, log, lost, lock }, { ...options, epoch });
  } catch (error) {
    highWater?.close();
    db?.close();
    lock.release();
    throw ledgerFaultOf(error) ?? error;
  }
}

interface OpenedFile {
  id: string;
  forms: WrittenForms;
  highWater: HighWater;
  log: LogSync;
  lost: () => Fault | null;
  lock: LedgerLock;
}

function compose(
  db: Sqlite,
  { id, forms, highWater, log, lost, lock }: OpenedFile,
  options: SqliteLedgerOptions & { epoch: string },
): SqliteLedger {
  const { clock, profile, passportRules, contactRules, guardOf, epoch, target } = options;
  const context = { db, clock, profile, forms, passportRules, contactRules, guardOf, epoch, target };
  const parts = createLedgerParts(context, options);
  const commit = createGroupCommit(db, { highWater, log, lost, clock });
  const followClock = createFollowClock({ db, clock, commit });

  /** Runs a read that compares stored times with the present, after the ledger has followed a changed clock. */
  async function timely<T>(read: () => T): Promise<T> {
    await followClock.notice();
    return reading(read);
  }

  return {
    id,
    views: createViews(db, passportRules, options.forms),
    lost: () => commit.failed() ?? lost(),
    recover: (settlingDelayMs) =>
      commit.run(() => {
        followClock.atStart();
        const voided = parts.unconfirmed.voidLeases(settlingDelayMs);
        parts.followProfile();
        parts.importProofs.releaseChanges();
        parts.reconcileGivenIds();
        parts.contact.atStart();
        parts.people.endLeft();
        return { voided };
      }),
    startRun: (start) =>
      commit.run(() => {
        parts.lookUpRefusedCreates(start.source);
        return parts.runs.startRun(start);
      }),
    storeIdentity: (request) => commit.run(() => parts.identities.store(request)),
    identifyRecords: (request) => commit.run(() => parts.identities.identify(request)),
    itemRecords: async (request) => reading(() => parts.identities.itemRecords(request)),
    async comparePage(page) {
      const { ids, ...difference } = reading(() => parts.pageLooks.compare(page));
      for (const id of ids) page.seen.add(id);
      return difference;
    },
    countPresent: async ({ source, stream }) => reading(() => parts.pageLooks.countPresent(source, stream)),
    async lookUpPage(page) {
      const { ids, ...lookUp } = reading(() => parts.pageLooks.lookUp(page));
      for (const id of ids) page.seen.add(id);
      return lookUp;
    },
    async stagePage(page) {
      const skipped = reading(() => parts.pageLooks.skip(page));
      const { ids, ...stored } =
        skipped === null ? await commit.run(() => parts.storePage(page)) : { changed: 0, ids: skipped };
      // The seen ids are added only after the commit. A page that could not be stored is staged again, and its rows
      // must not count as repeated rows then.
      for (const id of ids) page.seen.add(id);
      return { ...stored, counted: skipped === null };
    },
    remapRecords: (request) => commit.run(() => parts.runs.remapRecords(request)),
    endStream: (end) => commit.run(() => parts.endStream(end)),
    endRun: (end) => commit.run(() => parts.runs.endRun(end)),
    accept: ({ sources }) => commit.run(() => ({ sources, reads: parts.guardedReads.accept(sources) })),
    defineLookups: (tables, { isAll }) => commit.run(() => parts.lookups.define(tables, isAll)),
    findLookups: async (keys) => reading(() => parts.lookups.find(keys)),
    recordsByKey: async (request) => reading(() => parts.recordsByKey(request)),
    pendingRecords: async (request) => reading(() => parts.pendingRecords(request)),
    stage: (records) =>
      commit.run(() => {
        const summary = parts.staging.stage(records);
        const [first] = records;
        const held = first === undefined ? [] : parts.guardedItems.decideAfter(first.id);
        parts.settleHeldCreates.settleAll();
        return held.length === 0 ? summary : { ...summary, held };
      }),
    dueDeliveries: (request) => timely(() => parts.due.list(request)),
    someDueDelivery: (request) => timely(() => parts.due.some(request)),
    dueByHand: (request) => timely(() => parts.due.byHand(request)),
    nextDueAt: (request) => timely(() => parts.remaining.nextAt(request)),
    leftAway: (request) => timely(() => parts.remaining.leftAway(request)),
    countSending: async (of) => reading(() => parts.remaining.countSending(of)),
    hasSuspended: async (of) => reading(() => parts.remaining.hasSuspended(of)),
    isDue: (deliveryId) => timely(() => parts.due.isDue(deliveryId)),
    denialsOf: async (deliveryId) => reading(() => parts.due.denialsOf(deliveryId)),
    countSuspended: async (suspended) => reading(() => parts.remaining.countSuspended(suspended)),
    claim: (requests) => commit.run(() => parts.claims.claim(requests)),
    settle: (requests) => commit.run(() => parts.settles.settle(requests)),
    importProofs: async () => reading(() => parts.importProofs.find()),
    storeImportProof: (use, proof) => commit.run(() => parts.importProofs.store(use, proof)),
    lostImports: async (use) => reading(() => parts.importProofs.lostImports(use)),
    isOpen: async (delivery) => reading(() => parts.importProofs.isOpen(delivery)),
    importGain: async (request) => reading(() => parts.importProofs.gain(request)),
    echoedOperations: async () => reading(() => parts.echoes.all()),
    storeEcho: (operation) => commit.run(() => parts.echoes.add(operation)),
    async endRest(operations) {
      if (reading(() => parts.unconfirmed.restsAt(operations)))
        await commit.run(() => parts.unconfirmed.endRest(operations));
    },
    deadLetter: (request) => commit.run(() => parts.deadLetter(request)),
    unconfirmedDeliveries: (request) => timely(() => parts.unconfirmed.list(request)),
    deliveriesNamed: async (name) => reading(() => parts.named.named(name)),
    countSelected: async (selection) => reading(() => parts.named.count(selection)),
    selectedDeliveries: async (request) => reading(() => parts.named.selected(request)),
    acceptMissing: (request) => commit.run(() => parts.acceptMissing(request)),
    boundTo: async (kind, remoteId) => reading(() => parts.named.boundTo(kind, remoteId)),
    replayCandidates: async (request) => reading(() => parts.replay.candidates(request)),
    replay: (request) => commit.run(() => parts.replay.replay(request)),
    replayForm: (request) => commit.run(() => parts.replayForm(request)),
    forceUnconfirmed: (request) => commit.run(() => parts.replay.forceUnconfirmed(request)),
    evaluatePassports: (request) => commit.run(() => parts.passports.evaluate(request)),
    unpublishedPassports: async (request) => reading(() => parts.passportsByHand.unpublished(request)),
    askForPassports: (request) => commit.run(() => parts.passportsByHand.ask(request)),
    replayPassports: (request) => commit.run(() => parts.passportsByHand.replay(request)),
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run(() => parts.recheck(request));
    },
    acknowledgedCreates: async (request) => reading(() => parts.unconfirmed.acknowledgedCreates(request)),
    unprovenKinds: async () => reading(() => parts.restored.unprovenKinds()),
    hasUnbound: async (kind, naturalKeys) => reading(() => parts.restored.hasUnbound(kind, naturalKeys)),
    endProof: (kind) => commit.run(() => parts.restored.endProof(kind)),
    contactSteps: async () => reading(() => parts.contact.contactSteps()),
    isFreshlyListed: async (list) => reading(() => parts.listings.isFreshlyListed(list)),
    beginListing: (list) => commit.run(() => parts.listings.beginListing(list)),
    storeListed: (page) => commit.run(() => parts.listings.storeListed(page)),
    endListing: (end) => commit.run(() => parts.adoption.endListing(end)),
    confirmListing: (kind) => commit.run(() => parts.listings.confirmListing(kind)),
    failListing: (failure) => commit.run(() => parts.listings.failListing(failure)),
    compareListed: (kind) => commit.run(() => parts.adoption.compare(kind)),
    acceptAdopted: (source) => acceptAdopted(source, parts.adoptionByHand, commit),
    answerParts: (answer) => commit.run(() => parts.adoptionByHand.answerParts(answer)),
    adoptAs: (choice) => commit.run(() => parts.adoptionByHand.adoptAs(choice)),
    noteApiWait: (wait) => commit.run(() => noteApiWait(parts.meta, wait)),
    noteDaemon: (name, note) => commit.run(() => writeDaemonNote(parts.meta, name, note)),
    beginAction: (action) => commit.run(() => parts.people.beginAction(action)),
    endAction: (id, outcome) => commit.run(() => parts.people.endAction(id, outcome)),
    noteCause: (cause, note) => commit.run(() => parts.people.noteCause(cause, note)),
    valuesByHand: async () => reading(() => parts.people.valuesByHand()),
    setLookupValue: (value) => commit.run(() => ({ records: parts.people.setLookupValue(value) })),
    removeLookupValue: (lookup, key) => commit.run(() => ({ records: parts.people.removeLookupValue(lookup, key) })),
    prune: (limits) => commit.run(() => parts.prune(limits)),
    async touch() {
      // A write as small as this one may succeed on a full disk, because the log has room that is used again.
      const refused = commit.refused() ?? fullDiskFault(options.file);
      if (refused !== null) throw refused;
      await commit.run(() => parts.meta.set('touched', new Date(clock.now()).toISOString()));
    },
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

/** Accepts page by page, so that other writes come between two pages. */
async function acceptAdopted(
  source: string,
  adoption: AdoptionByHand,
  commit: GroupCommit,
): Promise<Partial<Record<ItemKind, number>>> {
  const counts: Partial<Record<ItemKind, number>> = {};
  // Accepts only the items that are blocked now, because the person has not seen later ones.
  const upTo = reading(() => adoption.lastStuck());
  let afterId: number | null = 0;
  while (afterId !== null) {
    const from: number = afterId;
    const page = await commit.run(() => adoption.accept(source, { afterId: from, upTo }));
    for (const kind of page.kinds) counts[kind] = (counts[kind] ?? 0) + 1;
    afterId = page.lastId;
  }
  return counts;
}
