/**
 * Reads a PDF whose streams are not compressed, by its cross-reference table as a viewer would, and returns the texts it
 * draws, page by page, and the addresses it links to.
 *
 * @throws Error where the table and the objects do not agree
 */
export function readPdf(bytes: Buffer): { pages: string[][]; links: string[]; title: string } {
  const text = bytes.toString('latin1');
  if (!text.startsWith('%PDF-1.')) throw new Error('no PDF header');
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
  const table = text.slice(start);
  const size = Number(/^xref\n0 (\d+)\n/.exec(table)?.[1]);
  const rows = [...table.matchAll(/^(\d{10}) (\d{5}) ([nf]) $/gm)];
  if (rows.length !== size) throw new Error(`the table has ${rows.length} rows of ${size}`);
  const objects = new Map<number, string>();
  for (const [index, row] of rows.entries()) {
    if (row[3] === 'f') continue;
    const object = text.slice(Number(row[1]));
    if (!object.startsWith(`${index} 0 obj\n`)) throw new Error(`object ${index} is not where the table says`);
    objects.set(index, object.slice(0, object.indexOf('\nendobj\n')));
  }
  const objectAt = (reference: string | undefined): string => objects.get(Number(reference)) ?? '';
  const trailer = table.slice(table.indexOf('trailer'));
  const catalog = objectAt(/\/Root (\d+) 0 R/.exec(trailer)?.[1]);
  const pageTree = objectAt(/\/Pages (\d+) 0 R/.exec(catalog)?.[1]);
  const kids = [...(/\/Kids \[(.*?)\]/.exec(pageTree)?.[1] ?? '').matchAll(/(\d+) 0 R/g)].map((kid) =>
    objectAt(kid[1]),
  );
  const pages = kids.map((page) => {
    const stream = objectAt(/\/Contents (\d+) 0 R/.exec(page)?.[1]);
    const length = Number(/\/Length (\d+)/.exec(stream)?.[1]);
    const from = stream.indexOf('stream\n') + 'stream\n'.length;
    if (!stream.slice(from + length).startsWith('\nendstream')) throw new Error('a stream is not as long as it says');
    return [...stream.slice(from, from + length).matchAll(/\(((?:\\.|[^\\)])*)\) Tj/g)].map((match) => plain(match[1]));
  });
  const links = kids
    .flatMap((page) => [...(/\/Annots \[(.*?)\]/.exec(page)?.[1] ?? '').matchAll(/(\d+) 0 R/g)])
    .map((reference) => /\/URI \((.*?)\)/.exec(objectAt(reference[1]))?.[1] ?? '');
  const info = objectAt(/\/Info (\d+) 0 R/.exec(trailer)?.[1]);
  return { pages, links, title: plain(/\/Title \(((?:\\.|[^\\)])*)\)/.exec(info)?.[1]) };
}

function plain(literal = ''): string {
  const bytes = Buffer.from(literal.replaceAll(/\\(.)/g, '$1'), 'latin1');
  return new TextDecoder('windows-1252').decode(bytes);
}
