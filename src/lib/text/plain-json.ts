import { withHiddenShown } from './odd-character.ts';

/**
 * A JSON text of the same value in which no character is obeyed or hidden by what shows it. Such characters are only
 * within strings of a JSON text, so an escape is always allowed.
 */
export function plainJson(json: string): string {
  return withHiddenShown(json);
}
