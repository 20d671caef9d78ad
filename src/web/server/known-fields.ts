import { WebFault } from './web-fault.ts';

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
