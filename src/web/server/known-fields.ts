import { WebFault } from './web-fault.ts';

/** The fields of an address or a form that a route reads. */
export interface KnownFields {
  names: readonly string[];
  /** The page without a filter, with which the person can go on. */
  all?: { path: string; name: string };
}

/** The field that each form has. */
const CSRF = 'csrf';

/**
 * Refuses a field that the route does not read, such as a filter with a mistyped name. If the field was ignored, the list
 * would have all entries, and so would an action on the list.
 *
 * @param method a GET reads the address, and every other method reads the form
 * @throws WebFault for an unknown field
 */
export function refuseUnknownFields(
  method: string,
  { query, form }: { query: URLSearchParams; form: URLSearchParams },
  { names, all }: KnownFields,
): void {
  const parts = [
    { what: 'parameter', given: query, known: method === 'GET' ? names : [] },
    { what: 'field', given: form, known: names },
  ];
  for (const { what, given, known } of parts) {
    const unknown = [...given.keys()].find((name) => name !== CSRF && !known.includes(name));
    if (unknown === undefined) continue;
    const message = `The ${what} “${unknown}” is unknown. ${allowedText(known)}`;
    throw new WebFault(400, message, all === undefined ? {} : { link: all });
  }
}

/** The known names in a sentence. */
export function allowedText(names: readonly string[]): string {
  return names.length === 0 ? 'No name is allowed here.' : `Allowed is: ${names.join(', ')}.`;
}
