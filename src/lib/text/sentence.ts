/** Makes a sentence from a text of another program: adds a full stop if the text has no punctuation at its end. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
