/**
 * Characters that JSON leaves as they are, and that a terminal or an editor obeys or hides: the control characters
 * above ASCII, and all format characters, such as those that change the reading direction.
 */
const HIDDEN = /[\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;
const ASCII = /^[\n\x20-\x7e]*$/;

/**
 * A JSON text of the same value in which no character is obeyed or hidden by what shows it. Such characters are only
 * within strings of a JSON text, so an escape is always allowed.
 */
export function plainJson(json: string): string {
  if (ASCII.test(json)) return json;
  return json.replaceAll(HIDDEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
