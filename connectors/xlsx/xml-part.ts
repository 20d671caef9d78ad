import { SaxesParser } from 'saxes';
import { unescapeCellText } from '../../src/sdk/index.ts';

/** The functions that are called while a part is read. Names have no namespace prefix. */
export interface PartHandlers {
  open(name: string, attributes: Record<string, string>): void;
  text(text: string): void;
  close(name: string): void;
}

const DEPTH_MAX = 100;

/**
 * Reads the XML of a workbook. The parser keeps the complete text between two tags in memory, so a long part without a
 * tag is refused. A document type is refused too: Office never writes one, and its entities could grow without bound.
 */
export function createPartReader(handlers: PartHandlers, { silenceMax }: { silenceMax: number }) {
  const parser = new SaxesParser({ position: false, xmlns: false });
  let depth = 0;
  let silent = 0;
  parser.on('doctype', () => {
    throw new Error('it has a document type, which workbooks never have');
  });
  parser.on('opentag', ({ name, attributes, isSelfClosing }) => {
    silent = 0;
    if (!isSelfClosing && ++depth > DEPTH_MAX) throw new Error(`it is nested more than ${DEPTH_MAX} levels deep`);
    handlers.open(localName(name), attributes);
  });
  parser.on('text', (text) => handlers.text(text));
  parser.on('cdata', (text) => handlers.text(text));
  parser.on('closetag', ({ name, isSelfClosing }) => {
    silent = 0;
    if (!isSelfClosing) depth--;
    handlers.close(localName(name));
  });
  return {
    /** @throws Error with the reason if the XML is broken or exceeds a limit */
    write(text: string): void {
      silent += text.length;
      parser.write(text);
      if (silent > silenceMax) throw new Error(`it has a value or a tag of more than ${silenceMax} characters`);
    },
    end: (): void => void parser.close(),
  };
}

export function localName(name: string): string {
  const colon = name.indexOf(':');
  return colon === -1 ? name : name.slice(colon + 1);
}

/**
 * Collects the text of a cell: from one `t`, or from the parts of rich text.
 *
 * @param max the longest text that is kept
 */
export function createTextGatherer(max: number) {
  let value = '';
  let inText = false;
  /** Phonetic hints repeat the text in another script. */
  let inHint = false;
  return {
    begin(): void {
      value = '';
      inText = false;
      inHint = false;
    },
    open(name: string): void {
      if (name === 't') inText = !inHint;
      else if (name === 'rPh') inHint = true;
    },
    add(text: string): void {
      if (!inText) return;
      value += text;
      if (value.length > max) value = value.slice(0, max + 1);
    },
    close(name: string): void {
      if (name === 't') inText = false;
      else if (name === 'rPh') inHint = false;
    },
    /** Returns the text. A text that is too long is cut to one character more than the limit. */
    take: (): string => unescapeCellText(value),
  };
}
