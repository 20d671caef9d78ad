import type { WireForms, WrittenForms } from '../domain/delivery/wire-form.ts';
import type { ItemKind } from '../domain/item.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Encode, EncodeImport } from '../domain/ports/deliveries.ts';
import type { MissingGuard } from '../domain/ports/guarded-intake.ts';
import type { ContactRules } from '../domain/ports/ledger/contact-ledger.ts';
import type { Ledger } from '../domain/ports/ledger/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads as LaterReads } from '../domain/ports/ledger/reads.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { startContact } from './contact/contact.ts';
import { acceptAdoptedPage, lastStuckItem } from './deliveries/adoption-decisions.ts';
import { releaseChanges } from './deliveries/imports.ts';
import { followProfile, recheckBlocked } from './deliveries/recheck.ts';
import { endRest, mayEndRest, voidLeases } from './deliveries/unconfirmed.ts';
import { fullDiskFault } from './file/file.ts';
import { assertNotGone, assertNotRestored, createHighWater, type HighWater, takeIdentity } from './file/identity.ts';
import { acquireLock, type LedgerLock, thisHolder, watchLedger } from './file/lock.ts';
import { createLogSync, type LogSync } from './file/log-sync.ts';
import { storeForms } from './items/content.ts';
import { reconcileGivenIds } from './items/reconcile.ts';
import { endLeftActions } from './people/people.ts';
import { methodsOf, READS, TIMED_READS, WRITES } from './port-methods.ts';
import { readHolder, readsHere } from './reads.ts';
import { comparePage, lookUpPage, skipPage } from './records/look-up-page.ts';
import { stagePage } from './records/stage-page.ts';
import { pendingSources } from './records/streams.ts';
import type { Sqlite } from './store/database.ts';
import { createGroupCommit } from './store/group-commit.ts';
import { ledgerFaultOf } from './store/ledger-fault.ts';
import { writeMeta } from './store/meta.ts';
import type { Reads } from './store/tx.ts';
import { createFollowClock } from './store/upkeep.ts';
import { openDatabase } from './upgrade/open.ts';
import type { UpgradeOptions } from './upgrade/upgrade.ts';
import { STEPS } from './upgrade-steps.ts';
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
    throw ledgerFaultOf(error, file) ?? error;
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
      throw ledgerFaultOf(error, options.file) ?? error;
    }
  }

  return {
    ...methodsOf(READS, async (read) => reading(read)),
    ...methodsOf(TIMED_READS, async (read) => {
      await followClock.notice();
      return reading(read);
    }),
    ...methodsOf(WRITES, (write) => commit.run(write)),
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
    async comparePage(page) {
      const { ids, ...difference } = reading((reads) => comparePage(reads, page));
      for (const id of ids) page.seen.add(id);
      return difference;
    },
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
    async endRest(operations) {
      if (reading((reads) => mayEndRest(reads, operations))) await commit.run((tx) => endRest(tx, operations));
    },
    async recheckBlocked(request) {
      await followClock.notice();
      return await commit.run((tx) => recheckBlocked(tx, request));
    },
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
