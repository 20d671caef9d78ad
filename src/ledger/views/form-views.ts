import type { WireForms } from '../../domain/delivery/wire-form.ts';
import { ITEM_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { type FormId, otherForms } from '../items/wire-forms.ts';
import type { Sqlite } from '../store/database.ts';

/** The fields of an item that the platform has in another form; empty if there are none. */
export type FieldsInOtherForm = (kind: SubjectKind, form: FormId) => string[];

export function createFieldsInOtherForm(db: Sqlite, forms: WireForms): FieldsInOtherForm {
  return (kind, form) =>
    otherForms({ db }, forms).find((other) => other.kind === kind && other.form === form)?.fields ?? [];
}

/** Counts the items that the platform has in another form. Reads nothing but these items, in an index. */
export function createFormViews(db: Sqlite, forms: WireForms): Pick<LedgerViews, 'otherForms'> {
  const all = db
    .prepare<[string, FormId], number>(
      'SELECT count(*) FROM items i WHERE i.acknowledged > 0 AND i.kind = ? AND i.form IS ?',
    )
    .pluck();
  // A person has decided to leave these items as the platform has them.
  const left = db
    .prepare<[string, FormId], number>(
      `SELECT count(*) FROM items i WHERE i.ignored_hash IS NOT NULL AND i.acknowledged > 0 AND i.kind = ? AND +i.form IS ?`,
    )
    .pluck();

  return {
    otherForms() {
      const found = otherForms({ db }, forms);
      return ITEM_KINDS.flatMap((kind) => {
        const ofKind = found.filter((other) => other.kind === kind);
        const items = ofKind.reduce(
          (sum, { form }) => sum + (all.get(kind, form) ?? 0) - (left.get(kind, form) ?? 0),
          0,
        );
        const fields = [...new Set(ofKind.flatMap((other) => other.fields))].sort();
        return items === 0 ? [] : [{ kind, items, fields }];
      });
    },
  };
}
