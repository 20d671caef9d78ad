// Stores the entries of the platform's lists, and finds an item among them.
//
// A platform may show an item differently than we sent it: in capitals, with a code of its own, or without its natural
// key. Only an entry with exactly the same natural key is the item. A similar entry is left to a person.

import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactEntry, ContactList } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';

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

/** For use inside a transaction. */
export interface ListedEntries {
  clear(list: ContactList): void;
  /**
   * Stores entries. Returns which fields of the natural key they show, and whether some entry shows none of these
   * fields.
   */
  store(list: ContactList, entries: readonly ContactEntry[]): { shown: string[]; hides: boolean };
  /** Deletes the entries that belong to items of this ledger. */
  prune(kind: ListableKind): void;
  remove(kind: ListableKind, remoteId: string): void;
  ids(list: ContactList): (string | number)[];
  count(list: ContactList): number;
  isEmpty(list: ContactList): boolean;
  /** True where some entry is this item or is similar to it. */
  meets(kind: ListableKind, payload: JsonObject): boolean;
  find(kind: ListableKind, payload: JsonObject): Match;
  entry(kind: ListableKind, remoteId: string): ListedEntry | null;
  /** Whether a product's passport is public; null where no publication of it is listed. */
  isPublic(product: { remoteId: string; sku: string | null }): boolean | null;
}

interface KeyRow {
  remoteId: string;
  field: string;
  value: string;
  standing: 'key' | 'other' | 'hidden';
}

const SHOWN_MAX = 10;
const PUBLICATION_KEYS = ['product_id', 'sku'];

export function createListedEntries({ db, profile }: Pick<LedgerContext, 'db' | 'profile'>): ListedEntries {
  const sql = {
    clear: db.prepare<[string]>('DELETE FROM listed WHERE kind = ?'),
    clearKeys: db.prepare<[string]>('DELETE FROM listed_keys WHERE kind = ?'),
    store: db.prepare<[string, string, string]>(
      'INSERT OR REPLACE INTO listed (kind, remote_id, fields) VALUES (?, ?, ?)',
    ),
    storeKey: db.prepare<[string, string, string, string, string, string]>(
      'INSERT OR REPLACE INTO listed_keys (kind, field, folded, remote_id, value, standing) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    prune: db.prepare<[{ kind: string }]>(
      `DELETE FROM listed WHERE kind = @kind
       AND EXISTS (SELECT 1 FROM items i
         WHERE i.kind = @kind AND i.remote_id = listed.remote_id AND i.remote_id <> 'null')`,
    ),
    pruneKeys: db.prepare<[{ kind: string }]>(
      `DELETE FROM listed_keys WHERE kind = @kind
       AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.kind = @kind AND l.remote_id = listed_keys.remote_id)`,
    ),
    remove: db.prepare<[string, string]>('DELETE FROM listed WHERE kind = ? AND remote_id = ?'),
    removeKey: db.prepare<[string, string, string, string]>(
      'DELETE FROM listed_keys WHERE kind = ? AND field = ? AND folded = ? AND remote_id = ?',
    ),
    ids: db.prepare<[string], string>('SELECT remote_id FROM listed WHERE kind = ?').pluck(),
    count: db.prepare<[string], number>('SELECT count(*) FROM listed WHERE kind = ?').pluck(),
    any: db.prepare<[string], number>('SELECT 1 FROM listed WHERE kind = ? LIMIT 1').pluck(),
    byKey: db.prepare<[string, string, string], KeyRow>(
      `SELECT remote_id AS remoteId, field, value, standing FROM listed_keys
       WHERE kind = +? AND field = +? AND folded = +? LIMIT ${2 * SHOWN_MAX}`,
    ),
    entry: db.prepare<[string, string], { remoteId: string; fields: string }>(
      'SELECT remote_id AS remoteId, fields FROM listed WHERE kind = +? AND remote_id = +?',
    ),
  };

  const keyFields = (list: ContactList): readonly string[] =>
    list === 'publication' ? PUBLICATION_KEYS : profile.naturalKeys[list];

  function entry(list: ContactList, remoteId: string): ListedEntry | null {
    const row = sql.entry.get(list, remoteId);
    return row ? { remoteId: row.remoteId, fields: parseJson<JsonObject>(row.fields) } : null;
  }

  /** The entries with one of the item's keys: `exact` have the same natural key, `similar` may be the item. */
  function rowsOf(kind: ListableKind, payload: JsonObject): { exact: KeyRow[]; similar: KeyRow[] } {
    const exact: KeyRow[] = [];
    const similar: KeyRow[] = [];
    let hasKey = false;
    for (const field of profile.naturalKeys[kind]) {
      const value = keyText(payload[field]);
      if (value === null) continue;
      for (const row of sql.byKey.all(kind, field, foldedKey(value))) {
        const isSame = row.value.normalize('NFC') === value.normalize('NFC');
        if (!hasKey) (isSame && row.standing !== 'other' ? exact : similar).push(row);
        // An entry that does not show the preferred field can only be found by the next field.
        else if (row.standing === 'hidden') similar.push(row);
      }
      hasKey = true;
    }
    return { exact, similar };
  }

  return {
    clear(list) {
      sql.clear.run(list);
      sql.clearKeys.run(list);
    },

    store(list, entries) {
      const fields = keyFields(list);
      const shown = new Set<string>();
      let hides = false;
      for (const { remoteId, fields: content } of entries) {
        const id = JSON.stringify(remoteId);
        sql.store.run(list, id, JSON.stringify(content));
        let standing: KeyRow['standing'] = 'key';
        for (const field of fields) {
          const isShown = Object.hasOwn(content, field);
          const value = keyText(content[field]);
          if (isShown) shown.add(field);
          if (value !== null) sql.storeKey.run(list, field, foldedKey(value), id, value, standing);
          if (value !== null) standing = 'other';
          else if (!isShown && standing === 'key') standing = 'hidden';
        }
        hides ||= fields.every((field) => !Object.hasOwn(content, field));
      }
      return { shown: [...shown], hides };
    },

    prune(kind) {
      sql.prune.run({ kind });
      sql.pruneKeys.run({ kind });
    },

    remove(kind, remoteId) {
      const found = entry(kind, remoteId);
      sql.remove.run(kind, remoteId);
      for (const field of found === null ? [] : keyFields(kind)) {
        const value = keyText(found?.fields[field]);
        if (value !== null) sql.removeKey.run(kind, field, foldedKey(value), remoteId);
      }
    },

    ids: (list) => sql.ids.all(list).map((id) => parseJson<string | number>(id)),
    count: (list) => sql.count.get(list) ?? 0,
    isEmpty: (list) => sql.any.get(list) === undefined,
    entry,

    meets(kind, payload) {
      const { exact, similar } = rowsOf(kind, payload);
      return exact.length + similar.length > 0;
    },

    find(kind, payload) {
      const { exact, similar } = rowsOf(kind, payload);
      const [only] = exact;
      if (exact.length + similar.length === 0) return { kind: 'none' };
      const found = exact.length === 1 && only ? entry(kind, only.remoteId) : null;
      if (found !== null) return { kind: 'one', entry: found };
      const several = exact.length > 1;
      return { kind: 'unclear', several, entries: (several ? exact : similar).slice(0, SHOWN_MAX) };
    },

    isPublic({ remoteId, sku }) {
      const id = String(parseJson<string | number>(remoteId));
      const rows = sql.byKey.all('publication', 'product_id', foldedKey(id));
      // A publication is found by the product's id. Only where no publication has that id does the SKU count.
      const named = rows.length > 0 || sku === null ? rows : sql.byKey.all('publication', 'sku', foldedKey(sku));
      const publications = named.flatMap((row) =>
        row.standing === 'other' ? [] : (entry('publication', row.remoteId) ?? []),
      );
      if (publications.length === 0) return null;
      return publications.some(({ fields }) => fields['is_public'] === true);
    },
  };
}

/** The field that is an item's natural key: the first one of the profile's list that has a value. */
export function keyFieldOf(profile: Profile, kind: ListableKind, payload: JsonObject): string | null {
  return profile.naturalKeys[kind].find((field) => keyText(payload[field]) !== null) ?? null;
}
