/** A text of another program as a sentence: a full stop is added where the text has no end of its own. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
