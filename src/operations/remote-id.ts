import type { CleanText } from '../api/answers/answer-text.ts';
import { isIdText } from '../api/answers/entry.ts';
import { fault } from '../domain/faults.ts';
import type { SubjectKind } from '../domain/item.ts';
import type { NamedDelivery } from '../domain/ports/deliveries.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { ListableKind, RemoteItem } from '../domain/ports/target.ts';
import { kindWord } from '../domain/words/states.ts';
import type { JsonValue } from '../lib/json.ts';
import { outcomeFault } from './outcome-fault.ts';
import type { OperationRuntime } from './runtime.ts';

type Opened = OperationRuntime;

/**
 * The id of an item that a person reports as delivered: the given id, or the id that the platform's list shows for the natural
 * key that was sent.
 *
 * @throws Fault `usage` if the id is not known, or belongs to another item; the fault of `outcomeFault` if the API does
 *   not answer
 */
export async function remoteIdOf(
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
  throw fault('usage', `The id ${idText(remoteId)} already belongs to the ${kindWord(kind)} "${other}".`, {
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

/** An id in a message. */
export function idText(id: JsonValue): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}

/**
 * Converts an id that a person has typed to the type of the platform's ids of this kind: these are either all numbers
 * or all texts.
 */
export async function inOwnType(text: string, kind: SubjectKind, reads: Reads): Promise<string | number> {
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
export function givenId(text: string, cleanText: CleanText): string {
  // A text with a slash is an address. The id, which is the last part of the address, never has a slash.
  if (isIdText(text, cleanText) && !/[\s/\\]/.test(text)) return text;
  throw fault('usage', `--id ${JSON.stringify(cleanText(text))} cannot be an id at the platform.`, {
    suggestion: 'Name the id alone, as the platform shows it. Or leave --id out: dpp-sync then looks the id up.',
  });
}
