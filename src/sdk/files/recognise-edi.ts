/** The formats of electronic data interchange whose messages are text with segments. */
export type EdiKind = 'edifact' | 'x12' | 'tradacoms' | 'idoc';

/** `UNA` states the separators, and may be left out. `UNB` begins with the character set and its version: `UNOA:3`. */
const EDIFACT = /^(?:UNA.{6}\s*)?UNB(?<sign>[^\w\s])[A-Z]{3}[A-Z\d](?!\k<sign>)[^\w\s]\d/s;
/** `ISA` has fields of fixed length. */
const X12 = /^ISA(?<sign>[^\w\s])\d\d\k<sign>.{10}\k<sign>\d\d\k<sign>.{10}\k<sign>/s;
const TRADACOMS = /^STX=[A-Z]{3,4}:\d\+/;
/** The control record of an IDoc that is not written as XML: its name, padded to 10 characters, and the client. */
const FLAT_IDOC = /^EDI_DC(?:40)?\s*\d{3}/;

/** A file in one of these formats, with the type of its first message: `EDIFACT (PRICAT)`. Null for any other text. */
export function recogniseEdi(text: string): { kind: EdiKind; title: string } | null {
  const edifact = EDIFACT.exec(text)?.groups;
  if (edifact !== undefined) {
    const sign = escaped(edifact['sign'] ?? '+');
    return named('edifact', 'EDIFACT', new RegExp(`UNH${sign}[^${sign}]*${sign}([A-Z]{6})`).exec(text)?.[1]);
  }
  const x12 = X12.exec(text)?.groups;
  if (x12 !== undefined) {
    const sign = escaped(x12['sign'] ?? '*');
    return named('x12', 'ANSI X12', new RegExp(`[^\\w]ST${sign}(\\d{3})${sign}`).exec(text)?.[1]);
  }
  if (TRADACOMS.test(text)) return named('tradacoms', 'TRADACOMS', /MHD=\d+\+([A-Z]{6})/.exec(text)?.[1]);
  if (FLAT_IDOC.test(text)) return named('idoc', 'SAP IDocs as flat text', /\b(MATMAS|BOMMAT)\w*/.exec(text)?.[1]);
  return null;
}

function named(kind: EdiKind, title: string, message: string | undefined): { kind: EdiKind; title: string } {
  return { kind, title: message === undefined ? title : `${title} (${message})` };
}

/** A sign within a pattern, also within brackets. */
function escaped(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
