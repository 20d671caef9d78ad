import { sourceFault } from '../connector.ts';

/** The kinds of content that the first bytes of a file show. */
export type ContentKind = keyof typeof NAMES;

const NAMES = {
  gzip: 'compressed with gzip',
  zip: 'a .zip file',
  spreadsheet: 'an XLSX workbook',
  compound: 'an old Office file (.xls or .doc) or a protected workbook',
  pdf: 'a PDF',
  compressed: 'a compressed file',
  tar: 'a .tar archive',
  sqlite: 'a database of SQLite',
  access: 'a database of Access',
  parquet: 'a Parquet file',
  markup: 'a workbook in the form of XML or HTML',
  html: 'an HTML page',
  xml: 'XML',
  json: 'JSON',
  edifact: 'EDIFACT',
  x12: 'ANSI X12',
  tradacoms: 'TRADACOMS',
  idoc: 'SAP IDocs as flat text',
};

/** The kinds that no connector reads. */
const UNREAD: ReadonlySet<ContentKind> = new Set([
  'pdf',
  'access',
  'parquet',
  'compressed',
  'tar',
  'edifact',
  'x12',
  'tradacoms',
  'idoc',
]);
const OTHER_FORMAT =
  'Check the path. Let the source system write CSV, JSON, XML or XLSX, or convert the file to one of these before.';
const UNPACK = 'Unpack it before, or write it as .gz or .zip, which are unpacked here.';

/** Said with each advice to use another connector, because the file may be one of several files of its source. */
export const ONE_FORMAT =
  'The files of a source have one format, so a file of another format needs a source of its own.';

const CURES: Partial<Record<ContentKind, string>> = {
  spreadsheet: `Use \`connector: xlsx\` for it. ${ONE_FORMAT}`,
  compound: 'Save it as .xlsx without a password, and use `connector: xlsx`.',
  markup: `Open it in Excel and save it as .xlsx, or let the source system write XLSX or CSV. Use \`connector: xlsx\` for XLSX. ${ONE_FORMAT}`,
  html: 'Often it is an error page or a login page that was saved instead of the export: open the file in a browser.',
  xml: `Use \`connector: xml\` for it. ${ONE_FORMAT}`,
  json: `Use \`connector: json\` for it. ${ONE_FORMAT}`,
  sqlite: 'Use `connector: sql` with `dialect: sqlite` for it.',
  compressed: UNPACK,
  tar: UNPACK,
  idoc: 'Let SAP write the IDocs as XML, through a port of the type XML file, and use `connector: sap-idoc`.',
};

const MAGIC: readonly [ContentKind, number[]][] = [
  ['gzip', [0x1f, 0x8b]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['zip', [0x50, 0x4b, 0x05, 0x06]],
  ['compound', [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
  ['pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ['sqlite', [...Buffer.from('SQLite format 3\0')]],
  ['access', [0x00, 0x01, 0x00, 0x00, ...Buffer.from('Standard ')]],
  ['parquet', [...Buffer.from('PAR1')]],
  ['compressed', [...Buffer.from('Rar!\x1a\x07')]],
  ['compressed', [0x28, 0xb5, 0x2f, 0xfd]],
  ['compressed', [0x42, 0x5a, 0x68]],
  ['compressed', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['compressed', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
];
const HEAD_BYTES = 1_024;
/** Where the header of a .tar archive has its name. */
const TAR_AT = 257;

/**
 * Recognises content by its first bytes. Delimited text never begins with these bytes by accident.
 *
 * @returns null if the bytes may be any text
 */
export function recogniseContent(head: Buffer): ContentKind | null {
  const found = MAGIC.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte))?.[0];
  // A text may begin with `BZh` too, but in an archive the bytes after `BZh` are not text.
  if (found === 'compressed' && head[0] === 0x42 && head[4] !== 0x31) return null;
  if (found === 'zip' && /\[Content_Types\]\.xml|_rels\/|xl\//.test(head.toString('latin1', 0, HEAD_BYTES))) {
    return 'spreadsheet';
  }
  // A delimited text may begin with this word, but has no zero bytes.
  if (found === 'parquet' && !head.includes(0)) return null;
  if (found !== undefined) return found;
  if (head.toString('latin1', TAR_AT, TAR_AT + 5) === 'ustar' && head[0] !== 0 && head.includes(0)) return 'tar';
  // In UTF-16 every second byte of markup is zero. A byte order mark may come before the markup.
  const text = textOf(head);
  if (MARKUP_OF_EXCEL.test(text)) return 'markup';
  if (/^<(?:!doctype\s+html|html|head|body)\b/i.test(text)) return 'html';
  if (/^<(?:\?xml\b|!doctype\b|!--)/i.test(text)) return /<html[\s>]/i.test(text) ? 'html' : 'xml';
  if (/^(?:\{\s*"|\[\s*[{["])/.test(text)) return 'json';
  return recogniseEdi(text)?.kind ?? null;
}

/** Excel opens XML, HTML and web archives with these names as workbooks, and ERP systems write them as .xls files. */
const MARKUP_OF_EXCEL =
  /^<[^]*(?:urn:schemas-microsoft-com:office:(?:spreadsheet|excel)\b|<\?mso-application progid="Excel\.Sheet")|^MIME-Version:[^]*\sX-Document-Type: Workbook/i;

function textOf(head: Buffer): string {
  return head
    .toString('latin1', 0, HEAD_BYTES)
    .replaceAll('\0', '')
    .replace(/^(?:ï»¿|ÿþ|þÿ)/, '')
    .trimStart();
}

/**
 * Refuses a file whose content is of another format, and names that format.
 *
 * @param format the expected format, such as `CSV`
 * @throws a `sourceFault` with what to do
 */
export function assertContent(file: string, head: Buffer, expected: { format: string; accepts?: ContentKind }): void {
  const kind = recogniseContent(head);
  if (kind === null || kind === expected.accepts) return;
  throw contentFault(file, kind, expected.format, head);
}

/** @param head the first bytes of the file, which show more about some formats */
export function contentFault(file: string, kind: ContentKind, format: string, head?: Buffer): Error {
  const name = head === undefined ? NAMES[kind] : (recogniseEdi(textOf(head))?.title ?? NAMES[kind]);
  return UNREAD.has(kind)
    ? sourceFault(`${file} is ${name}, which dpp-sync does not read.`, { suggestion: CURES[kind] ?? OTHER_FORMAT })
    : sourceFault(`${file} is ${name}, not ${format}.`, {
        suggestion: CURES[kind] ?? 'Check the path and the format of the export.',
      });
}

/** The formats of electronic data interchange whose messages are text with segments. */
type EdiKind = 'edifact' | 'x12' | 'tradacoms' | 'idoc';

/** `UNA` states the separators, and may be left out. `UNB` begins with the character set and its version: `UNOA:3`. */
const EDIFACT = /^(?:UNA.{6}\s*)?UNB(?<sign>[^\w\s])[A-Z]{3}[A-Z\d](?!\k<sign>)[^\w\s]\d/s;
/** `ISA` has fields of fixed length. */
const X12 = /^ISA(?<sign>[^\w\s])\d\d\k<sign>.{10}\k<sign>\d\d\k<sign>.{10}\k<sign>/s;
const TRADACOMS = /^STX=[A-Z]{3,4}:\d\+/;
/** The control record of an IDoc that is not written as XML: its name, padded to 10 characters, and the client. */
const FLAT_IDOC = /^EDI_DC(?:40)?\s*\d{3}/;

/** A file in one of these formats, with the type of its first message: `EDIFACT (PRICAT)`. Null for any other text. */
function recogniseEdi(text: string): { kind: EdiKind; title: string } | null {
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
