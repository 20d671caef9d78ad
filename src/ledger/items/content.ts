// What the platform has of an item: its content, its natural key, and the form in which the item was sent.

import type { PaddedKeys } from '../../domain/attention.ts';
import { changedFields, wholePayload } from '../../domain/delivery/reconcile.ts';
import {
  type FormId,
  fieldsInOtherForm,
  type OtherForm,
  type WireForm,
  type WireForms,
  type WrittenForms,
} from '../../domain/delivery/wire-form.ts';
import { ITEM_KINDS, type ItemKind, type SubjectKind } from '../../domain/item.ts';
import type { MappedItem } from '../../domain/mapping.ts';
import { identifyingText, type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type { SentContent } from '../../domain/ports/deliveries.ts';
import type { Profile } from '../../domain/profile.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { Sqlite } from '../store/database.ts';
import {
  column,
  inTransaction,
  parseJson,
  parseJsonOrNull,
  type Reads,
  statement,
  type Transaction,
} from '../store/tx.ts';
import { acknowledgedContent, type ItemRow, mayHaveArrived, revisionContent } from './item-row.ts';

/** The baseline of an item that is known to be at the API, but whose content is not known. */
interface Presence {
  baseline: string;
  /**
   * A hash that no item has, because an item's hash also covers its refs. So the next write is staged, and contains all
   * fields.
   */
  hash: string;
}

/**
 * The baseline of an item whose content at the API is not known. The baseline of a product has the natural key, because
 * the product was found by it.
 *
 * @param desired the payload that was sent
 * @param before the former baseline, if it is unknown whether the payload replaced it. Then any field of the two
 *   payloads may be at the API. The new baseline has these fields as null. If one of them is not desired any more, the
 *   next write clears it.
 */
export function presenceOf(
  profile: Profile,
  kind: SubjectKind,
  { desired, before }: { desired: string | null; before: string | null },
): Presence {
  const sent = parseJson<JsonObject>(desired ?? '{}');
  const naturalKey = kind === 'product' ? naturalKeyOf(profile, kind, sent) : null;
  const names = before === null ? [] : Object.keys({ ...parseJson<JsonObject>(before), ...sent });
  const fields: JsonObject = Object.fromEntries(names.map((name) => [name, null]));
  if (naturalKey !== null) fields[naturalKey.field] = naturalKey.value;
  const baseline = canonicalJson(fields);
  return { baseline, hash: sha256Url(baseline) };
}

/**
 * The content that an import of a product or a change of a material has sent, computed from the same row as the write
 * itself. Null for any other operation.
 */
export function sentContent(row: ItemRow): SentContent | null {
  if (row.operation !== 'product.import' && row.operation !== 'material.update') return null;
  const desired = parseJson<JsonObject>(revisionContent(row).text);
  const baseline = acknowledgedContent(row);
  const before = parseJson<JsonObject>(baseline?.text ?? '{}');
  const isKnown = baseline !== null && baseline.hash !== sha256Url(baseline.text);
  return {
    payload: wholePayload(desired, before),
    changed: isKnown ? Object.keys(changedFields(desired, before)) : null,
    former: isKnown ? before : {},
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
  };
}

/**
 * The item with the natural key under which the platform knows it, if that key differs from the new one only in white
 * space, byte order marks or padding around it. Earlier releases have sent such keys. Under the plain key, an import
 * would make a second product. So the platform's key stays, and nothing is sent because of it.
 *
 * @returns `keeps` is the platform's key; null if the item does not change
 */
export function withKeptNaturalKey(
  profile: Profile,
  item: MappedItem,
  known: ItemRow | undefined,
): { item: MappedItem; keeps: string | null } {
  const wanted = known === undefined ? null : naturalKeyOf(profile, item.kind, item.payload);
  if (wanted === null || known === undefined || isKnownByIt(known, wanted)) return { item, keeps: null };
  const { field, value } = keyAtPlatform(profile, known) ?? wanted;
  const isPadded = field === wanted.field && value !== wanted.value && identifyingText(value).text === wanted.value;
  return isPadded
    ? { item: { ...item, payload: { ...item.payload, [field]: value } }, keeps: value }
    : { item, keeps: null };
}

/** True for most items. It spares the reading of their content. */
function isKnownByIt({ acknowledged, naturalKey }: ItemRow, wanted: NaturalKey): boolean {
  return acknowledged === 1 && naturalKey === wanted.value;
}

/** The natural key under which the platform has the item, or may have received it; null if it never received the item. */
function keyAtPlatform(profile: Profile, known: ItemRow): NaturalKey | null {
  const content = acknowledgedContent(known) ?? (mayHaveArrived(known) ? revisionContent(known) : null);
  return content === null ? null : naturalKeyOf(profile, known.kind, parseJson<JsonObject>(content.text));
}

/** The code points that `trim` removes in JavaScript. `identifyingText` removes them around keys. */
export const PADDING: readonly number[] = [
  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
  0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff,
];

/**
 * SQL condition on the items table: true if the natural key has white space or byte order marks around it, as earlier
 * releases have sent it. It repeats the words of the index `items_padded`, because SQLite uses the index only for the
 * same words. Most keys begin and end with plain ASCII, so they are not trimmed: SQLite evaluates it for each new item.
 */
const HAS_PADDED_KEY = `(unicode(natural_key) NOT BETWEEN 33 AND 126
    OR unicode(substr(natural_key, -1)) NOT BETWEEN 33 AND 126)
  AND natural_key <> trim(natural_key, char(${PADDING.join(', ')}))`;

const PADDED = statement<[{ sources: string }], PaddedKeys>(
  `SELECT kind, count(*) AS count, min(key) AS example FROM items INDEXED BY items_padded
   WHERE ${HAS_PADDED_KEY} AND acknowledged > 0
     AND (@sources = '[]' OR source IN (SELECT value FROM json_each(@sources))) GROUP BY kind ORDER BY kind`,
);

/** Counts items that the platform has under a key with padding. Reads nothing but these items, in an index. */
export function paddedKeys(reads: Pick<Reads, 'db'>, sources: readonly string[] = []): PaddedKeys[] {
  return PADDED(reads).all({ sources: JSON.stringify(sources) });
}

// The ledger stores each form of a kind once, and each item names the form in which the platform has it. The first form of a kind
// is stored as null, so most items store nothing.

const SQL = {
  stored: statement<[], { id: number; kind: ItemKind; fields: string }>(
    'SELECT id, kind, fields FROM wire_forms ORDER BY id',
  ),
  insert: statement<[ItemKind, string]>('INSERT INTO wire_forms (kind, fields) VALUES (?, ?)'),
  find: column<[ItemKind, string], number>('SELECT id FROM wire_forms WHERE kind = ? AND fields = ?'),
  first: column<[ItemKind], number>('SELECT min(id) FROM wire_forms WHERE kind = ?'),
};

/** Reads the stored forms that differ from the present ones. */
export function otherForms(reads: { db: Sqlite }, present: WireForms): OtherForm[] {
  const others: OtherForm[] = [];
  const kinds = new Set<ItemKind>();
  for (const { id, kind, fields } of SQL.stored(reads).all()) {
    const form = kinds.has(kind) ? id : null;
    kinds.add(kind);
    const differing = fieldsInOtherForm(JSON.parse(fields) as WireForm, present[kind]);
    if (differing.length > 0) others.push({ kind, form, fields: differing });
  }
  return others;
}

/** Stores the present forms, if the ledger does not have them yet. One transaction. */
export function storeForms(db: Sqlite, present: WireForms): WrittenForms {
  return inTransaction({ db }, (tx) => {
    const ids = new Map<SubjectKind, FormId>(ITEM_KINDS.map((kind) => [kind, storeForm(tx, kind, present[kind])]));
    const others = otherForms(tx, present);
    return {
      others,
      presentOf: (kind) => ids.get(kind) ?? null,
      isPresent: (kind, form) => !others.some((other) => other.kind === kind && other.form === form),
    };
  });
}

function storeForm(tx: Transaction, kind: ItemKind, form: WireForm): FormId {
  const fields = canonicalJson(form);
  const id = SQL.find(tx).get(kind, fields) ?? Number(SQL.insert(tx).run(kind, fields).lastInsertRowid);
  return id === SQL.first(tx).get(kind) ? null : id;
}
