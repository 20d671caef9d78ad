/** Puts the text of a cell together: from one `t`, or from the runs of rich text. */
export interface TextGatherer {
  begin(): void;
  open(name: string): void;
  add(text: string): void;
  close(name: string): void;
  /** The text. One that is too long is cut to one character more than the limit. */
  take(): string;
}

/** What Office writes for characters that XML cannot hold: `_x000D_` (ECMA-376 part 1, 22.9.2.19). */
const ESCAPED = /_x([0-9A-Fa-f]{4})_/g;

/** @param max the longest text that is kept */
export function createTextGatherer(max: number): TextGatherer {
  let value = '';
  let inText = false;
  /** Phonetic hints repeat the text in another script. */
  let inHint = false;
  return {
    begin() {
      value = '';
      inText = false;
      inHint = false;
    },
    open(name) {
      if (name === 't') inText = !inHint;
      else if (name === 'rPh') inHint = true;
    },
    add(text) {
      if (!inText) return;
      value += text;
      if (value.length > max) value = value.slice(0, max + 1);
    },
    close(name) {
      if (name === 't') inText = false;
      else if (name === 'rPh') inHint = false;
    },
    take: () => unescapeText(value),
  };
}

export function unescapeText(text: string): string {
  return text.includes('_x')
    ? text.replace(ESCAPED, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
}
