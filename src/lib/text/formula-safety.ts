// Text that a spreadsheet would run as a formula: https://owasp.org/www-community/attacks/CSV_Injection

const NUMBER = /^[+-]?[\d.,' ]*$/;
const FORMULA = /^'*[=+\-@\t\r\n|＝＋－＠]/;
const DEFUSED = /^'+[=+\-@\t\r\n|＝＋－＠]/;

/**
 * A value with an apostrophe in front where a spreadsheet would run it as a formula. The apostrophe makes it text there. Numbers
 * with a sign stay as they are. A value that has apostrophes already gets one more, so that `armFormula` gives the same value back.
 */
export function defuseFormula(text: string): string {
  if (NUMBER.test(text)) return text;
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Takes off the apostrophe that `defuseFormula` has added. */
export function armFormula(text: string): string {
  return DEFUSED.test(text) ? text.slice(1) : text;
}
