// Protection against text that a spreadsheet would run as a formula:
// https://owasp.org/www-community/attacks/CSV_Injection

const NUMBER = /^[+-]?[\d.,' ]*$/;
const FORMULA = /^'*[=+\-@\t\r\n|＝＋－＠]/;
const DEFUSED = /^'+[=+\-@\t\r\n|＝＋－＠]/;

/**
 * Adds an apostrophe before a value that a spreadsheet would run as a formula. With the apostrophe it is text. Numbers
 * with a sign are not changed. A value that already begins with apostrophes gets one more, so that `armFormula` returns
 * the same value.
 */
export function defuseFormula(text: string): string {
  if (NUMBER.test(text)) return text;
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Removes the apostrophe that `defuseFormula` has added. */
export function armFormula(text: string): string {
  return DEFUSED.test(text) ? text.slice(1) : text;
}
