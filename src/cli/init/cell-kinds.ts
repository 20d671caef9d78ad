// Recognises the kind of a single value.

const NUMBER = /^[+-]?[\d.,'’\s]*\d[\d.,'’\s]*[-%]?$/;
const DATE = /^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ].*)?$/;
const GUID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;

export function isEmptyText(text: string): boolean {
  return text.trim() === '';
}

/** True for a number, a date or an id made by a machine: text that is not the name of a column. */
export function looksLikeValue(text: string): boolean {
  const trimmed = text.trim();
  return NUMBER.test(trimmed) || DATE.test(trimmed) || GUID.test(trimmed);
}
