import { sourceFault } from '../faults.ts';

/** The kinds of content that the first bytes of a file show. */
export type ContentKind = keyof typeof NAMES;

const NAMES = {
  gzip: 'compressed with gzip',
  zip: 'a .zip file',
  spreadsheet: 'an XLSX workbook',
  compound: 'an old Office file (.xls or .doc) or a protected workbook',
  pdf: 'a PDF',
  compressed: 'a compressed file',
  html: 'an HTML page',
  xml: 'XML',
  json: 'JSON',
};

const CURES: Partial<Record<ContentKind, string>> = {
  spreadsheet: 'Use `connector: xlsx` for it.',
  compound: 'Save it as .xlsx without a password, and use `connector: xlsx`.',
  html: 'Often it is an error page or a login page that was saved instead of the export: open the file in a browser.',
  xml: 'Use `connector: xml` for it.',
  json: 'Use `connector: json` for it.',
};

const MAGIC: readonly [ContentKind, number[]][] = [
  ['gzip', [0x1f, 0x8b]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['zip', [0x50, 0x4b, 0x05, 0x06]],
  ['compound', [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
  ['pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ['compressed', [0x28, 0xb5, 0x2f, 0xfd]],
  ['compressed', [0x42, 0x5a, 0x68]],
  ['compressed', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['compressed', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
];
const HEAD_BYTES = 1_024;

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
  if (found !== undefined) return found;
  // In UTF-16 every second byte of markup is zero. A byte order mark may come before the markup.
  const text = head
    .toString('latin1', 0, HEAD_BYTES)
    .replaceAll('\0', '')
    .replace(/^(?:ï»¿|ÿþ|þÿ)/, '')
    .trimStart();
  if (/^<(?:!doctype\s+html|html|head|body)\b/i.test(text)) return 'html';
  if (/^<(?:\?xml\b|!doctype\b|!--)/i.test(text)) return /<html[\s>]/i.test(text) ? 'html' : 'xml';
  return /^(?:\{\s*"|\[\s*[{["])/.test(text) ? 'json' : null;
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
  throw contentFault(file, kind, expected.format);
}

export function contentFault(file: string, kind: ContentKind, format: string): Error {
  return sourceFault(`${file} is ${NAMES[kind]}, not ${format}.`, {
    suggestion: CURES[kind] ?? 'Check the path and the format of the export.',
  });
}
