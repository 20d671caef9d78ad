import { z } from 'zod';
import { type CleanText, createCleanText } from '../api/answers/answer-text.ts';
import { isIdText } from '../api/answers/entry.ts';
import { kindToBind, type ManualResolution, manualSettlement } from '../delivery/outcome/decide.ts';
import { mayBeSettled, RESOLUTIONS, type Resolution } from '../domain/delivery/delivery.ts';
import type { Operation as Write } from '../domain/delivery/operation.ts';
import { hasTrait, NO_REASON } from '../domain/delivery/stored-reason.ts';
import { fault } from '../domain/faults.ts';
import { remoteIdText, SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import type { NamedDelivery } from '../domain/ports/deliveries.ts';
import type { ItemState } from '../domain/ports/ledger/ledger-standing.ts';
import type { ItemView } from '../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { ListableKind, RemoteItem } from '../domain/ports/target.ts';
import { kindWord, stateWord } from '../domain/words/states.ts';
import type { JsonValue } from '../lib/json.ts';
import { shellWord } from '../lib/text/safe-text.ts';
import { worked } from './documents.ts';
import { findPastedItem, unknownItem } from './named.ts';
import type { Operation } from './operation.ts';
import { outcomeFault } from './outcome-fault.ts';
import { goOn } from './runs.ts';
import type { OperationContext, OperationRuntime } from './runtime.ts';

type Opened = OperationRuntime;

/**
 * The id of an item that a person reports as delivered: the given id, or the id that the platform's list shows for the natural
 * key that was sent.
 *
 * @throws Fault `usage` if the id is not known, or belongs to another item; the fault of `outcomeFault` if the API does
 *   not answer
 */
async function remoteIdOf(
  unconfirmed: NamedDelivery,
  { kind, given }: { kind: ListableKind; given: string | null },
  { ledger, reads, platform }: Opened,
  abort: AbortSignal,
): Promise<JsonValue> {
  const remoteId =
    given === null ? await readBack(unconfirmed, kind, platform, abort) : await inOwnType(given, kind, reads);
  const other = await ledger.boundTo(kind, remoteId);
  // A worker may have found the item's own id meanwhile. Then the ledger refuses the manual resolution.
  if (other === null || other === unconfirmed.key) return remoteId;
  throw fault('usage', `The id ${remoteIdText(remoteId)} already belongs to the ${kindWord(kind)} "${other}".`, {
    suggestion: 'Find the id of the item at the platform, and name this id with --id.',
  });
}

async function readBack(
  { naturalKey, key }: NamedDelivery,
  kind: ListableKind,
  platform: OperationRuntime['platform'],
  abort: AbortSignal,
): Promise<JsonValue> {
  const found: RemoteItem[] = [];
  const listing = await platform.list(
    kind,
    (items) => {
      for (const item of items) {
        if (naturalKey !== null && item.naturalKey === naturalKey && found.length < 2) found.push(item);
      }
    },
    { signal: abort },
  );
  if (!listing.complete) {
    abort.throwIfAborted();
    throw outcomeFault(listing.outcome, {
      failure: `The id of "${key}" cannot be read from the platform`,
      cure: 'Look up the id of the item at the platform, and name this id with --id.',
    });
  }
  const [only] = found;
  if (only !== undefined && found.length === 1 && only.remoteId !== null) return only.remoteId;
  const shown =
    found.length === 0
      ? `shows no ${kindWord(kind)} "${naturalKey ?? key}"`
      : `shows more than one ${kindWord(kind)} "${naturalKey ?? key}", or none with an id`;
  throw fault('usage', `The platform's list ${shown}, so its id is not known.`, {
    suggestion: 'Look at the platform: give the id with --id, or use --rejected if the item is not there.',
  });
}

/**
 * Converts an id that a person has typed to the type of the platform's ids of this kind: these are either all numbers
 * or all texts.
 */
async function inOwnType(text: string, kind: SubjectKind, reads: Reads): Promise<string | number> {
  const { items } = await reads.itemsAfter({ kind, afterId: 0, limit: KNOWN_LOOKED_AT });
  const known = items.find(({ remoteId }) => remoteId !== null)?.remoteId;
  const isNumeral = /^(0|[1-9]\d{0,14})$/.test(text);
  return isNumeral && typeof known !== 'string' ? Number(text) : text;
}

const KNOWN_LOOKED_AT = 100;

/**
 * Checks that a text which a person gives as an id has the form of the platform's ids.
 *
 * @throws Fault `usage`
 */
function givenId(text: string, cleanText: CleanText): string {
  // A text with a slash is an address. The id, which is the last part of the address, never has a slash.
  if (isIdText(text, cleanText) && !/[\s/\\]/.test(text)) return text;
  throw fault('usage', `--id ${JSON.stringify(cleanText(text))} cannot be an id at the platform.`, {
    suggestion: 'Name the id alone, as the platform shows it. Or leave --id out: dpp-sync then looks the id up.',
  });
}

const SettleRequest = z
  .strictObject({
    /** Keys or natural keys. A passport is named by its product. */
    names: z.array(z.string()).min(1),
    resolution: z.enum(RESOLUTIONS),
    /** The id of the item at the platform; null to look it up if it is needed. */
    id: z.string().nullable(),
    kind: z.enum(SUBJECT_KINDS).nullable(),
  })
  .refine(
    ({ names, resolution, id }) => id === null || (resolution === 'delivered' && names.length === 1),
    'An id needs exactly one name and the resolution `delivered`.',
  );
export type SettleRequest = z.infer<typeof SettleRequest>;

/** The state of an item after a manual resolution. */
interface SettledItem {
  kind: SubjectKind;
  key: string;
  state: ItemState;
  remoteId: JsonValue;
}

export type SettleResult =
  /** The platform has several items with its key, and the item is bound to the one that was named. */
  | { bound: SettledItem }
  | {
      /** `operation` is null if a missing item was accepted. */
      settled: (SettledItem & { operation: Write | null })[];
      /** Deliveries that became due. */
      released: number;
    };

/** The target of a name: a delivery to be settled, or an item that is gone from its source. */
type Meant = { delivery: NamedDelivery; word: ManualResolution } | { missing: Pick<ItemView, 'kind' | 'key'> };

/**
 * Settles the named deliveries. All names are looked up before the first delivery is settled, so that a mistyped name settles
 * nothing.
 *
 * @throws Fault `item.unknown`, `usage`, `item.changed`, and the errors of `remoteIdOf`
 */
export const settle: Operation<SettleRequest, SettleResult> = {
  name: 'settle',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Settles named deliveries by hand.',
  request: SettleRequest,
  result: worked(),
  async run({ names: pasted, resolution, id, kind }, context) {
    const { runtime } = context;
    const asked = kind === null ? SUBJECT_KINDS : [kind];
    const names = await Promise.all(pasted.map((name) => findPastedItem(name, runtime.reads, asked)));
    const given = id === null ? null : givenId(id, createCleanText(runtime.secrets));
    const [only = ''] = names;
    if (given !== null) {
      const kinds = (['product', 'material'] as const).filter((one) => kind === null || one === kind);
      const bound = await bindAmbiguous(only, { kinds, id: given }, runtime);
      if (bound !== null) return { bound };
    }
    const meant = new Map<string, Meant>();
    for (const name of names) {
      const one = await look(name, { resolution, given, kind }, context);
      const { kind: of, key } = subjectOf(one);
      meant.set(`${of} ${key}`, one);
    }
    return carryOutAll([...meant.values()], runtime);
  },
  document: settleDocument,
  exitCode: () => 0,
};

function settleDocument(result: SettleResult): object {
  if ('bound' in result) return result.bound;
  const { settled, released } = result;
  const [only] = settled;
  if (only !== undefined && settled.length === 1) return { ...only, released };
  return { settled: settled.length, left: 0, released, deliveries: settled };
}

/**
 * Settles the delivery of an item that a person has looked at.
 *
 * @throws Fault `item.changed` if the item no longer has the delivery of this revision, and the faults of `settle`
 */
export async function settleSeen(
  { kind, key, revision }: Pick<NamedDelivery, 'kind' | 'key' | 'revision'>,
  resolution: Resolution,
  context: OperationContext,
): Promise<{ released: number }> {
  const meant = await look(key, { resolution, given: null, kind }, context);
  const isSeen = 'delivery' in meant && meant.delivery.key === key && meant.delivery.revision === revision;
  if (isSeen) return carryOutAll([meant], context.runtime);
  throw fault('item.changed', `The ${kindWord(kind)} "${key}" has changed since it was shown, so it was not settled.`, {
    suggestion: 'Look at the item and at the platform again, and settle it if it still needs a person.',
  });
}

interface Asked {
  resolution: Resolution;
  given: string | null;
  kind: SubjectKind | null;
}

/**
 * Binds an item whose key the platform has several times to the id that a person names. Null if there is no item with
 * this name and several ids.
 *
 * @throws Fault `usage` if the id belongs to another item
 */
async function bindAmbiguous(
  name: string,
  { kinds, id }: { kinds: readonly ListableKind[]; id: string },
  runtime: OperationRuntime,
): Promise<SettledItem | null> {
  const { ledger, reads } = runtime;
  for (const kind of kinds) {
    const reason = (await reads.item(kind, name))?.reason ?? NO_REASON;
    if (!hasTrait(reason, 'ambiguous_key')) continue;
    const remoteId = await inOwnType(id, kind, reads);
    const other = await ledger.boundTo(kind, remoteId);
    if (other !== null) {
      throw fault('usage', `The id ${remoteIdText(remoteId)} already belongs to the ${kindWord(kind)} "${other}".`, {
        suggestion: 'Look at the platform again, and name the id that this item has there.',
      });
    }
    const adopted = await ledger.adoptAs({ name, kind, remoteId });
    if (adopted === null) continue;
    goOn(runtime);
    return settledItem({ kind, key: adopted.key }, reads);
  }
  return null;
}

async function look(name: string, asked: Asked, context: OperationContext): Promise<Meant> {
  const { resolution, given, kind } = asked;
  const { ledger, reads } = context.runtime;
  const all = (await ledger.deliveriesNamed(name)).filter((one) => kind === null || one.kind === kind);
  const meant = all.filter((one) => mayBeSettled(one, resolution));
  const [only] = meant;
  if (only === undefined) {
    const missing = resolution === 'ignored' ? await missingItem(name, kind, reads) : null;
    if (missing !== null) return { missing };
    throw await nothingToSettle(name, asked, all, reads);
  }
  if (meant.length > 1) throw several(name, meant);
  if (resolution !== 'delivered') return { delivery: only, word: { said: resolution } };
  if (hasTrait(only.reason, 'ambiguous_key')) throw fault('usage', only.reason.message);
  return { delivery: only, word: await delivered(only, given, context) };
}

async function delivered(
  delivery: NamedDelivery,
  given: string | null,
  { runtime, abort }: OperationContext,
): Promise<ManualResolution> {
  const kind = kindToBind(delivery.operation);
  const said = 'delivered' as const;
  if (kind !== null) return { said, remoteId: await remoteIdOf(delivery, { kind, given }, runtime, abort) };
  if (given !== null && delivery.operation !== 'bom_item.create') {
    throw fault('usage', `${delivery.operation} of "${delivery.key}" does not give an id: remove --id.`);
  }
  return { said, remoteId: given === null ? null : await inOwnType(given, delivery.kind, runtime.reads) };
}

/** @throws Fault `item.changed` after all other deliveries are settled */
async function carryOutAll(
  meant: readonly Meant[],
  runtime: OperationRuntime,
): Promise<Extract<SettleResult, { settled: unknown }>> {
  const changed: Meant[] = [];
  let released = 0;
  try {
    for (const one of meant) {
      const done = await carryOut(one, runtime);
      released += done.released;
      if (!done.applied) changed.push(one);
    }
  } finally {
    goOn(runtime);
  }
  const { reads } = runtime;
  if (changed.length > 0) throw await haveChanged(changed.map(subjectOf), meant.length - changed.length, reads);
  const settled = await Promise.all(
    meant.map(async (one) => ({
      ...(await settledItem(subjectOf(one), reads)),
      operation: 'missing' in one ? null : one.delivery.operation,
    })),
  );
  return { settled, released };
}

async function carryOut(meant: Meant, { ledger }: OperationRuntime): Promise<{ applied: boolean; released: number }> {
  if ('missing' in meant) {
    const { kind, key } = meant.missing;
    return { applied: (await ledger.acceptMissing({ name: key, kind, source: null })) > 0, released: 0 };
  }
  const { delivery, word } = meant;
  const [settled] = await ledger.settle([manualSettlement(delivery, word)]);
  return settled ?? { applied: false, released: 0 };
}

function subjectOf(meant: Meant): Pick<ItemView, 'kind' | 'key'> {
  return 'missing' in meant ? meant.missing : meant.delivery;
}

async function settledItem({ kind, key }: Pick<ItemView, 'kind' | 'key'>, reads: Reads): Promise<SettledItem> {
  const item = await reads.item(kind, key);
  return { kind, key, state: item?.state ?? 'delivered', remoteId: item?.remoteId ?? null };
}

async function missingItem(name: string, kind: SubjectKind | null, reads: Reads): Promise<ItemView | null> {
  const kinds = kind === null ? SUBJECT_KINDS : [kind];
  const found = (await itemsNamed(name, kinds, reads)).filter((item) => item.missing);
  const [only] = found;
  if (found.length <= 1) return only ?? null;
  throw fault('usage', `Several items under "${name}" are missing from their sources.`, {
    suggestion: `Name the kind with --kind ${found.map((item) => item.kind).join(' or --kind ')}.`,
  });
}

/**
 * Workers may continue a delivery after it was looked up and before it is settled. Then their result is kept, and the
 * person has to look again.
 */
async function haveChanged(
  subjects: readonly Pick<ItemView, 'kind' | 'key'>[],
  settled: number,
  reads: Reads,
): Promise<Error> {
  const present = await Promise.all(subjects.map((subject) => settledItem(subject, reads)));
  const states = present.map(({ kind, key, state }) => `the ${kindWord(kind)} "${key}" is ${stateWord(state)} now`);
  const others = settled === 0 ? 'Nothing was settled.' : 'The other deliveries were settled.';
  return fault('item.changed', `Deliveries changed while they were being settled: ${states.join(', ')}. ${others}`, {
    suggestion: '`dpp-sync show` shows their states. Settle the deliveries again if they still need a person.',
  });
}

function several(name: string, meant: readonly NamedDelivery[]): Error {
  const names = meant.map(({ kind, key, operation }) => `${kindWord(kind)} ${key} (${operation})`);
  const kinds = new Set(meant.map(({ kind }) => kind));
  return fault('usage', `Several deliveries under "${name}" can be settled: ${names.join(', ')}.`, {
    suggestion:
      kinds.size > 1
        ? `Name the kind with --kind ${[...kinds].join(' or --kind ')}.`
        : 'Name one by its key in place of its SKU or code.',
  });
}

async function nothingToSettle(
  name: string,
  { resolution, kind }: Asked,
  all: readonly NamedDelivery[],
  reads: Reads,
): Promise<Error> {
  const kinds = kind === null ? SUBJECT_KINDS : [kind];
  const known = await itemsNamed(name, kinds, reads);
  const [item] = known;
  if (item === undefined) return unknownItem(kind ?? 'product', name, reads);
  const states = known.map((one) => `the ${kindWord(one.kind)} is ${stateWord(one.state)}`);
  const [stuck] = all;
  return fault('usage', `Nothing of "${name}" can be settled as ${resolution}: ${states.join(', ')}.`, {
    suggestion:
      resolution === 'ignored' && stuck !== undefined
        ? otherThanIgnoring(stuck)
        : `\`dpp-sync show ${item.kind} ${shellWord(item.key)}\` shows its state and what to do.`,
  });
}

/** The items of these kinds with this key or natural key. */
async function itemsNamed(name: string, kinds: readonly SubjectKind[], reads: Reads): Promise<ItemView[]> {
  const found = await Promise.all(kinds.map((kind) => reads.item(kind, name)));
  return found.filter((item) => item !== null);
}

/** Why a delivery cannot be ignored, and which resolutions are possible. */
function otherThanIgnoring({ kind, key }: NamedDelivery): string {
  return kind === 'passport'
    ? `If the passport is not wanted any more, run \`dpp-sync unpublish ${shellWord(key)}\`.`
    : 'The write may have arrived. Look at the platform, then use --delivered or --rejected.';
}
