import type { WireForms } from '../domain/delivery/wire-form.ts';
import { type WrittenForms } from '../domain/delivery/wire-form.ts';
import type { ItemKind } from '../domain/item.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import type { ContactRules } from '../domain/ports/first-contact.ts';
import type { MissingGuard } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads as LaterReads } from '../domain/ports/ledger/reads.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { contactSteps, endProof, hasUnbound, startContact, unprovenKinds } from './contact/contact.ts';
import { beginListing, confirmListing, failListing, isFreshlyListed, storeListed } from './contact/listings.ts';
import {
  acceptAdoptedPage,
  adoptAs,
  answerParts,
  compareListed,
  endListing,
  lastStuckItem,
} from './deliveries/adoption.ts';
import { echoedOperations, noteApiWait, storeEcho } from './deliveries/api-notes.ts';
import { claim } from './deliveries/claim.ts';
import {
  countSending,
  countSuspended,
  denialsOf,
  dueAmong,
  dueByHand,
  dueDeliveries,
  hasSuspended,
  leftAway,
  nextDueAt,
  someDueDelivery,
} from './deliveries/due.ts';
import {
  importGain,
  importProofs,
  isOpenDelivery,
  lostImports,
  releaseChanges,
  storeImportProof,
} from './deliveries/imports.ts';
import { followProfile, lookUpRefusedCreates, recheckBlocked } from './deliveries/recheck.ts';
import { forceUnconfirmed, replay, replayCandidates, replayForm } from './deliveries/replay.ts';
import { deadLetter, settle } from './deliveries/settle.ts';
import {
  acknowledgedCreates,
  boundTo,
  countSelected,
  deliveriesNamed,
  endRest,
  mayEndRest,
  selectedDeliveries,
  unconfirmedDeliveries,
  voidLeases,
} from './deliveries/unconfirmed.ts';
import { createLogSync, fullDiskFault, type LogSync } from './file/file.ts';
import { assertNotGone, assertNotRestored, takeIdentity } from './file/identity.ts';
import { acquireLock, type LedgerLock, thisHolder, watchLedger } from './file/lock.ts';
import { createHighWater, type HighWater } from './file/mark.ts';
import { storeForms } from './items/content.ts';
import { acceptMissing } from './items/missing.ts';
import { reconcileGivenIds } from './items/reconcile.ts';
import { askForPassports, evaluatePassports, replayPassports, unpublishedPassports } from './passports/passports.ts';
import {
  beginAction,
  endAction,
  endLeftActions,
  noteCause,
  removeLookupValue,
  setLookupValue,
  valuesByHand,
} from './people/people.ts';
import { readHolder } from './read-ledger.ts';
import { readsHere } from './reads.ts';
import { endStream } from './records/end-stream.ts';
import { decideReleasedItemsOf, settleHeldCreates } from './records/guarded-items.ts';
import { acceptGuarded } from './records/guarded-reads.ts';
import { comparePage, countPresent, lookUpPage, skipPage } from './records/look-up-page.ts';
import { defineLookups, findLookups } from './records/lookups.ts';
import { endRun, identifyRecords, itemRecords, remapRecords, startRun, storeIdentity } from './records/runs.ts';
import { stagePage } from './records/stage-page.ts';
import { stageRecords } from './records/staging.ts';
import { pendingRecords, pendingSources, recordsByKey } from './records/streams.ts';
import { STEPS } from './schema.ts';
import { type Sqlite } from './store/database.ts';
import { createGroupCommit } from './store/group-commit.ts';
import { ledgerFaultOf } from './store/ledger-fault.ts';
import { writeDaemonNote, writeMeta } from './store/meta.ts';
import type { Reads } from './store/tx.ts';
import { createFollowClock, pruneHistory } from './store/upkeep.ts';
import { openDatabase } from './upgrade/open.ts';
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
  /** The steps of upgrades; those of the program, except in tests. */
  steps?: UpgradeOptions['steps'];
  /** Opens the sync of commits to the disk. Tests in virtual time replace it, because a real disk takes real time. */
  openLog?: (db: Sqlite, file: string) => LogSync;
}

/** The ledger on SQLite, with its views and its id. */
export interface SqliteLedger extends Ledger {
  /** A random id that never changes for this ledger. The names of the queues contain it. */
  id: string;
  views: LedgerViews;
  /** Answers questions in this process. */
  reads: LaterReads;
  /**
   * Why this process may not write to the ledger any more; null while it may. Once it has a value it never becomes null
   * again.
   */
  lost(): Fault | null;
}

/**
 * Opens the ledger for writing, as its only writer.
 *
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.unwritable`, `ledger.newer`, `ledger.older`,
 *   `ledger.linked` or `ledger.restored`
 */
export function openSqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  const { file, target, clock } = options;
  const lock = acquireLock(file, () => readHolder(file));
  let db: Sqlite | null = null;
  let highWater: HighWater | null = null;
  try {
    assertNotGone(file);
    const { report = () => {}, steps = STEPS } = options;
    // A ledger that is refused must not be changed, not even by an upgrade.
    db = openDatabase(file, { clock, report, steps, beforeUpgrade: (old) => assertNotRestored(old, file) });
    assertNotRestored(db, file);
    const holder = thisHolder({ command: options.command, now: clock.now() });
    const { id, epoch, term } = takeIdentity(db, { file, target, holder });
    const forms = storeForms(db, options.forms);
    highWater = createHighWater(db, file, { id, term });
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
  const { clock, profile, passportRules, contactRules, guardOf, encode, encodeImport, epoch, target } = options;
  const ledger = {
    db,
    clock,
    profile,
    forms,
    passportRules,
    contactRules,
    guardOf,
    encode,
    encodeImport,
    epoch,
    target,
  };
  const commit = createGroupCommit(ledger, { highWater, log, lost });
  const followClock = createFollowClock({ clock, commit });

  /** Runs a read, and turns errors of SQLite and the disk into faults of the ledger. */
  function reading<T>(read: (reads: Reads) => T): T {
    try {
      return read(ledger);
    } catch (error) {
      throw ledgerFaultOf(error) ?? error;
    }
  }

  /** Runs a read that compares stored times with the present, after the ledger has followed a changed clock. */
  async function timely<T>(read: (reads: Reads) => T): Promise<T> {
    await followClock.notice();
    return reading(read);
  }

  return {
    id,
    views: createViews({ db, passportRules, wireForms: options.forms }),
    reads: readsHere({ db, passportRules, wireForms: options.forms }),
    pendingSources: () => pendingSources(ledger),
    lost: () => commit.failed() ?? lost(),
    recover: (settlingDelayMs) =>
      commit.run((tx) => {
        followClock.atStart(tx);
        const voided = voidLeases(tx, settlingDelayMs);
        followProfile(tx);
        releaseChanges(tx);
        reconcileGivenIds(tx);
        startContact(tx);
        endLeftActions(tx);
        return { voided };
      }),
    startRun: (start) =>
      commit.run((tx) => {
        lookUpRefusedCreates(tx, start.source);
        return startRun(tx, start);
      }),
    storeIdentity: (request) => commit.run((tx) => storeIdentity(tx, request)),
    identifyRecords: (request) => commit.run((tx) => identifyRecords(tx, request)),
    itemRecords: async (request) => reading((reads) => itemRecords(reads, request)),
    async comparePage(page) {
      const { ids, ...difference } = reading((reads) => comparePage(reads, page));
      for (const id of ids) page.seen.add(id);
      return difference;
    },
    countPresent: async ({ source, stream }) => reading((reads) => countPresent(reads, source, stream)),
    async lookUpPage(page) {
      const { ids, ...lookUp } = reading((reads) => lookUpPage(reads, page));
      for (const id of ids) page.seen.add(id);
      return lookUp;
    },
    async stagePage(page) {
      const skipped = reading((reads) => skipPage(reads, page));
      const { ids, ...stored } =
        skipped === null ? await commit.run((tx) => stagePage(tx, page)) : { changed: 0, ids: skipped };
      // The seen ids are added only after the commit. A page that could not be stored is staged again, and its rows
      // must not count as repeated rows then.
      for (const id of ids) page.seen.add(id);
      return { ...stored, counted: skipped === null };
    },
    remapRecords: (request) => commit.run((tx) => remapRecords(tx, request)),
    endStream: (end) => commit.run((tx) => endStream(tx, end)),
    endRun: (end) => commit.run((tx) => endRun(tx, end)),
    accept: ({ sources }) => commit.run((tx) => ({ sources, reads: acceptGuarded(tx, sources) })),
    defineLookups: (tables, { isAll }) => commit.run((tx) => defineLookups(tx, tables, isAll)),
    findLookups: async (keys) => reading((reads) => findLookups(reads, keys)),
    recordsByKey: async (request) => reading((reads) => recordsByKey(reads, request)),
    pendingRecords: async (request) => reading((reads) => pendingRecords(reads, request)),
    stage: (records) =>
      commit.run((tx) => {
        const summary = stageRecords(tx, records);
        const [first] = records;
        const held = first === undefined ? [] : decideReleasedItemsOf(tx, first.id);
        settleHeldCreates(tx);
        return held.length === 0 ? summary : { ...summary, held };
      }),
    dueDeliveries: (request) => timely((reads) => dueDeliveries(reads, request)),
    someDueDelivery: (request) => timely((reads) => someDueDelivery(reads, request)),
    dueByHand: (request) => timely((reads) => dueByHand(reads, request)),
    nextDueAt: (request) => timely((reads) => nextDueAt(reads, request)),
    leftAway: (request) => timely((reads) => leftAway(reads, request)),
    countSending: async (of) => reading((reads) => countSending(reads, of)),
    hasSuspended: async (of) => reading((reads) => hasSuspended(reads, of)),
    dueAmong: (ids) => timely((reads) => dueAmong(reads, ids)),
    denialsOf: async (ids) => reading((reads) => denialsOf(reads, ids)),
    countSuspended: async (suspended) => reading((reads) => countSuspended(reads, suspended)),
    claim: (requests) => commit.run((tx) => claim(tx, requests)),
    settle: (requests) => commit.run((tx) => settle(tx, requests)),
    importProofs: async () => reading((reads) => importProofs(reads)),
    storeImportProof: (use, proof) => commit.run((tx) => storeImportProof(tx, use, proof)),
    lostImports: async (use) => reading((reads) => lostImports(reads, use)),
    isOpen: async (delivery) => reading((reads) => isOpenDelivery(reads, delivery)),
    importGain: async (request) => reading((reads) => importGain(reads, request)),
    echoedOperations: async () => reading((reads) => echoedOperations(reads)),
    storeEcho: (operation) => commit.run((tx) => storeEcho(tx, operation)),
    async endRest(operations) {
      if (reading((reads) => mayEndRest(reads, operations))) await commit.run((tx) => endRest(tx, operations));
    },
    deadLetter: (request) => commit.run((tx) => deadLetter(tx, request)),
    unconfirmedDeliveries: (request) => timely((reads) => unconfirmedDeliveries(reads, request)),
    deliveriesNamed: async (name) => reading((reads) => deliveriesNamed(reads, name)),
    countSelected: async (selection) => reading((reads) => countSelected(reads, selection)),
    selectedDeliveries: async (request) => reading((reads) => selectedDeliveries(reads, request)),
    acceptMissing: (request) => commit.run((tx) => acceptMissing(tx, request)),
    boundTo: async (kind, remoteId) => reading((reads) => boundTo(reads, kind, remoteId)),
    replayCandidates: async (request) => reading((reads) => replayCandidates(reads, request)),
    replay: (request) => commit.run((tx) => replay(tx, request)),
    replayForm: (request) => commit.run((tx) => replayForm(tx, request)),
    forceUnconfirmed: (request) => commit.run((tx) => forceUnconfirmed(tx, request)),
    evaluatePassports: (request) => commit.run((tx) => evaluatePassports(tx, request)),
    unpublishedPassports: async (request) => reading((reads) => unpublishedPassports(reads, request)),
    askForPassports: (request) => commit.run((tx) => askForPassports(tx, request)),
    replayPassports: (request) => commit.run((tx) => replayPassports(tx, request)),
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run((tx) => recheckBlocked(tx, request));
    },
    acknowledgedCreates: async (request) => reading((reads) => acknowledgedCreates(reads, request)),
    unprovenKinds: async () => reading((reads) => unprovenKinds(reads)),
    hasUnbound: async (kind, naturalKeys) => reading((reads) => hasUnbound(reads, kind, naturalKeys)),
    endProof: (kind) => commit.run((tx) => endProof(tx, kind)),
    contactSteps: async () => reading((reads) => contactSteps(reads)),
    isFreshlyListed: async (list) => reading((reads) => isFreshlyListed(reads, list)),
    beginListing: (list) => commit.run((tx) => beginListing(tx, list)),
    storeListed: (page) => commit.run((tx) => storeListed(tx, page)),
    endListing: (end) => commit.run((tx) => endListing(tx, end)),
    confirmListing: (kind) => commit.run((tx) => confirmListing(tx, kind)),
    failListing: (failure) => commit.run((tx) => failListing(tx, failure)),
    compareListed: (kind) => commit.run((tx) => compareListed(tx, kind)),
    async acceptAdopted(source) {
      const counts: Partial<Record<ItemKind, number>> = {};
      // Accepts only the items that are blocked now, because the person has not seen later ones.
      const upTo = reading(lastStuckItem);
      let afterId: number | null = 0;
      // Accepts page by page, so that other writes come between two pages.
      while (afterId !== null) {
        const from: number = afterId;
        const page = await commit.run((tx) => acceptAdoptedPage(tx, source, { afterId: from, upTo }));
        for (const kind of page.kinds) counts[kind] = (counts[kind] ?? 0) + 1;
        afterId = page.lastId;
      }
      return counts;
    },
    answerParts: (answer) => commit.run((tx) => answerParts(tx, answer)),
    adoptAs: (choice) => commit.run((tx) => adoptAs(tx, choice)),
    noteApiWait: (wait) => commit.run((tx) => noteApiWait(tx, wait)),
    noteDaemon: (name, note) => commit.run((tx) => writeDaemonNote(tx, name, note)),
    beginAction: (action) => commit.run((tx) => beginAction(tx, action)),
    endAction: (id, outcome) => commit.run((tx) => endAction(tx, id, outcome)),
    noteCause: (cause, note) => commit.run((tx) => noteCause(tx, cause, note)),
    valuesByHand: async () => reading((reads) => valuesByHand(reads)),
    setLookupValue: (value) => commit.run((tx) => ({ records: setLookupValue(tx, value) })),
    removeLookupValue: (lookup, key) => commit.run((tx) => ({ records: removeLookupValue(tx, lookup, key) })),
    prune: (limits) => commit.run((tx) => pruneHistory(tx, limits)),
    writesEnded: () => commit.ended(),
    async touch() {
      // A write as small as this one may succeed on a full disk, because the log has room that is used again.
      const refused = commit.refused() ?? fullDiskFault(options.file);
      if (refused !== null) throw refused;
      await commit.run((tx) => writeMeta(tx, 'touched', new Date(clock.now()).toISOString()));
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
