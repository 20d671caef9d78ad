/** A paragraph of a document. */
export interface Paragraph {
  text: string;
  style: 'title' | 'heading' | 'text';
  /** Where a click on it leads. */
  link?: string;
}

const PAGE = { width: 595, height: 842, margin: 56 } as const;
const STYLES = {
  title: { font: 'F2', size: 18, before: 0 },
  heading: { font: 'F2', size: 12, before: 12 },
  text: { font: 'F1', size: 10, before: 0 },
} as const;

/** A mean width of Helvetica's letters, in ems, on the wide side. */
const LETTER_EM = 0.54;

interface PlacedLine {
  text: string;
  y: number;
  style: Paragraph['style'];
  link: string | undefined;
}

/**
 * Writes paragraphs as a PDF 1.7 (ISO 32000-1) of as many A4 pages as they take, in Helvetica, which every reader has.
 * Letters beyond Windows-1252 become question marks, since that is what its encoding can name.
 */
export function renderPdf({ title, paragraphs, at }: { title: string; paragraphs: Paragraph[]; at: Date }): Buffer {
  const pages = layOut(paragraphs);
  const objects: Buffer[] = [];
  const add = (content: Buffer | string): number => objects.push(Buffer.from(content));
  const CATALOG = add('<< /Type /Catalog /Pages 2 0 R >>');
  // The pages come first to be numbered and last to be known.
  const PAGES = add('');
  for (const name of ['Helvetica', 'Helvetica-Bold']) {
    add(`<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`);
  }
  const info = add(
    Buffer.concat([Buffer.from('<< /Title '), literal(title), Buffer.from(` /CreationDate (${dateOf(at)}) >>`)]),
  );
  const kids = pages.map((lines) => {
    const content = Buffer.concat(lines.map(drawLine));
    const stream = add(
      Buffer.concat([Buffer.from(`<< /Length ${content.length} >>\nstream\n`), content, Buffer.from('\nendstream')]),
    );
    const links = lines.flatMap((line) => (line.link === undefined ? [] : [add(annotationOf(line, line.link))]));
    const resources = '<< /Font << /F1 3 0 R /F2 4 0 R >> >>';
    const annotations = links.map((link) => `${link} 0 R`).join(' ');
    return add(
      `<< /Type /Page /Parent ${PAGES} 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Resources ${resources} ` +
        `/Contents ${stream} 0 R /Annots [${annotations}] >>`,
    );
  });
  objects[PAGES - 1] = Buffer.from(
    `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(' ')}] >>`,
  );
  return assemble(objects, `/Root ${CATALOG} 0 R /Info ${info} 0 R`);
}

function layOut(paragraphs: Paragraph[]): PlacedLine[][] {
  let page: PlacedLine[] = [];
  const pages = [page];
  let y: number = PAGE.height - PAGE.margin;
  for (const { text, style, link } of paragraphs) {
    const { size, before } = STYLES[style];
    y -= before;
    for (const line of wrap(text, Math.floor((PAGE.width - 2 * PAGE.margin) / (size * LETTER_EM)))) {
      y -= size * 1.4;
      if (y < PAGE.margin) {
        page = [];
        pages.push(page);
        y = PAGE.height - PAGE.margin - size;
      }
      page.push({ text: line, y, style, link });
    }
  }
  return pages;
}

/** Breaks at spaces, and amid a word that no line could hold. */
function wrap(text: string, lettersMax: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    let rest = word;
    if (line !== '' && line.length + 1 + rest.length <= lettersMax) {
      line += ` ${rest}`;
      continue;
    }
    if (line !== '') lines.push(line);
    for (; rest.length > lettersMax; rest = rest.slice(lettersMax)) lines.push(rest.slice(0, lettersMax));
    line = rest;
  }
  return line === '' ? lines : [...lines, line];
}

function drawLine({ text, y, style }: PlacedLine): Buffer {
  const { font, size } = STYLES[style];
  const place = Buffer.from(`BT /${font} ${size} Tf ${PAGE.margin} ${y.toFixed(2)} Td `);
  return Buffer.concat([place, literal(text), Buffer.from(' Tj ET\n')]);
}

function annotationOf({ y, style }: PlacedLine, link: string): string {
  const { size } = STYLES[style];
  const rectangle = [PAGE.margin, y - 2, PAGE.width - PAGE.margin, y + size].map((value) => value.toFixed(2));
  // A URI is ASCII, and encoded in a way that leaves no parenthesis or backslash.
  const uri = new URL(link).href.replaceAll(/[()\\]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  return `<< /Type /Annot /Subtype /Link /Rect [${rectangle.join(' ')}] /Border [0 0 0] /A << /S /URI /URI (${uri}) >> >>`;
}

/** Windows-1252 where it differs from Latin-1, from 0x80 on; unused places are blank. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

function literal(text: string): Buffer {
  const bytes = Array.from(text, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    if ((code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff)) return code;
    const special = code > 0xff ? WINDOWS_1252.indexOf(letter) : -1;
    return special < 0 ? 0x3f : 0x80 + special;
  }).flatMap((byte) => ([0x28, 0x29, 0x5c].includes(byte) ? [0x5c, byte] : [byte]));
  return Buffer.from([0x28, ...bytes, 0x29]);
}

function dateOf(at: Date): string {
  return `D:${at.toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`;
}

/** Header, numbered objects, and the table of where each of them begins. */
function assemble(objects: Buffer[], trailer: string): Buffer {
  const parts = [Buffer.from('%PDF-1.7\n%\u00e2\u00e3\n', 'latin1')];
  let offset = parts[0]?.length ?? 0;
  const offsets = objects.map((object, index) => {
    const begins = offset;
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    parts.push(part);
    offset += part.length;
    return begins;
  });
  const size = objects.length + 1;
  const rows = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} ${trailer} >>\nstartxref\n${offset}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}
