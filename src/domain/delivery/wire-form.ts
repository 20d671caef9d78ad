import type { ItemKind, SubjectKind } from '../item.ts';

/**
 * The form in which items of one kind are sent: for each field that a payload may have, a hash of the bytes that a
 * request has for it. A setting of the profile that changes these bytes changes the form.
 */
export type WireForm = Readonly<Record<string, string>>;

export type WireForms = Readonly<Record<ItemKind, WireForm>>;

/**
 * The fields that are sent in another form now than before, in alphabetical order. A field that only one of the forms
 * has makes no difference: no item of the other form has it.
 */
export function fieldsInOtherForm(before: WireForm, now: WireForm): string[] {
  return Object.keys(before)
    .filter((field) => Object.hasOwn(now, field) && before[field] !== now[field])
    .sort();
}

/** A form as items store it: the id of its row, or null for the first form of the kind. */
export type FormId = number | null;

/** A form in which items of a kind were sent and are not sent any more. */
export interface OtherForm {
  kind: ItemKind;
  form: FormId;
  /** The fields that are sent in another form now. Never empty. */
  fields: string[];
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
