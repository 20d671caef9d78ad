// Stores the entries of the platform's lists. search-listed.ts finds an item among them.

import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactEntry, ContactList } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import { createListedSearch, type KeyStanding, type ListedEntry, type ListedSearch } from './search-listed.ts';

/** Use it inside a transaction. */
export interface ListedEntries extends ListedSearch {
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
  entry(kind: ListableKind, remoteId: string): ListedEntry | null;
}

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
        let standing: KeyStanding = 'key';
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
    ...createListedSearch({ db, profile }, entry),
  };
}
