// The forms in which items were sent. The ledger stores each form of a kind once, and each item names the form in which
// the platform has it. The first form of a kind is stored as null, so most items store nothing.

import { fieldsInOtherForm, type WireForm, type WireForms } from '../../domain/delivery/wire-form.ts';
import { ITEM_KINDS, type ItemKind, type SubjectKind } from '../../domain/item.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { Sqlite } from '../store/database.ts';
import { column, statement } from '../store/statement.ts';
import { inTransaction, type Transaction } from '../store/transaction.ts';

/** A form as items store it: the id of its row, or null for the first form of the kind. */
export type FormId = number | null;

/** A form in which items of a kind were sent and are not sent any more. */
export interface OtherForm {
  kind: ItemKind;
  form: FormId;
  /** The fields that are sent in another form now. Never empty. */
  fields: string[];
}

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

/** The forms of a process that writes. The present forms do not change while it has the ledger open. */
export interface WrittenForms {
  /** The form in which an item is encoded now. */
  presentOf(kind: SubjectKind): FormId;
  /** True if an item that was sent in this form would have the same bytes now. */
  isPresent(kind: SubjectKind, form: FormId): boolean;
  /** The forms of items that would have other bytes now, always in the same order. */
  others: readonly OtherForm[];
}

/** For work that neither encodes nor acknowledges anything. */
export const NO_FORMS: WrittenForms = { presentOf: () => null, isPresent: () => true, others: [] };

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
