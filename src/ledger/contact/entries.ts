// The entries of the platform's lists that belong to no item of this ledger, and finding an item among them. A platform
// may show an item in another form than it was sent: in capitals, with a code of the platform, or without its natural key.
// Only an entry with exactly the same natural key is the item. A similar entry is left to a person.

import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactEntry, ContactList } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { column, parseJson, type Reads, statement, type Tx } from '../store/tx.ts';

const SHOWN_MAX = 10;

const SQL = {
  clear: statement<[string]>('DELETE FROM listed WHERE kind = ?'),
  clearKeys: statement<[string]>('DELETE FROM listed_keys WHERE kind = ?'),
  store: statement<[string, string]>(
    `INSERT INTO listed (kind, remote_id, fields) SELECT CAST(? AS TEXT), value ->> 0, value ->> 1 FROM json_each(?) WHERE TRUE
     ON CONFLICT (kind, remote_id) DO UPDATE SET fields = excluded.fields`,
  ),
  storeKeys: statement<[string, string]>(
    `INSERT INTO listed_keys (kind, remote_id, field, folded, value, standing)
     SELECT CAST(? AS TEXT), value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE TRUE
     ON CONFLICT (kind, field, folded, remote_id) DO UPDATE SET value = excluded.value, standing = excluded.standing`,
  ),
  prune: statement<[{ kind: string }]>(
    `DELETE FROM listed WHERE kind = @kind
     AND EXISTS (SELECT 1 FROM items i
       WHERE i.kind = @kind AND i.remote_id = listed.remote_id AND i.remote_id <> 'null')`,
  ),
  pruneKeys: statement<[{ kind: string }]>(
    `DELETE FROM listed_keys WHERE kind = @kind
     AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.kind = @kind AND l.remote_id = listed_keys.remote_id)`,
  ),
  remove: statement<[string, string]>(
    'DELETE FROM listed WHERE kind = ? AND remote_id IN (SELECT value FROM json_each(?))',
  ),
  removeKeys: statement<[string, string]>(
    `DELETE FROM listed_keys WHERE kind = ?
     AND (field, folded, remote_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))`,
  ),
  ids: column<[string], string>('SELECT remote_id FROM listed WHERE kind = ?'),
  count: column<[string], number>('SELECT count(*) FROM listed WHERE kind = ?'),
  any: column<[string], number>('SELECT 1 FROM listed WHERE kind = ? LIMIT 1'),
  entries: statement<[string, string], { remoteId: string; fields: string }>(
    `SELECT l.remote_id AS remoteId, l.fields FROM json_each(?) k CROSS JOIN listed l ON l.kind = +? AND l.remote_id = k.value`,
  ),
  // Of each key the first entries.
  byKeys: statement<[string, string], KeyRow & { at: number }>(
    `SELECT * FROM (
       SELECT k.key AS at, row_number() OVER (PARTITION BY k.key ORDER BY l.remote_id) AS number, l.remote_id AS remoteId, l.value, l.standing
       FROM json_each(?) k CROSS JOIN listed_keys l ON l.kind = +? AND l.field = k.value ->> 0 AND l.folded = k.value ->> 1
     ) e WHERE number <= ${2 * SHOWN_MAX} ORDER BY at, number`,
  ),
};

const PUBLICATION_KEYS = ['product_id', 'sku'];

export function clearListed(tx: Tx, list: ContactList): void {
  SQL.clear(tx).run(list);
  SQL.clearKeys(tx).run(list);
}

/**
 * Stores entries. Returns which fields of the natural key they show, and whether some entry shows none of these
 * fields.
 */
export function storeListedEntries(
  tx: Tx,
  list: ContactList,
  entries: readonly ContactEntry[],
): { shown: string[]; hides: boolean } {
  const fields = keyFields(tx, list);
  const shown = new Set<string>();
  const rows: [remoteId: string, fields: string][] = [];
  const keys: [remoteId: string, field: string, folded: string, value: string, standing: KeyStanding][] = [];
  let hides = false;
  for (const { remoteId, fields: content } of entries) {
    const id = JSON.stringify(remoteId);
    rows.push([id, JSON.stringify(content)]);
    let standing: KeyStanding = 'key';
    for (const field of fields) {
      const isShown = Object.hasOwn(content, field);
      const value = keyText(content[field]);
      if (isShown) shown.add(field);
      if (value !== null) keys.push([id, field, foldedKey(value), value, standing]);
      if (value !== null) standing = 'other';
      else if (!isShown && standing === 'key') standing = 'hidden';
    }
    hides ||= fields.every((field) => !Object.hasOwn(content, field));
  }
  if (rows.length > 0) SQL.store(tx).run(list, JSON.stringify(rows));
  if (keys.length > 0) SQL.storeKeys(tx).run(list, JSON.stringify(keys));
  return { shown: [...shown], hides };
}

/** Deletes the entries that belong to items of this ledger. */
export function pruneListed(tx: Tx, kind: ListableKind): void {
  SQL.prune(tx).run({ kind });
  SQL.pruneKeys(tx).run({ kind });
}

/** Removes entries that belong to items of this ledger now. */
export function removeListed(tx: Tx, kind: ListableKind, entries: readonly ListedEntry[]): void {
  if (entries.length === 0) return;
  SQL.remove(tx).run(kind, JSON.stringify(entries.map(({ remoteId }) => remoteId)));
  const keys = entries.flatMap(({ remoteId, fields }) =>
    keyFields(tx, kind).flatMap((field) => {
      const value = keyText(fields[field]);
      return value === null ? [] : [[field, foldedKey(value), remoteId]];
    }),
  );
  if (keys.length > 0) SQL.removeKeys(tx).run(kind, JSON.stringify(keys));
}

export function listedIds(reads: Reads, list: ContactList): (string | number)[] {
  return SQL.ids(reads)
    .all(list)
    .map((id) => parseJson<string | number>(id));
}

export function countListed(reads: Reads, list: ContactList): number {
  return SQL.count(reads).get(list) ?? 0;
}

export function isNothingListed(tx: Tx, list: ContactList): boolean {
  return SQL.any(tx).get(list) === undefined;
}

function keyFields(tx: Tx, list: ContactList): readonly string[] {
  return list === 'publication' ? PUBLICATION_KEYS : tx.profile.naturalKeys[list];
}

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
type KeyStanding = 'key' | 'other' | 'hidden';

interface KeyRow {
  remoteId: string;
  value: string;
  standing: KeyStanding;
}

/** Entries of a list, by their remote ids. */
export function listedEntries(reads: Reads, list: ContactList, remoteIds: readonly string[]): Map<string, ListedEntry> {
  if (remoteIds.length === 0) return new Map();
  const rows = SQL.entries(reads).all(JSON.stringify([...new Set(remoteIds)]), list);
  return new Map(rows.map(({ remoteId, fields }) => [remoteId, { remoteId, fields: parseJson<JsonObject>(fields) }]));
}

/** The stored values of a list that are equal to these, in any case. Returns a function that finds those of one value. */
export function keysIn(
  reads: Reads,
  list: ContactList,
  wanted: readonly ListedKey[],
): (key: ListedKey) => readonly KeyRow[] {
  const name = ({ field, value }: ListedKey) => JSON.stringify([field, foldedKey(value)]);
  const names = [...new Set(wanted.map(name))];
  const rows = names.length === 0 ? [] : SQL.byKeys(reads).all(`[${names.join(',')}]`, list);
  const found = Map.groupBy(rows, ({ at }) => names[at]);
  return (key) => found.get(name(key)) ?? [];
}

interface ListedKey {
  field: string;
  value: string;
}

/** True if some entry is one of these items or is similar to it. */
export function isListedOrSimilar(tx: Tx, kind: ListableKind, payloads: readonly JsonObject[]): boolean {
  const rowsOf = keyRowsOf(tx, kind, payloads);
  return payloads.some((payload) => {
    const { exact, similar } = rowsOf(payload, NONE);
    return exact.length + similar.length > 0;
  });
}

/** Looks for items in the list. Returns a function that finds one of them, without the entries that the caller has taken. */
export function searchListed(
  tx: Tx,
  kind: ListableKind,
  payloads: readonly JsonObject[],
): (payload: JsonObject, taken: ReadonlySet<string>) => Match {
  const rowsOf = keyRowsOf(tx, kind, payloads);
  const shown = listedEntries(
    tx,
    kind,
    payloads.flatMap((payload) => rowsOf(payload, NONE).exact.map(({ remoteId }) => remoteId)),
  );
  return (payload, taken) => {
    const { exact, similar } = rowsOf(payload, taken);
    const [only] = exact;
    if (exact.length + similar.length === 0) return { kind: 'none' };
    const found = exact.length === 1 && only ? shown.get(only.remoteId) : undefined;
    if (found !== undefined) return { kind: 'one', entry: found };
    const several = exact.length > 1;
    return { kind: 'unclear', several, entries: (several ? exact : similar).slice(0, SHOWN_MAX) };
  };
}

const NONE: ReadonlySet<string> = new Set();

/** The values by which an item may be found, in the order of the profile. */
function keysOfItem({ profile }: Pick<Tx, 'profile'>, kind: ListableKind, payload: JsonObject): ListedKey[] {
  return profile.naturalKeys[kind].flatMap((field) => {
    const value = keyText(payload[field]);
    return value === null ? [] : [{ field, value }];
  });
}

/**
 * Returns a function that finds the entries with one of an item's keys: `exact` have the same natural key, `similar` may be the item.
 */
function keyRowsOf(tx: Tx, kind: ListableKind, payloads: readonly JsonObject[]) {
  const rowsOf = keysIn(
    tx,
    kind,
    payloads.flatMap((payload) => keysOfItem(tx, kind, payload)),
  );
  return (payload: JsonObject, taken: ReadonlySet<string>) => {
    const exact: Found[] = [];
    const similar: Found[] = [];
    for (const [at, key] of keysOfItem(tx, kind, payload).entries()) {
      for (const { remoteId, value, standing } of rowsOf(key)) {
        if (taken.has(remoteId)) continue;
        const isSame = value.normalize('NFC') === key.value.normalize('NFC');
        const row = { remoteId, field: key.field, value };
        if (at === 0) (isSame && standing !== 'other' ? exact : similar).push(row);
        // An entry that does not show the preferred field can only be found by the next field.
        else if (standing === 'hidden') similar.push(row);
      }
    }
    return { exact, similar };
  };
}

type Found = Extract<Match, { kind: 'unclear' }>['entries'][number];

/** The field that is an item's natural key: the first one of the profile's list that has a value. */
export function keyFieldOf(profile: Profile, kind: ListableKind, payload: JsonObject): string | null {
  return keysOfItem({ profile }, kind, payload)[0]?.field ?? null;
}
