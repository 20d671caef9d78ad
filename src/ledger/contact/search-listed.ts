// Finds an item among the stored entries of the platform's lists.
//
// A platform may show an item in another form than it was sent: in capitals, with a code of the platform, or without
// its natural key. Only an entry with exactly the same natural key is the item. A similar entry is left to a person.

import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactList } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson } from '../store/context.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** One stored entry of a list. */
export interface ListedEntry {
  /** The platform's id as JSON. */
  remoteId: string;
  fields: JsonObject;
}

/** What the stored list shows of an item. */
export type Match =
  | { kind: 'none' }
  | { kind: 'one'; entry: ListedEntry }
  /** Several entries have the natural key, or some are similar to it. `entries` has at most `SHOWN_MAX` of them. */
  | { kind: 'unclear'; several: boolean; entries: { remoteId: string; field: string; value: string }[] };

/**
 * The role of a stored value in its entry: the natural key, a field that the profile prefers less, or the first shown
 * field of an entry without the preferred field.
 */
export type KeyStanding = 'key' | 'other' | 'hidden';

interface KeyRow {
  remoteId: string;
  field: string;
  value: string;
  standing: KeyStanding;
}

const SHOWN_MAX = 10;

const SQL = {
  entry: statement<[string, string], { remoteId: string; fields: string }>(
    'SELECT remote_id AS remoteId, fields FROM listed WHERE kind = +? AND remote_id = +?',
  ),
  byKey: statement<[string, string, string], KeyRow>(
    `SELECT remote_id AS remoteId, field, value, standing FROM listed_keys
     WHERE kind = +? AND field = +? AND folded = +? LIMIT ${2 * SHOWN_MAX}`,
  ),
};

export function listedEntry(tx: Tx, list: ContactList, remoteId: string): ListedEntry | null {
  const row = SQL.entry(tx).get(list, remoteId);
  return row ? { remoteId: row.remoteId, fields: parseJson<JsonObject>(row.fields) } : null;
}

/** True if some entry is this item or is similar to it. */
export function isListedOrSimilar(tx: Tx, kind: ListableKind, payload: JsonObject): boolean {
  const { exact, similar } = rowsOf(tx, kind, payload);
  return exact.length + similar.length > 0;
}

export function findListed(tx: Tx, kind: ListableKind, payload: JsonObject): Match {
  const { exact, similar } = rowsOf(tx, kind, payload);
  const [only] = exact;
  if (exact.length + similar.length === 0) return { kind: 'none' };
  const found = exact.length === 1 && only ? listedEntry(tx, kind, only.remoteId) : null;
  if (found !== null) return { kind: 'one', entry: found };
  const several = exact.length > 1;
  return { kind: 'unclear', several, entries: (several ? exact : similar).slice(0, SHOWN_MAX) };
}

/** Whether a product's passport is public; null if no publication of it is listed. */
export function isListedAsPublic(tx: Tx, { remoteId, sku }: { remoteId: string; sku: string | null }): boolean | null {
  const id = String(parseJson<string | number>(remoteId));
  const rows = SQL.byKey(tx).all('publication', 'product_id', foldedKey(id));
  // A publication is found by the product's id. The SKU counts only if no publication has that id.
  const named = rows.length > 0 || sku === null ? rows : SQL.byKey(tx).all('publication', 'sku', foldedKey(sku));
  const publications = named.flatMap((row) =>
    row.standing === 'other' ? [] : (listedEntry(tx, 'publication', row.remoteId) ?? []),
  );
  if (publications.length === 0) return null;
  return publications.some(({ fields }) => fields['is_public'] === true);
}

/** The entries with one of the item's keys: `exact` have the same natural key, `similar` may be the item. */
function rowsOf(tx: Tx, kind: ListableKind, payload: JsonObject): { exact: KeyRow[]; similar: KeyRow[] } {
  const exact: KeyRow[] = [];
  const similar: KeyRow[] = [];
  let hasKey = false;
  for (const field of tx.profile.naturalKeys[kind]) {
    const value = keyText(payload[field]);
    if (value === null) continue;
    for (const row of SQL.byKey(tx).all(kind, field, foldedKey(value))) {
      const isSame = row.value.normalize('NFC') === value.normalize('NFC');
      if (!hasKey) (isSame && row.standing !== 'other' ? exact : similar).push(row);
      // An entry that does not show the preferred field can only be found by the next field.
      else if (row.standing === 'hidden') similar.push(row);
    }
    hasKey = true;
  }
  return { exact, similar };
}

/** The field that is an item's natural key: the first one of the profile's list that has a value. */
export function keyFieldOf(profile: Profile, kind: ListableKind, payload: JsonObject): string | null {
  return profile.naturalKeys[kind].find((field) => keyText(payload[field]) !== null) ?? null;
}
