import { BODY, createPdfDocument, type PdfDocument, type TextStyle } from './pdf-document.ts';
import { MISSING, type PdfFonts } from './pdf-fonts.ts';
import { drawTable, TABLE_PAGES_MAX, type Table } from './pdf-table.ts';
import { encodeQrCode } from './qr-code.ts';

/** A fact with its name, as it is read. */
export interface Fact {
  label: string;
  value: string;
}

/** A table with what it is called and how many rows there are. */
export interface Section extends Table {
  title: string;
  count: number;
}

/** What the document of a passport says. */
export interface PassportContent {
  /** The title of the document. */
  title: string;
  /** What stands large at the top. */
  name: string;
  /** What stands below that. */
  identity: string;
  /** The state of the passport, in a word. */
  state: string;
  /** Where the QR code leads. */
  link: string;
  /** What the reader should know of that address. */
  linkNote: string;
  groups: { title: string; facts: Fact[] }[];
  sections: Section[];
}

const ACCENT = '#0f766e';
const EYEBROW: TextStyle = { face: 'bold', size: 8.5, color: ACCENT };
const TITLE: TextStyle = { face: 'bold', size: 20, color: '#111827' };
const IDENTITY: TextStyle = { face: 'regular', size: 10.5, color: '#4b5563' };
const BADGE: TextStyle = { face: 'bold', size: 8.5, color: '#115e59' };
const HEADING: TextStyle = { face: 'bold', size: 12.5, color: ACCENT };
const LABEL: TextStyle = { face: 'regular', size: 9, color: '#6b7280' };
const VALUE: TextStyle = { face: 'regular', size: 9, color: '#111827' };
const LINK: TextStyle = { face: 'regular', size: 7.5, color: '#1d4ed8' };
const SMALL: TextStyle = { face: 'regular', size: 7.5, color: '#6b7280' };

/** The side of the QR code with its quiet zone, in points: 42 mm. */
const QR_SIZE = 119;
const LABEL_WIDTH = 120;

/**
 * Draws the passport of a product: what it is, a QR code that leads to its public page, its facts and its tables, over as
 * many pages as they take. What a document has no room for is counted on its last page.
 *
 * @param at the date of the document, and the only time in it that is not in the content.
 * @param signal ends the work between two pages; the promise rejects with its reason.
 */
export async function drawPassport(
  fonts: PdfFonts,
  content: PassportContent,
  { at, signal }: { at: Date; signal: AbortSignal },
): Promise<Buffer> {
  const { title } = content;
  const document = await createPdfDocument(fonts, { title, at, foot: title }, signal);
  let y = drawTop(document, content);
  for (const { title: heading, facts } of content.groups) {
    y = drawHeading(document, heading, y);
    for (const fact of facts) y = drawFact(document, fact, y);
  }
  await document.breathe();
  for (const section of content.sections) {
    y = drawHeading(document, `${section.title} (${section.count})`, y);
    if (section.count === 0) {
      y = document.write('None.', LABEL, { x: BODY.left, y, width: BODY.width });
      continue;
    }
    const { y: below, drawn } = await drawTable(document, section, y);
    y = below;
    if (drawn < section.count) {
      const left = section.count - drawn;
      y = drawNote(document, `${left} more are not shown: a table ends after ${TABLE_PAGES_MAX} pages.`, y);
    }
  }
  if (document.hasMissing()) {
    drawNote(document, `${MISSING} stands for a character that the fonts of this document cannot show.`, y);
  }
  return document.finish();
}

/** The name on the left, the QR code with its address on the right. */
function drawTop(document: PdfDocument, { name, identity, state, link, linkNote }: PassportContent): number {
  const { canvas } = document;
  canvas.rect(BODY.left, BODY.top, BODY.width, 2).fill(ACCENT);
  const top = BODY.top + 14;
  const qrX = BODY.right - QR_SIZE;
  drawQrCode(canvas, link, { x: qrX, y: top, size: QR_SIZE });
  const right = { x: qrX, width: QR_SIZE };
  const href = new URL(link).href;
  // Broken before the path, where it reads best; a longer part breaks wherever it must.
  const caption = link.replace(/^(\w+:\/\/[^/]+)\//, '$1\n/');
  const captionEnd = document.write(caption, LINK, { ...right, y: top + QR_SIZE + 3, height: 100, link: href });
  const noteEnd = document.write(linkNote, SMALL, { ...right, y: captionEnd + 1 });

  const left = { x: BODY.left, width: BODY.width - QR_SIZE - 24 };
  const eyebrowEnd = document.write('DIGITAL PRODUCT PASSPORT', EYEBROW, { ...left, y: top + 4 });
  const titleEnd = document.write(name, TITLE, { ...left, y: eyebrowEnd + 6, height: 300 });
  const identityEnd = document.write(identity, IDENTITY, { ...left, y: titleEnd + 4, height: 60 });
  return Math.max(noteEnd, drawBadge(document, state, identityEnd + 8));
}

function drawBadge(document: PdfDocument, text: string, y: number): number {
  const width = document.widthOf(text, BADGE) + 16;
  document.canvas.roundedRect(BODY.left, y, width, 17, 8.5).fill('#ccfbf1');
  document.write(text, BADGE, { x: BODY.left + 8, y: y + 3.5, width });
  return y + 17;
}

function drawQrCode(canvas: PDFKit.PDFDocument, text: string, at: { x: number; y: number; size: number }): void {
  const code = encodeQrCode(text);
  const module = at.size / code.size;
  canvas.rect(at.x, at.y, at.size, at.size).fill('#ffffff');
  // One path for all modules: neighbours that were filled one by one would show hairlines between them.
  for (const { column, row, length } of code.runs) {
    canvas.rect(at.x + column * module, at.y + row * module, length * module, module);
  }
  canvas.fill('#000000');
}

function drawHeading(document: PdfDocument, text: string, y: number): number {
  // A heading is not left alone at the foot of a page.
  const start = y + 90 > BODY.bottom ? document.newPage() : y + 20;
  return document.write(text, HEADING, { x: BODY.left, y: start, width: BODY.width }) + 5;
}

function drawFact(document: PdfDocument, { label, value }: Fact, y: number): number {
  const start = y + 24 > BODY.bottom ? document.newPage() : y;
  document.write(label, LABEL, { x: BODY.left, y: start, width: LABEL_WIDTH });
  const end = document.write(value, VALUE, {
    x: BODY.left + LABEL_WIDTH,
    y: start,
    width: BODY.width - LABEL_WIDTH,
  });
  const { canvas } = document;
  canvas.lineWidth(0.5).strokeColor('#eef0f3');
  canvas
    .moveTo(BODY.left, end + 2.5)
    .lineTo(BODY.right, end + 2.5)
    .stroke();
  return end + 6;
}

function drawNote(document: PdfDocument, text: string, y: number): number {
  const start = y + 24 > BODY.bottom ? document.newPage() : y + 8;
  return document.write(text, SMALL, { x: BODY.left, y: start, width: BODY.width });
}
