/** A text as one word of a command line that a person copies: quoted for a POSIX shell where it needs that. */
export function shellWord(text: string): string {
  const word = /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  // An argument that looks like an option has to come after the end of the options.
  return text.startsWith('-') ? `-- ${word}` : word;
}
