// Finds keys that people paste from the output of commands. A printed key can differ from the stored one: its kind
// comes before it, its natural key comes after it, ` / ` separates the parts of a row's key, control characters are
// escaped, or the key is shortened.

import { fault } from '../domain/faults.ts';
import { ITEM_KINDS, type SubjectKind } from '../domain/item.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import { writtenKey } from '../domain/record.ts';

const CANDIDATES_MAX = 500;
const NEAR_MAX = 3;
const KIND = /^(?:product|material|bom[ _-]item|passport)s?(?:\s*[:/]\s*|\s+)(?=\S)/i;
/** Matches a key that was cut at its end or in its middle. */
const SHORTENED = /^([^…]+)…([^…]*)$/;

/** Each function undoes one change that printing makes to a key. */
const READINGS: readonly ((key: string) => string[])[] = [
  (key) => [key.trim()],
  (key) => [key.replaceAll('⏎', '\n').replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) => fromHex(code))],
  (key) => [writtenKey(key)],
  // The natural key may have parentheses itself.
  (key) => (key.endsWith(')') ? [...key.matchAll(/ \(/g)].map(({ index }) => key.slice(0, index)) : []),
  (key) => [key.replace(KIND, '')],
];

function fromHex(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

/** All keys that a printed key may stand for, the most obvious first. */
export function readingsOf(key: string): string[] {
  const readings = [key];
  // The list grows during this loop, so that several changes are undone together. Every function makes a key shorter or
  // simpler, so the loop ends.
  for (const one of readings) {
    for (const read of READINGS) {
      for (const other of read(one)) if (other !== '' && !readings.includes(other)) readings.push(other);
    }
  }
  return readings;
}

/**
 * The key or natural key of an item that a printed key names. If no item has it, the printed key itself.
 *
 * @throws Fault `item.unknown` for a shortened key that fits several items
 */
export function findPastedItem(
  pasted: string,
  views: Pick<LedgerViews, 'item' | 'items'>,
  kinds: readonly SubjectKind[],
): string {
  return itemReading(pasted, views, kinds) ?? pasted;
}

/** Does the same, but returns null for a key that no item has. */
function itemReading(
  pasted: string,
  views: Pick<LedgerViews, 'item' | 'items'>,
  kinds: readonly SubjectKind[],
): string | null {
  const readings = readingsOf(pasted);
  const named = readings.find((key) => kinds.some((kind) => views.item(kind, key) !== null));
  if (named !== undefined) return named;
  for (const key of readings) {
    const [, start, end = ''] = SHORTENED.exec(key) ?? [];
    if (start === undefined) continue;
    const fits = (whole: string): boolean => whole.startsWith(start) && whole.endsWith(end);
    const found = kinds.map((kind) => views.items({ kind, search: start, afterId: 0, limit: CANDIDATES_MAX }).items);
    const isCut = found.some(({ length }) => length === CANDIDATES_MAX);
    const fitting = found
      .flat()
      .filter((item) => fits(item.key) || (item.naturalKey !== null && fits(item.naturalKey)));
    const keys = [...new Set(fitting.map((item) => item.key))];
    if (keys.length > 1 || (isCut && keys.length > 0)) throw severalFault(pasted, keys);
    if (keys[0] !== undefined) return keys[0];
  }
  return null;
}

/**
 * The key of an item or of a quarantined record, in the form of the ledger.
 *
 * @param isQuarantined whether a quarantined record has this key
 * @throws Fault `item.unknown`, also for a shortened key that fits several
 */
export async function findPastedKey(
  pasted: string,
  {
    views,
    isQuarantined,
  }: { views: Pick<LedgerViews, 'item' | 'items'>; isQuarantined: (key: string) => Promise<boolean> },
): Promise<string> {
  const item = itemReading(pasted, views, ITEM_KINDS);
  if (item !== null) return item;
  const readings = readingsOf(pasted);
  for (const key of readings) if (await isQuarantined(key)) return key;
  const near = views.items({ search: readings.at(-1) ?? pasted, afterId: 0, limit: NEAR_MAX }).items;
  throw fault('item.unknown', `No item and no quarantined record has the key "${pasted}".`, {
    suggestion:
      near.length > 0
        ? `Did you mean ${near.map(({ key }) => key).join(', ')}?`
        : 'Search with `dpp-sync items --search TEXT`, or look through `dpp-sync quarantine`.',
  });
}

function severalFault(pasted: string, keys: readonly string[]) {
  const shown = keys.slice(0, NEAR_MAX).join(', ');
  const more = keys.length > 1 && keys.length <= NEAR_MAX ? '' : ' and others';
  return fault('item.unknown', `The shortened key "${pasted}" fits several items: ${shown}${more}.`, {
    suggestion: 'Name one of them in full.',
  });
}
