import type { ItemKind } from '../item.ts';

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
