// Reads the fields of addresses and forms, and refuses those that a route does not know.

import { badRequest, WebFault } from '../web-fault.ts';

/** The fields of an address or a form that a route reads. */
export interface KnownFields {
  names: readonly string[];
  /** The names that may be given more than once, as the ids of a selection. */
  several?: readonly string[];
  /** The page without a filter, with which the person can go on. */
  all?: { path: string; name: string };
}

/** The field that each form has. */
const CSRF = 'csrf';

/**
 * Refuses a field that the route does not read, such as a filter with a mistyped name, and a second value of a field. If
 * they were ignored, the list would have other entries than the person asked for, and so would an action on the list.
 *
 * @param method a GET reads the address, and every other method reads the form
 * @throws WebFault for an unknown or a repeated field
 */
export function refuseUnknownFields(
  method: string,
  { query, form }: { query: URLSearchParams; form: URLSearchParams },
  { names, several = [], all }: KnownFields,
): void {
  const parts = [
    { what: 'parameter', given: query, known: method === 'GET' ? names : [] },
    { what: 'field', given: form, known: names },
  ];
  for (const { what, given, known } of parts) {
    const link = all === undefined ? {} : { link: all };
    const unknown = [...given.keys()].find((name) => name !== CSRF && !known.includes(name));
    if (unknown !== undefined) {
      throw new WebFault(400, `The ${what} “${unknown}” is unknown. ${allowedText(known)}`, link);
    }
    const repeated = known.find((name) => !several.includes(name) && given.getAll(name).length > 1);
    if (repeated !== undefined) {
      throw new WebFault(400, `The ${what} “${repeated}” is given more than once. Give it once.`, link);
    }
  }
}

/** The known names in a sentence. */
export function allowedText(names: readonly string[]): string {
  return names.length === 0 ? 'No name is allowed here.' : `Allowed is: ${names.join(', ')}.`;
}

/** The known values of a filter, and the link to the list without a filter. */
export interface FilterValues<Value extends string> {
  values: readonly Value[];
  all: { path: string; name: string };
}

/**
 * The value of a filter in an address or a form; undefined if the filter is not set. An unknown value is refused: if it
 * was ignored, the list would have all entries, and so would an action on the list.
 *
 * @throws WebFault for an unknown value
 */
export function filterValue<Value extends string>(
  fields: URLSearchParams,
  name: string,
  { values, all }: FilterValues<Value>,
): Value | undefined {
  const given = fields.get(name) ?? '';
  const known = values.find((value) => value === given);
  if (given !== '' && known === undefined) throw unknownFilter({ name, given, expected: values.join(', ') }, all);
  return known;
}

/** The fault for a filter with a value that no list has. */
export function unknownFilter(
  { name, given, expected }: { name: string; given: string; expected: string },
  all: FilterValues<string>['all'],
): WebFault {
  const message = `The filter ${name} cannot have the value “${given}”. Allowed is: ${expected}.`;
  return new WebFault(400, message, { link: all });
}

/**
 * The whole number in a hidden field of a form; undefined if the form does not have the field.
 *
 * @throws WebFault for another text
 */
export function numberOf(form: URLSearchParams, name: string): number | undefined {
  const text = form.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`The field “${name}” of the form is no number. Load the page again.`);
}

/** Makes sure that a target from an address or a form is a path of this server. Any other target becomes `/`. */
export function ownPath(next: unknown): string {
  if (typeof next !== 'string' || !next.startsWith('/')) return '/';
  const url = URL.parse(next, 'http://own.invalid');
  if (url === null || url.host !== 'own.invalid') return '/';
  const path = `${url.pathname}${url.search}`;
  // Browsers read two slashes as the beginning of another host.
  return /^\/[/\\]/.test(path) || /^\/(?:login|logout)\b/.test(path) ? '/' : path;
}
