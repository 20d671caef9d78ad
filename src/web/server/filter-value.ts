import { WebFault } from './web-fault.ts';

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
