// Compares a plan with what has happened at the platform and in the ledger.

import { PLANNED_WRITES, type PlannedItem } from '../../../src/domain/plan.ts';
import { canonicalJson, type JsonObject } from '../../../src/lib/json.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { type Effect, type NameOf, plannedEffect } from '../../support/plans/effects.ts';
import type { Planned } from '../../support/plans/planned.ts';
import type { ItemState } from '../check/check.ts';
import { type LedgerState, nameOf, withFollowers } from './ledger-state.ts';

export interface Happened {
  plan: readonly PlannedItem[];
  /** What has changed at the platform. */
  effects: readonly Effect[];
  /** The ledger as it was planned with, and at the end. */
  before: LedgerState;
  after: LedgerState;
  platformName: NameOf;
  /** What the platform had and the ledger did not know: `KIND NAME` of items, and `passport NAME STATUS`. */
  there: ReadonlySet<string>;
  /** True if the platform has refused writes or lost answers. Then the ledger says which writes are not done. */
  hasTrouble: boolean;
  /** False if the sync was stopped before all was done. */
  isWhole: boolean;
}

export const isWrite = ({ action }: Pick<PlannedItem, 'action'>): boolean => PLANNED_WRITES.includes(action);

/** The items of whose writes the plan does not know what becomes of them. */
interface Unknown {
  /** Those with a write without an answer, which a sync looks up, and what follows from it. */
  unconfirmed: ReadonlySet<string>;
  /** Also those that the platform had before, and what follows from them. */
  undecided: ReadonlySet<string>;
  /** Those that are not delivered at the end, and what follows from them. */
  open: ReadonlySet<string>;
}

/** Returns each difference as a sentence. */
export function differencesOf(happened: Happened): string[] {
  const { plan, before, after, platformName, there } = happened;
  const writes = plan.filter(isWrite);
  const lookedUp = unconfirmedIn(plan, before);
  const adopted = writes.filter((item) => mayBeAdopted(item, there, platformName)).map(nameOf);
  const unknown: Unknown = {
    unconfirmed: withFollowers(lookedUp, after),
    undecided: withFollowers([...lookedUp, ...adopted], after),
    open: withFollowers(
      [...after.items].flatMap(([name, { open }]) => (open === null ? [] : [name])),
      after,
    ),
  };
  const { done, missing, unplanned } = matched(writes, happened);
  const ofUnconfirmed = new Set([...unknown.unconfirmed].flatMap((name) => platformNames(name, after, platformName)));
  return [
    ...missing
      .filter((item) => !mayMiss(item, unknown, happened))
      .map((item) => `Planned, and not done: ${JSON.stringify(item)}`),
    ...unplanned
      .filter(({ write }) => !ofUnconfirmed.has(write.slice(write.indexOf(' ') + 1)))
      .map((effect) => `Done, and not planned: ${JSON.stringify(effect)}`),
    ...(happened.isWhole ? ledgerDifferences(done, unknown, happened) : []),
  ];
}

/** Finds the effect of each write. */
function matched(
  writes: readonly PlannedItem[],
  { effects, before, platformName, there }: Happened,
): { done: PlannedItem[]; missing: PlannedItem[]; unplanned: Effect[] } {
  const unplanned = [...effects];
  const take = (isIt: (effect: Effect) => boolean): boolean => {
    const at = unplanned.findIndex(isIt);
    if (at >= 0) unplanned.splice(at, 1);
    return at >= 0;
  };
  const inFull = writes.filter((item) => {
    const planned = effectText(plannedEffect(item, platformName));
    return take((effect) => effectText(effect) === planned);
  });
  // The former values of these are not known, so the effect is only a part of what the plan shows.
  const inPart = writes.filter((item) => {
    if (inFull.includes(item)) return false;
    const isAdopted = mayBeAdopted(item, there, platformName);
    if (!isAdopted && !isOfBackup(before.items.get(nameOf(item)))) return false;
    const { write, fields } = plannedEffect(item, platformName);
    const wanted = isAdopted ? write.replace(/^create/, 'update') : write;
    return take((effect) => effect.write === wanted && isPart(effect.fields, fields));
  });
  const done = writes.filter((item) => inFull.includes(item) || inPart.includes(item));
  return { done, missing: writes.filter((item) => !done.includes(item)), unplanned };
}

const effectText = ({ write, fields }: Effect): string => `${write} ${canonicalJson(fields as unknown as JsonObject)}`;

const isPart = (changes: Effect['fields'], planned: Effect['fields']): boolean =>
  Object.entries(changes).every(
    ([field, { new: value }]) => canonicalJson(planned[field]?.new ?? null) === canonicalJson(value ?? null),
  );

/** After a restore the ledger knows that the platform has an item, and has null for the fields. */
const isOfBackup = (item: ItemState | undefined): boolean => Object.values(item?.baseline ?? {}).includes(null);

/** True if the product or material itself, or the product of a BOM item, was at the platform before. */
function mayBeAdopted(
  { action, kind, key, refs = [] }: PlannedItem,
  there: ReadonlySet<string>,
  name: NameOf,
): boolean {
  if (action !== 'create_or_adopt') return false;
  if (kind !== 'bom_item') return there.has(`${kind} ${name(kind, key)}`);
  const product = refs.find(({ role }) => role === 'product');
  return there.has(`product ${name('product', product?.key ?? '')}`);
}

/** The items with a write without an answer that a sync looks up. All others need a person. */
function unconfirmedIn(plan: readonly PlannedItem[], { items }: LedgerState): string[] {
  const inDoubt = plan.filter(({ action, state }) => action === 'blocked' && state === 'in_doubt').map(nameOf);
  return inDoubt.filter((name) => {
    const open = items.get(name)?.open ?? null;
    return open?.state !== 'in_doubt' || open.dueAt > 0;
  });
}

/** True if only the platform could know that a write of the plan is not done. */
function mayMiss(item: PlannedItem, { undecided, open }: Unknown, happened: Happened): boolean {
  const { after, platformName, there, hasTrouble, isWhole } = happened;
  if (!isWhole) return true;
  const own = after.items.get(nameOf(item));
  // The platform had the item, with the same content.
  if (own?.open === null && own.remoteId !== null && mayBeAdopted(item, there, platformName)) return true;
  // The passport was in this state already, which a restored ledger does not know.
  if (own?.open === null && item.kind === 'passport') {
    const wanted = textOf(item.fields['status']?.new);
    if (there.has(`passport ${platformName('product', item.key)} ${wanted}`)) return true;
  }
  // A rule of the platform holds the passport back.
  if (item.gate === 'unknown' && own?.open?.state === 'blocked') return true;
  return (hasTrouble || undecided.has(nameOf(item))) && open.has(nameOf(item));
}

/** The names that the effects of an item may have. */
function platformNames(name: string, { refs }: LedgerState, platformName: NameOf): string[] {
  const [kind = '', ...words] = name.split(' ');
  const key = words.join(' ');
  if (kind === 'passport') return [`passport ${platformName('product', key)}`];
  if (kind !== 'bom_item') return [`${kind} ${platformName(kind, key)}`];
  const ends = (refs.get(name) ?? []).map((end) => platformName(...(end.split(' ') as [string, string])));
  return [ends, ends.toReversed()].map((pair) => `bom_item ${pair.join(' > ')}`);
}

/** The ledger has what was done as delivered, and all else as before. */
function ledgerDifferences(
  done: readonly PlannedItem[],
  { unconfirmed, undecided }: Unknown,
  { plan, before, after, hasTrouble }: Happened,
): string[] {
  const writes = plan.filter(isWrite);
  /** The last write of each item: a passport is prepared and then published. */
  const last = new Map(writes.map((item) => [nameOf(item), item]));
  const undone = done.filter((item) => {
    if (last.get(nameOf(item)) !== item) return false;
    const own = after.items.get(nameOf(item));
    if (own === undefined) return true;
    // A write whose answer was lost is done, and the ledger does not know.
    if (own.open !== null) return !hasTrouble;
    return item.kind === 'passport'
      ? own.baseline?.['status'] !== item.fields['status']?.new
      : own.baselineHash !== own.desiredHash;
  });
  const changed = [...after.items].filter(([name, { baselineHash, remoteId }]) => {
    const was = before.items.get(name);
    const isSame = baselineHash === (was?.baselineHash ?? null) && remoteId === (was?.remoteId ?? null);
    return !isSame && !last.has(name) && !unconfirmed.has(name);
  });
  const moved = plan.filter((item) => {
    if (item.action !== 'blocked' || hasTrouble || undecided.has(nameOf(item))) return false;
    return after.items.get(nameOf(item))?.open?.state !== item.state;
  });
  return [
    ...undone.map((item) => `Done, and not so in the ledger: ${JSON.stringify([item, after.items.get(nameOf(item))])}`),
    ...changed.map(([name]) => `Changed in the ledger, and not planned: ${name}`),
    ...moved.map((item) => {
      return `Planned as ${item.state}, and now ${after.items.get(nameOf(item))?.open?.state}: ${nameOf(item)}`;
    }),
  ];
}

/** Compares what a plan says of the items that are not sent with the ledger. */
export function leftDifferences(plan: readonly PlannedItem[], { items }: LedgerState): string[] {
  const said = plan.flatMap((item) => (item.action === 'blocked' ? [`${nameOf(item)} ${item.state}`] : []));
  const left = [...items].flatMap(([name, { open }]) => (open === null ? [] : [`${name} ${open.state}`]));
  const [planned, actual] = [said, left].map((names) => names.toSorted().join(', '));
  return planned === actual ? [] : [`Left according to the plan: ${planned}; left in the ledger: ${actual}.`];
}

const COUNTS = ['read', 'changed', 'unchanged', 'quarantined', 'excluded', 'missing'] as const;

/** Compares what a plan says of the rows with the report of the sync that read them. */
export function rowDifferences({ summary }: Planned, report: SyncReport): string[] {
  const rowsOf = ({
    runs,
    missing,
    quarantined,
    guarded,
  }: Pick<SyncReport, 'runs' | 'missing' | 'quarantined' | 'guarded'>) =>
    JSON.stringify({
      runs: runs.map((run) => [run.source, run.stream, ...COUNTS.map((name) => run[name])]),
      missing,
      quarantined,
      guarded: guarded.map(({ source, stream }) => [source, stream]),
    });
  const [said, is] = [rowsOf(summary), rowsOf(report)];
  return said === is ? [] : [`Rows according to the plan: ${said}; in the sync: ${is}.`];
}
