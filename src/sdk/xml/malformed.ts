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
  const why = reason === 'unexpected close tag.' ? `the closing tag of <${closed}> is missing.` : reason;
  return [`The file is not well-formed XML${inside}: ${why}`, 'The rest of the file is not read. Export it again.'];
}
