// Keys as people paste them from what the commands print: with the kind in front, with the natural key behind, with ` / ` between
// the parts of a row's key, with escapes for control characters, or shortened.

import { fault } from '../domain/faults.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import { writtenKey } from '../domain/record.ts';

const CANDIDATES_MAX = 500;
const NEAR_MAX = 3;
const KIND = /^(?:product|material|bom[ _-]item|passport)s?(?:\s*[:/]\s*|\s+)(?=\S)/i;
const SHORTENED = /…$/;

/** What a printed key may be the print of. */
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

/** Every way to read a key, the plainest first. */
function readingsOf(key: string): string[] {
  const readings = [key];
  // The list grows while it is walked, so that several ways are combined. Each of them ends.
  for (const one of readings) {
    for (const read of READINGS) {
      for (const other of read(one)) if (other !== '' && !readings.includes(other)) readings.push(other);
    }
  }
  return readings;
}

/**
 * The key, as the ledger has it, of an item or of a quarantined record.
 *
 * @param isQuarantined whether a quarantined record has this key
 * @throws Fault `item.unknown`, for a shortened key also where it fits several
 */
export async function findPastedKey(
  pasted: string,
  {
    views,
    isQuarantined,
  }: { views: Pick<LedgerViews, 'item' | 'items'>; isQuarantined: (key: string) => Promise<boolean> },
): Promise<string> {
  const readings = readingsOf(pasted);
  for (const key of readings) {
    if (ITEM_KINDS.some((kind) => views.item(kind, key) !== null) || (await isQuarantined(key))) return key;
  }
  for (const key of readings.filter((one) => SHORTENED.test(one))) {
    const start = key.replace(SHORTENED, '');
    const { items } = views.items({ search: start, afterId: 0, limit: CANDIDATES_MAX });
    const fitting = items.filter((item) => item.key.startsWith(start) || item.naturalKey?.startsWith(start) === true);
    const keys = [...new Set(fitting.map((item) => item.key))];
    if (keys.length > 1) throw severalFault(pasted, keys);
    if (keys[0] !== undefined) return keys[0];
  }
  const near = views.items({ search: readings.at(-1) ?? pasted, afterId: 0, limit: NEAR_MAX }).items;
  throw fault('item.unknown', `No item and no quarantined record has the key "${pasted}".`, {
    suggestion:
      near.length > 0
        ? `Did you mean ${near.map((item) => item.key).join(', ')}?`
        : 'Search with `dpp-sync items --search TEXT`, or look through `dpp-sync quarantine`.',
  });
}

function severalFault(pasted: string, keys: readonly string[]) {
  const shown = keys.slice(0, NEAR_MAX).join(', ');
  const more = keys.length > NEAR_MAX ? ' and others' : '';
  return fault('item.unknown', `The shortened key "${pasted}" fits several items: ${shown}${more}.`, {
    suggestion: 'Name one of them in full.',
  });
}
