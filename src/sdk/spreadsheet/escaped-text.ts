/** The escapes of Office for characters that XML cannot hold: `_x000D_` (ECMA-376 part 1, 22.9.2.19). */
const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;

/** The text of a cell that a person sees in Excel: `_x000D_` becomes the character that it stands for. */
export function unescapeCellText(text: string): string {
  return text.includes('_x')
    ? text.replace(ESCAPED, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
}
