// The methods of the ledger that are one read or one write. Each is the function of its name here, which gets its reads or its
// transaction before the arguments of the method.

import type { HeldStream } from '../domain/ports/guarded-intake.ts';
import type { MappedRecord, RunStart, StageSummary, StartedRun } from '../domain/ports/intake.ts';
import { storeActivity } from './activity/activity.ts';
import { contactSteps, endProof, hasUnbound, unprovenKinds } from './contact/contact.ts';
import { beginListing, confirmListing, failListing, isFreshlyListed, storeListed } from './contact/listings.ts';
import { compareListed, endListing } from './deliveries/adoption.ts';
import { adoptAs, answerParts } from './deliveries/adoption-decisions.ts';
import { claim } from './deliveries/claim.ts';
import { deadLetter } from './deliveries/dead-letter.ts';
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
import { importGain, importProofs, isOpenDelivery, lostImports, storeImportProof } from './deliveries/imports.ts';
import { intendedWrites, leftItems, publicProductsOf } from './deliveries/intended.ts';
import { lookUpRefusedCreates } from './deliveries/recheck.ts';
import { forceUnconfirmed, replay, replayCandidates, replayForm } from './deliveries/replay.ts';
import { settle } from './deliveries/settle.ts';
import {
  acknowledgedCreates,
  boundTo,
  countSelected,
  deliveriesNamed,
  selectedDeliveries,
  unconfirmedDeliveries,
} from './deliveries/unconfirmed.ts';
import { acceptMissing } from './items/missing.ts';
import { askForPassports, evaluatePassports, replayPassports, unpublishedPassports } from './passports/passports.ts';
import {
  beginAction,
  dropPasswords,
  endAction,
  keepTask,
  keptTasks,
  noteCause,
  passwords,
  removeLookupValue,
  setLookupValue,
  setPassword,
  valuesByHand,
} from './people/people.ts';
import { endStream } from './records/end-stream.ts';
import { checkGone } from './records/gone-records.ts';
import { decideReleasedItemsOf, settleHeldCreates } from './records/guarded-items.ts';
import { acceptGuarded, refuseGuarded } from './records/guarded-reads.ts';
import { countPresent } from './records/look-up-page.ts';
import { defineLookups, findLookups } from './records/lookups.ts';
import {
  decideHeldRun,
  endRun,
  identifyRecords,
  itemRecords,
  remapRecords,
  startRun,
  storeIdentity,
} from './records/runs.ts';
import { stageRecords } from './records/staging.ts';
import { pendingRecords, recordsByKey } from './records/streams.ts';
import { echoedOperations, noteApiWait, storeEcho, writeDaemonNote } from './store/meta.ts';
import type { Tx } from './store/tx.ts';
import { pruneHistory } from './store/upkeep.ts';

/** Reads of what is stored. */
export const READS = {
  itemRecords,
  countPresent,
  checkGone,
  findLookups,
  recordsByKey,
  pendingRecords,
  countSending,
  hasSuspended,
  intendedWrites,
  leftItems,
  publicProductsOf,
  denialsOf,
  countSuspended,
  importProofs,
  lostImports,
  isOpen: isOpenDelivery,
  importGain,
  echoedOperations,
  deliveriesNamed,
  countSelected,
  selectedDeliveries,
  boundTo,
  replayCandidates,
  unpublishedPassports,
  acknowledgedCreates,
  unprovenKinds,
  hasUnbound,
  contactSteps,
  isFreshlyListed,
  valuesByHand,
  keptTasks,
  passwords,
};

/** Reads that compare stored times with the present. The ledger first follows a clock that was set. */
export const TIMED_READS = {
  dueDeliveries,
  someDueDelivery,
  dueByHand,
  nextDueAt,
  leftAway,
  dueAmong,
  unconfirmedDeliveries,
};

/** Writes, each of which is a part of one transaction. */
export const WRITES = {
  startRun(tx: Tx, start: RunStart): StartedRun {
    lookUpRefusedCreates(tx, start.source);
    return startRun(tx, start);
  },
  storeIdentity,
  identifyRecords,
  remapRecords,
  endStream,
  endRun,
  decideHeldRun,
  accept: acceptGuarded,
  refuse: refuseGuarded,
  defineLookups,
  stage(tx: Tx, records: readonly MappedRecord[]): StageSummary & { held?: readonly HeldStream[] } {
    const summary = stageRecords(tx, records);
    const [first] = records;
    const held = first === undefined ? [] : decideReleasedItemsOf(tx, first.id);
    settleHeldCreates(tx);
    return held.length === 0 ? summary : { ...summary, held };
  },
  claim,
  settle,
  storeImportProof,
  storeEcho,
  deadLetter,
  acceptMissing,
  replay,
  replayForm,
  forceUnconfirmed,
  evaluatePassports,
  askForPassports,
  replayPassports,
  endProof,
  beginListing,
  storeListed,
  endListing,
  confirmListing,
  failListing,
  compareListed,
  answerParts,
  adoptAs,
  noteApiWait,
  noteDaemon: writeDaemonNote,
  beginAction,
  endAction,
  keepTask,
  noteCause,
  setLookupValue,
  removeLookupValue,
  setPassword,
  dropPasswords,
  storeActivity,
  prune: pruneHistory,
};

/** Functions that get a context before their other arguments. */
type Table = Record<string, (context: never, ...args: never[]) => unknown>;

/** The context that all functions of a table take. */
type ContextOf<Of extends Table> = Of[keyof Of] extends (context: infer Context, ...args: never[]) => unknown
  ? Context
  : never;

/** The methods that a table stands for: they get no context, and are asynchronous. */
type Methods<Of> = {
  [Name in keyof Of]: Of[Name] extends (context: never, ...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result>
    : never;
};

/**
 * Makes the methods that a table stands for.
 *
 * @param run runs one call with its context
 */
export function methodsOf<Of extends Table>(
  table: Of,
  run: (call: (context: ContextOf<Of>) => unknown) => Promise<unknown>,
): Methods<Of> {
  const methods = Object.entries(table).map(([name, method]) => [
    name,
    (...args: never[]) => run((context) => method(context as never, ...args)),
  ]);
  return Object.fromEntries(methods) as Methods<Of>;
}
