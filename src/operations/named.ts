// Finds the items and sources that a person names. Keys are often pasted from the output of commands. A printed key can differ from the stored one: its kind
// comes before it, its natural key comes after it, ` / ` separates the parts of a row's key, control characters are
// escaped, or the key is shortened.

import { fault } from '../domain/faults.ts';
import { formatPlace } from '../domain/issue.ts';
import { ITEM_KINDS, type SubjectKind } from '../domain/item.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { writtenKey } from '../domain/record.ts';
import { kindWord } from '../domain/words/states.ts';
import type { Fault } from '../lib/errors.ts';
import { shellWord } from '../lib/text/safe-text.ts';
import { suggest } from '../lib/text/suggest.ts';
import type { OperationRuntime } from './runtime.ts';

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
export async function findPastedItem(pasted: string, reads: Reads, kinds: readonly SubjectKind[]): Promise<string> {
  return (await itemReading(pasted, reads, kinds)) ?? pasted;
}

/** Does the same, but returns null for a key that no item has. */
async function itemReading(pasted: string, reads: Reads, kinds: readonly SubjectKind[]): Promise<string | null> {
  const readings = readingsOf(pasted);
  for (const key of readings) for (const kind of kinds) if ((await reads.item(kind, key)) !== null) return key;
  for (const key of readings) {
    const [, start, end = ''] = SHORTENED.exec(key) ?? [];
    if (start === undefined) continue;
    const fits = (whole: string): boolean => whole.startsWith(start) && whole.endsWith(end);
    const found = await Promise.all(
      kinds.map(
        async (kind) => (await reads.itemsAfter({ kind, search: start, afterId: 0, limit: CANDIDATES_MAX })).items,
      ),
    );
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
  { reads, isQuarantined }: { reads: Reads; isQuarantined: (key: string) => Promise<boolean> },
): Promise<string> {
  const item = await itemReading(pasted, reads, ITEM_KINDS);
  if (item !== null) return item;
  const readings = readingsOf(pasted);
  for (const key of readings) if (await isQuarantined(key)) return key;
  const near = (await reads.itemsAfter({ search: readings.at(-1) ?? pasted, afterId: 0, limit: NEAR_MAX })).items;
  throw fault('item.unknown', `No item and no row with an error has the key "${pasted}".`, {
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

/**
 * The fault for a key that the ledger does not have, with the quarantined row that contains it, or with similar keys if
 * there is none.
 *
 * @param reads null if there is no ledger yet
 */
export async function unknownItem(kind: SubjectKind, key: string, reads: Reads | null): Promise<Fault> {
  const message = `There is no ${kindWord(kind)} "${key}" in the ledger`;
  const held = reads === null ? null : await quarantinedRow(key, reads);
  if (held !== null) {
    const { name, source, stream, place } = held;
    const where = `${source}/${stream}, ${formatPlace(place)}`;
    const command =
      kind === 'product' || kind === 'passport' ? `why ${shellWord(name)}` : `quarantine --source ${source}`;
    return fault('item.unknown', `${message}: its row has an error (${where}).`, {
      suggestion: `What is wrong with the row: \`dpp-sync ${command}\`.`,
    });
  }
  const near = reads === null ? [] : await keysNear(kind, key, reads);
  const suggestion =
    reads === null
      ? 'There is no ledger yet: run `dpp-sync sync` first.'
      : near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Search with \`dpp-sync items --kind ${kind} --search TEXT\`; rows with an error make no item.`;
  return fault('item.unknown', `${message}.`, { suggestion });
}

/** The quarantined row that a printed key names. */
async function quarantinedRow(key: string, reads: Reads) {
  for (const name of readingsOf(key)) {
    const row = await reads.quarantinedRow(name);
    if (row !== null) return { ...row, name };
  }
  return null;
}

/** Keys and natural keys that contain this text. If there are none, the key that differs from it by a typing error. */
async function keysNear(kind: SubjectKind, key: string, reads: Reads): Promise<string[]> {
  const { items } = await reads.itemsAfter({ kind, search: key, afterId: 0, limit: NEAR_MAX });
  if (items.length > 0) return items.map((item) => item.key);
  const start = key.slice(0, Math.ceil(key.length / 2));
  const candidates = (await reads.itemsAfter({ kind, search: start, afterId: 0, limit: CANDIDATES_MAX })).items;
  const meant = suggest(
    key,
    candidates.flatMap((item) => (item.naturalKey === null ? [item.key] : [item.key, item.naturalKey])),
  );
  return meant === undefined ? [] : [meant];
}

/**
 * Checks that the config has the sources that are named.
 *
 * @throws Fault `usage`
 */
export function assertSources(config: OperationRuntime['config'], ids: readonly string[]): void {
  const known = config.sources.map(({ id }) => id);
  for (const id of ids) {
    if (known.includes(id)) continue;
    const likely = suggest(id, known);
    throw fault('usage', `There is no source "${id}" in ${config.file}.`, {
      suggestion: likely === undefined ? `Name one of its sources: ${known.join(', ')}.` : `Did you mean ${likely}?`,
    });
  }
}
