/** A text as one word of a command line that a person copies: quoted for a POSIX shell if it needs quotes. */
export function shellWord(text: string): string {
  // An argument that looks like an option has to come after the end of the options.
  return text.startsWith('-') ? `-- ${shellValue(text)}` : shellValue(text);
}

/** A text as the value of an option, which may begin with a dash. */
export function shellValue(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
