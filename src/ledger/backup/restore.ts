// Puts a backup in the ledger's place, and accepts it.

import { randomUUID } from 'node:crypto';
import { constants, copyFileSync, existsSync, linkSync, realpathSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { type Operation, showsInPublications } from '../../domain/delivery/operation.ts';
import { hasTrait, NO_REASON, type Reason, storedReason } from '../../domain/delivery/stored-reason.ts';
import { NO_FORMS } from '../../domain/delivery/wire-form.ts';
import { fault } from '../../domain/faults.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import { forgetListings } from '../contact/listings.ts';
import { voidLeases } from '../deliveries/unconfirmed.ts';
import { ledgerPath } from '../file/file.ts';
import { bindTarget, createHighWater, readMark, takeIdentity } from '../file/identity.ts';
import { acquireLock, thisHolder } from '../file/lock.ts';
import { presenceOf } from '../items/content.ts';
import { itemsById, mayHaveArrived } from '../items/item-row.ts';
import { storeBaselines } from '../items/item-writes.ts';
import { leaveRequestsOf } from '../items/requests.ts';
import { beginLookUps, RESTORED, whyUnconfirmed } from '../items/restored.ts';
import { markUnconfirmed, supersedeRevisions } from '../items/revisions.ts';
import { readHolder } from '../reads.ts';
import { countPendingRows } from '../records/streams.ts';
import { copyInto, damageOf, markAsBackup, openFile, removePartial, type Sqlite, syncFile } from '../store/database.ts';
import { readMeta, removeMeta, writeMeta } from '../store/meta.ts';
import { column, inTransaction, type LedgerContext, statement, type Tx } from '../store/tx.ts';
import { openDatabase, openDatabaseReadOnly } from '../upgrade/open.ts';
import type { UpgradeOptions } from '../upgrade/upgrade.ts';
import { STEPS } from '../upgrade-steps.ts';

interface RestoreRequest {
  file: string;
  /** The backup's path; null to accept the file that is at the ledger's path already. */
  from: string | null;
  target: string;
  profile: Profile;
  clock: Clock;
  /** Reports in full sentences how a backup of an older version is upgraded. */
  report?: UpgradeOptions['report'];
  /** The steps of upgrades; those of the program, except in tests. */
  steps?: UpgradeOptions['steps'];
}

/**
 * Puts a backup in the ledger's place and accepts it. After a crash, the same call completes the restore, with or
 * without `from`.
 *
 * @returns which deliveries have to be looked up, and the path of the former ledger
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.newer`, `ledger.older`, `ledger.linked` or
 *   `usage`
 */
export function restoreLedger({
  file,
  from,
  target,
  profile,
  clock,
  report = () => {},
  steps = STEPS,
}: RestoreRequest): {
  toLookUp: ToLookUp;
  kept: string | null;
} {
  const lock = acquireLock(file, () => holderOf(file));
  try {
    const place = ledgerPath(file);
    const isInPlace = from === null || (existsSync(from) && realpathSync(from) === place);
    assertUsable(isInPlace ? place : from, target, steps);
    const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const keepAs = freeName(`${place}.before-${stamp}`);
    const kept = isInPlace ? null : putInPlace(from, { place, keepAs, now: clock.now() });

    const generation = readMark(file)?.generation ?? 0;
    // An upgrade of a copied backup needs no further backup: the original is unchanged.
    const db = openDatabase(place, { clock, report, steps, backsUp: isInPlace });
    try {
      // A ledger that lost its log before the first checkpoint has no identity yet.
      const holder = thisHolder({ command: 'ledger restore', now: clock.now() });
      const identity = takeIdentity(db, { file, target, holder });
      const toLookUp = acceptRestored(db, { target, profile, clock, generation });
      createHighWater(db, file, identity).close();
      return { toLookUp, kept };
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

/** The name, with a number if there is such a file: two restores may begin in the same second. */
function freeName(name: string): string {
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name}-${number}`;
    if (!existsSync(numbered)) return numbered;
  }
}

/** Checks the whole file before anything is changed. */
function assertUsable(file: string, target: string, steps: UpgradeOptions['steps']): void {
  const db = openDatabaseReadOnly(file, steps);
  if (!db) {
    throw fault('usage', `${file} is not a ledger, or does not exist.`, {
      suggestion: 'Name a file that `dpp-sync ledger backup` has made, or a copy of a ledger.',
    });
  }
  try {
    bindTarget(readMeta({ db }, 'target') ?? target, target, file);
    const damage = damageOf(db);
    if (damage !== null) {
      throw fault('ledger.unreadable', `${file} is damaged: ${damage}.`, {
        path: 'ledger',
        suggestion: 'Name another backup: `dpp-sync ledger verify FILE` shows whether a backup is sound.',
      });
    }
  } finally {
    db.close();
  }
}

/** The process that has the lock, or null if the ledger is too damaged to name it. */
function holderOf(file: string): ReturnType<typeof readHolder> {
  try {
    return readHolder(file);
  } catch {
    return null;
  }
}

/**
 * Replaces the ledger's file with a copy of a backup, and keeps the former file beside it. The copy is marked as a
 * backup, so after a crash nothing takes it for the former ledger. The caller holds the ledger's lock.
 *
 * @returns the path of the former ledger; null if there was none
 */
export function putInPlace(
  backup: string,
  { place, keepAs, now }: { place: string; keepAs: string; now: number },
): string | null {
  const partial = `${place}.part`;
  removePartial(partial);
  try {
    const source = openFile(backup, { readonly: true });
    try {
      copyInto(source, partial);
    } finally {
      source.close();
    }
    markAsBackup(partial, now);
    syncFile(partial);
    const before = existsSync(place) ? keepAs : null;
    if (before !== null) {
      // SQLite would apply the former file's log to the new file. The former file without its log is recognised as an
      // older copy.
      for (const suffix of ['-wal', '-shm']) {
        if (existsSync(`${place}${suffix}`)) renameSync(`${place}${suffix}`, `${before}${suffix}`);
      }
      keep(place, before);
    }
    renameSync(partial, place);
    syncFile(dirname(place));
    return before;
  } catch (error) {
    // A failed copy is as large as the ledger, so it must not stay on the disk.
    removePartial(partial);
    throw error;
  }
}

/**
 * Gives the former ledger a second name. It keeps its first name until the new file replaces it: a process that finds
 * no ledger would create an empty one.
 */
function keep(place: string, as: string): void {
  try {
    linkSync(place, as);
  } catch {
    // This file system has no hard links, so the file is copied. Nothing that has the second name is overwritten.
    copyFileSync(place, as, constants.COPYFILE_EXCL);
  }
}

/** How many deliveries have to be looked up, by operation. A person has to look up those that the API cannot list. */
type ToLookUp = Partial<Record<Operation, number>>;

interface OpenRow {
  id: number;
  revision: number;
  operation: Operation;
  state: DeliveryState;
  uncertain: 0 | 1;
  reason: string | null;
}

interface BoundRow {
  id: number;
  kind: SubjectKind;
  baseline: string;
}

const NO_PASSPORTS: PassportRules = {
  isConfigured: false,
  init: 'manual',
  publish: 'manual',
  sources: [],
  partSources: [],
  bomSources: [],
  withdrawMissingOf: [],
  mappedFields: [],
};

/** How many contents one statement stores, which is one text. */
const ROWS_AT_ONCE = 1_000;

const SQL = {
  open: statement<[], OpenRow>(
    `SELECT id, revision, operation, state, uncertain, reason FROM items
     WHERE state IN ('waiting', 'due', 'sending', 'in_doubt') ORDER BY id`,
  ),
  withRecord: column<[string], number>(
    `SELECT i.id FROM json_each(?) listed CROSS JOIN items i ON i.id = listed.value
     JOIN records r ON r.id = i.record_id AND r.missing_since IS NULL`,
  ),
  bound: statement<[], BoundRow>(
    `SELECT id, kind, CASE WHEN acknowledged = 1 THEN desired ELSE baseline END AS baseline FROM items
     WHERE kind IN ('product', 'material') AND acknowledged > 0 ORDER BY id`,
  ),
  streams: column<[], number>('SELECT id FROM streams ORDER BY id'),
  readAgain: statement("UPDATE records SET state = 'stale', version = version + 1"),
  raise: statement<[{ least: string }]>(
    `INSERT INTO meta (name, value) VALUES ('generation', @least)
     ON CONFLICT (name) DO UPDATE
       SET value = CAST(max(CAST(meta.value AS BIGINT), CAST(excluded.value AS BIGINT)) + 1 AS TEXT)`,
  ),
};

/**
 * Accepts the ledger in the file. All of it is one transaction, so a crash leaves the ledger accepted or unchanged.
 *
 * What a restored ledger knows of the API is as old as the backup, so five things change:
 * - New idempotency keys differ from all keys that were used since the backup. A server would answer a known key with
 *   its earlier answer.
 * - Updates and publications that were sent before the backup get new keys too. Later writes may have been acknowledged
 *   since, and the earlier answer shows nothing about them. Repeating an update does no harm. A publication is looked
 *   up before it is repeated.
 * - An update that was answered, and whose answer was not confirmed by a list yet, counts as lost for the same reason.
 * - Creates that may have been sent since the backup are looked up first. `restored.ts` decides which.
 * - Of products and materials the ledger only knows that they exist. Every record is mapped again when its source is
 *   read, so each product and material is written in full once, with the source's present content. An item that is
 *   missing from its source is written when it comes back.
 *
 * @param generation the count of commits in the mark; the ledger's own count has to become greater
 */
function acceptRestored(
  db: Sqlite,
  { target, profile, clock, generation }: { target: string; profile: Profile; clock: Clock; generation: number },
): ToLookUp {
  // Nothing is mapped, encoded or guarded here.
  const context: LedgerContext = {
    db,
    clock,
    profile,
    forms: NO_FORMS,
    contactRules: { firstContact: 'assume-empty', bom: 'create' },
    passportRules: NO_PASSPORTS,
    guardOf: () => null,
    encode: notUsed,
    encodeImport: notUsed,
    epoch: randomUUID(),
    target,
  };
  return inTransaction(context, (tx) => {
    writeMeta(tx, 'epoch', tx.epoch);
    removeMeta(tx, 'backup_at');
    SQL.raise(tx).run({ least: String(generation + 1) });
    beginLookUps(tx);
    forgetListings(tx);
    const toLookUp = lookUpOpen(tx);
    forgetContents(tx);
    // No process is sending any more. A delivery that is being sent has a request, so the leases are voided before the
    // requests are released.
    voidLeases(tx, profile.settlingDelayMs.reset);
    leaveRequestsOf(tx, withNewKeys(profile));
    for (const streamId of SQL.streams(tx).all()) countPendingRows(tx, streamId);
    SQL.readAgain(tx).run();
    return toLookUp;
  });
}

/** Makes the writes unconfirmed that may have been sent since the backup. Returns how many, by operation. */
function lookUpOpen(tx: Tx): ToLookUp {
  const toLookUp: ToLookUp = {};
  const open = SQL.open(tx).all();
  const lookAt = tx.clock.now();
  // I2: a create that was sent keeps its key. A delivery that is claimed later gets a key of the new epoch. A waiting
  // delivery is checked when its refs arrive, because the refs may prove that it is new.
  const creates = whyUnconfirmed(
    tx,
    open.filter(({ state }) => state !== 'waiting'),
  );
  const left: OpenRow[] = [];
  const marked = open.flatMap((row) => {
    const wasPublishing = showsInPublications(row.operation) && mayHaveArrived(row);
    const why = wasPublishing ? { reason: RESTORED, lookAt } : creates.get(row.id);
    if (why !== undefined) {
      toLookUp[row.operation] = (toLookUp[row.operation] ?? 0) + 1;
      return [{ ...row, why }];
    }
    if (isAnsweredUpdate(row)) return [{ ...row, why: { reason: OLD_ANSWER, lookAt } }];
    left.push(row);
    return [];
  });
  markUnconfirmed(tx, marked);
  const updates = left.filter((row) => row.state === 'due' && isUpdate(row.operation) && row.uncertain === 0);
  const ids = SQL.withRecord(tx).all(JSON.stringify(updates.map(({ id }) => id)));
  // The staged content is as old as the backup. The item's record stages the change again after its source was read.
  supersedeRevisions(tx, itemsById(tx, ids));
  return toLookUp;
}

/** True for an update whose answer counts once a list has shown the item. */
function isAnsweredUpdate({ operation, state, reason }: OpenRow): boolean {
  return isUpdate(operation) && state === 'in_doubt' && hasTrait(storedReason(reason) ?? NO_REASON, 'was_answered');
}

/** Of products and materials, only their presence at the API is known. */
function forgetContents(tx: Tx): void {
  const { profile } = tx;
  const rows = SQL.bound(tx)
    .all()
    // A platform that updates no products would not accept a full write of a product.
    .filter(({ kind }) => kind !== 'product' || profile.productUpdate !== 'none');
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    storeBaselines(
      tx,
      rows.slice(at, at + ROWS_AT_ONCE).map(({ id, kind, baseline }) => ({
        id,
        ...presenceOf(profile, kind, { desired: baseline, before: baseline }),
      })),
    );
  }
}

const OLD_ANSWER: Reason = {
  code: 'crash',
  message:
    'The ledger was restored from a backup, and later writes may have replaced the content of this answered write.',
};

function notUsed(): never {
  throw fault('internal', 'Nothing is encoded while a restored ledger is accepted.');
}

/**
 * The operations whose requests are not sent again under their old keys. Where the platform updates no products, an
 * import would make a second product under another key.
 */
function withNewKeys({ productUpdate }: Profile): Operation[] {
  const operations: Operation[] = ['material.update', 'passport.publish', 'passport.unpublish'];
  return productUpdate === 'import' ? [...operations, 'product.import'] : operations;
}

function isUpdate(operation: Operation): boolean {
  return operation === 'product.import' || operation === 'material.update';
}
