import { badRequest } from './web-fault.ts';

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
