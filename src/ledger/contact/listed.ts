// Stores the entries of the platform's lists. search-listed.ts finds an item among them.

import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactEntry, ContactList } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { parseJson } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { type KeyStanding, listedEntry } from './search-listed.ts';

const PUBLICATION_KEYS = ['product_id', 'sku'];

const SQL = {
  clear: statement<[string]>('DELETE FROM listed WHERE kind = ?'),
  clearKeys: statement<[string]>('DELETE FROM listed_keys WHERE kind = ?'),
  store: statement<[string, string, string]>(
    'INSERT OR REPLACE INTO listed (kind, remote_id, fields) VALUES (?, ?, ?)',
  ),
  storeKey: statement<[string, string, string, string, string, string]>(
    'INSERT OR REPLACE INTO listed_keys (kind, field, folded, remote_id, value, standing) VALUES (?, ?, ?, ?, ?, ?)',
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
  remove: statement<[string, string]>('DELETE FROM listed WHERE kind = ? AND remote_id = ?'),
  removeKey: statement<[string, string, string, string]>(
    'DELETE FROM listed_keys WHERE kind = ? AND field = ? AND folded = ? AND remote_id = ?',
  ),
  ids: column<[string], string>('SELECT remote_id FROM listed WHERE kind = ?'),
  count: column<[string], number>('SELECT count(*) FROM listed WHERE kind = ?'),
  any: column<[string], number>('SELECT 1 FROM listed WHERE kind = ? LIMIT 1'),
};

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
  let hides = false;
  for (const { remoteId, fields: content } of entries) {
    const id = JSON.stringify(remoteId);
    SQL.store(tx).run(list, id, JSON.stringify(content));
    let standing: KeyStanding = 'key';
    for (const field of fields) {
      const isShown = Object.hasOwn(content, field);
      const value = keyText(content[field]);
      if (isShown) shown.add(field);
      if (value !== null) SQL.storeKey(tx).run(list, field, foldedKey(value), id, value, standing);
      if (value !== null) standing = 'other';
      else if (!isShown && standing === 'key') standing = 'hidden';
    }
    hides ||= fields.every((field) => !Object.hasOwn(content, field));
  }
  return { shown: [...shown], hides };
}

/** Deletes the entries that belong to items of this ledger. */
export function pruneListed(tx: Tx, kind: ListableKind): void {
  SQL.prune(tx).run({ kind });
  SQL.pruneKeys(tx).run({ kind });
}

export function removeListed(tx: Tx, kind: ListableKind, remoteId: string): void {
  const found = listedEntry(tx, kind, remoteId);
  SQL.remove(tx).run(kind, remoteId);
  for (const field of found === null ? [] : keyFields(tx, kind)) {
    const value = keyText(found?.fields[field]);
    if (value !== null) SQL.removeKey(tx).run(kind, field, foldedKey(value), remoteId);
  }
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
