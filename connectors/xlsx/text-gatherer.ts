import { unescapeCellText } from '../../src/sdk/index.ts';

/** Collects the text of a cell: from one `t`, or from the parts of rich text. */
export interface TextGatherer {
  begin(): void;
  open(name: string): void;
  add(text: string): void;
  close(name: string): void;
  /** Returns the text. A text that is too long is cut to one character more than the limit. */
  take(): string;
}

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
    take: () => unescapeCellText(value),
  };
}
