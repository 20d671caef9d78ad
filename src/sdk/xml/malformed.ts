import { CURE_AMPERSAND } from './entities.ts';

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
