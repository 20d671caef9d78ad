import { sourceFault } from '../faults.ts';

/** The kinds of files that are not XML, by their first bytes. */
const SIGNATURES: [bytes: string, what: string, cure: string][] = [
  [
    '\x1f\x8b',
    'is compressed with gzip',
    'Decompress it, or check the extension: files that end with .gz are decompressed.',
  ],
  [
    'PK\x03\x04',
    'is a ZIP archive or a spreadsheet (XLSX)',
    'Unpack the archive. For a spreadsheet use the connector `xlsx`.',
  ],
  ['%PDF', 'is a PDF document', 'Check the path.'],
];

/**
 * Refuses a file that is not XML, and says which kind of file it is.
 *
 * @param head the file's first bytes
 * @param text the decoded text of these bytes
 * @throws a `sourceFault`
 */
export function assertXml(head: Buffer, text: string, file: string): void {
  const fail = (what: string, suggestion: string): Error => sourceFault(`${file} ${what}, not XML.`, { suggestion });
  const latin = head.toString('latin1');
  for (const [bytes, what, cure] of SIGNATURES) {
    if (latin.startsWith(bytes)) throw fail(what, cure);
  }
  const start = text.replace(/^[\uFEFF\s]+/, '');
  if (start === '') {
    throw sourceFault(`${file} is empty.`, {
      suggestion: 'Check the export. A file without records still has its root element.',
    });
  }
  if (/^<!doctype\s+html|^<html[\s>]/i.test(start)) {
    throw fail(
      'is an HTML page',
      'The file may be the login or error page of a server. Open the file, and check the download.',
    );
  }
  if (start.startsWith('<')) return;
  if (latin.includes('\0')) throw fail('is a binary file', 'Check the path and the format of the export.');
  if (/^[{[]/.test(start)) throw fail('looks like JSON', 'Use the connector `json`.');
  const line = start.split(/[\r\n]/, 1).join();
  if (/[;,\t|]/.test(line)) throw fail('looks like delimited text (CSV)', 'Use the connector `csv`.');
  throw fail(`begins with ${JSON.stringify(line.slice(0, 40))}`, 'Check the path and the format of the export.');
}
