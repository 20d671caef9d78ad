import { sourceFault } from '../faults.ts';
import { contentFault, recogniseContent } from '../files/recognise.ts';
import { CURE_AMPERSAND } from './entities.ts';

/**
 * Refuses a file that is not XML, and says which kind of file it is.
 *
 * @param head the file's first bytes
 * @param text the decoded text of these bytes
 * @throws a `sourceFault`
 */
export function assertXml(head: Buffer, text: string, file: string): void {
  const fail = (what: string, suggestion: string): Error => sourceFault(`${file} ${what}, not XML.`, { suggestion });
  const start = text.replace(/^[\uFEFF\s]+/, '');
  const kind = recogniseContent(head);
  // An XML document may have HTML within it.
  const isXml = kind === 'xml' || (kind === 'html' && !/^<!doctype\s+html|^<html[\s>]/i.test(start));
  if (kind !== null && !isXml) throw contentFault(file, kind, 'XML', head);
  if (start === '') {
    throw sourceFault(`${file} is empty.`, {
      suggestion: 'Check the export. A file without records still has its root element.',
    });
  }
  if (start.startsWith('<')) return;
  if (head.includes(0)) throw fail('is a binary file', 'Check the path and the format of the export.');
  if (/^[{[]/.test(start)) throw fail('looks like JSON', 'Use the connector `json`.');
  const line = start.split(/[\r\n]/, 1).join();
  if (/[;,\t|]/.test(line)) throw fail('looks like delimited text (CSV)', 'Use the connector `csv`.');
  throw fail(`begins with ${JSON.stringify(line.slice(0, 40))}`, 'Check the path and the format of the export.');
}

/** Reasons of the parser that have a cure of their own. */
const CURES: Readonly<Record<string, string>> = {
  'empty entity name': CURE_AMPERSAND,
  'malformed character entity': CURE_AMPERSAND,
  'disallowed character in tag name':
    'In XML, write `&lt;` for a < that is text. Correct this in the program that writes the export.',
};

/** Describes why the parser refuses a document, and what to do. */
export function describeMalformed(
  reason: string,
  { open, closed }: { open: string | undefined; closed: string },
): [what: string, cure: string] {
  const inside = open === undefined ? '' : ` in <${open}>`;
  if (/^(unclosed tag|unexpected end|document must contain a root)/.test(reason)) {
    return [
      `The file ends before it is complete${inside}.`,
      'Export the file again, and check that the whole file is copied.',
    ];
  }
  const bare = reason.replace(/\.$/, '');
  const why = bare === 'unexpected close tag' ? `the closing tag of <${closed}> is missing` : bare;
  const cure = CURES[bare] ?? 'The rest of the file is not read. Export it again.';
  return [`The file is not well-formed XML${inside}: ${why}.`, cure];
}
