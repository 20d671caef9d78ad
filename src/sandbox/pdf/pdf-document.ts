import { setImmediate } from 'node:timers/promises';
import { FACES, type Face, MISSING, type PdfFonts } from './pdf-fonts.ts';

const SIZE = { width: 595.28, height: 841.89 };
const MARGINS = { top: 48, right: 48, bottom: 56, left: 48 };

/** The part of a page that is written on, in points from its upper left corner. */
export const BODY = {
  left: MARGINS.left,
  right: SIZE.width - MARGINS.right,
  top: MARGINS.top,
  bottom: SIZE.height - MARGINS.bottom,
  width: SIZE.width - MARGINS.left - MARGINS.right,
} as const;

/** How a text looks. */
export interface TextStyle {
  face: Face;
  size: number;
  color: string;
}

/** Where a text stands; it goes on below, and on further pages where a height does not end it. */
export interface TextPlace {
  x: number;
  y: number;
  width: number;
  /** What does not fit into this height ends in an ellipsis. */
  height?: number;
  align?: 'left' | 'right';
  /** Where a click on it leads. */
  link?: string;
}

/** What the foot of every page says beside its number. */
export interface PdfHead {
  title: string;
  /** The date of the document. */
  at: Date;
  foot: string;
}

/** A document in the making. Coordinates are points from the upper left corner of the page. */
export interface PdfDocument {
  /** pdfkit's document, for lines and areas. */
  canvas: PDFKit.PDFDocument;
  /** How many pages there are so far. */
  pages(): number;
  /** Writes a text and returns the y below it. */
  write(text: string, style: TextStyle, place: TextPlace): number;
  /** The height that a text takes. */
  heightOf(text: string, style: TextStyle, width: number): number;
  /** The width that a text takes on one line. */
  widthOf(text: string, style: TextStyle): number;
  /** Goes on at the top of a new page, below what `atTop` draws. Returns the y there. */
  newPage(): number;
  /** What is repeated at the top of new pages; it returns the y below itself. */
  atTop(draw: ((y: number) => number) | undefined): void;
  /** True where some text had a character that the fonts do not have. */
  hasMissing(): boolean;
  /** Gives other work its turn where a page was filled since the last call. */
  breathe(): Promise<void>;
  /** The finished file. */
  finish(): Promise<Buffer>;
}

const FOOT: TextStyle = { face: 'regular', size: 7.5, color: '#6b7280' };

/**
 * Begins an A4 document with its first page. The same calls make the same bytes: the only time in it is the head's.
 *
 * @param signal ends a document that nobody will get: `breathe` rejects with its reason.
 */
export async function createPdfDocument(fonts: PdfFonts, head: PdfHead, signal: AbortSignal): Promise<PdfDocument> {
  const { default: PdfKit } = await import('pdfkit');
  const canvas = new PdfKit({
    size: 'A4',
    margins: MARGINS,
    // None. pdfkit would open a registered font anew at each use when the default one is the same.
    font: '',
    autoFirstPage: false,
    lang: 'en',
    displayTitle: true,
    // PDF 1.3, pdfkit's default: with a later version it would copy the title into XML without escaping it.
    info: { Title: head.title, Creator: 'dpp-sync sandbox', Producer: 'pdfkit', CreationDate: head.at },
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    canvas.on('data', (chunk: Buffer) => chunks.push(chunk));
    canvas.once('end', resolve);
    canvas.once('error', reject);
  });
  for (const face of FACES) canvas.registerFont(face, fonts.files[face]);

  let pages = 0;
  let breathedAt = 0;
  let missing = false;
  let current = FOOT;
  let repeated: ((y: number) => number) | undefined;

  const use = (style: TextStyle): void => {
    current = style;
    canvas.font(style.face, style.size).fillColor(style.color);
  };
  const writable = (text: string): string => {
    const written = fonts.writable(text);
    missing ||= written.includes(MISSING);
    return written;
  };
  const drawFoot = (): void => {
    const y = BODY.bottom + 14;
    canvas.lineWidth(0.5).strokeColor('#d1d5db');
    canvas.moveTo(BODY.left, y).lineTo(BODY.right, y).stroke();
    use(FOOT);
    const number = `Page ${pages}`;
    const width = canvas.widthOfString(number);
    const foot = fitting(canvas, writable(head.foot).replaceAll('\n', ' '), BODY.width - width - 20);
    // Below the body, pdfkit would begin a new page for a text that may break.
    canvas.text(foot, BODY.left, y + 6, { lineBreak: false });
    canvas.text(number, BODY.right - width, y + 6, { lineBreak: false });
  };
  // A text that does not end on its page begins the next one by itself, and goes on in its own style.
  canvas.on('pageAdded', () => {
    pages += 1;
    const style = current;
    drawFoot();
    const y = repeated ? repeated(BODY.top) : BODY.top;
    use(style);
    canvas.x = BODY.left;
    canvas.y = y;
  });
  canvas.addPage();

  return {
    canvas,
    pages: () => pages,
    write(text, style, { x, y, ...place }) {
      use(style);
      canvas.text(writable(text), x, y, { ...place, ...(place.height !== undefined && { ellipsis: true }) });
      return canvas.y;
    },
    heightOf(text, style, width) {
      use(style);
      return canvas.heightOfString(writable(text), { width });
    },
    widthOf(text, style) {
      use(style);
      return canvas.widthOfString(writable(text));
    },
    newPage() {
      canvas.addPage();
      return canvas.y;
    },
    atTop(draw) {
      repeated = draw;
    },
    hasMissing: () => missing,
    async breathe() {
      if (pages === breathedAt) return;
      breathedAt = pages;
      await setImmediate();
      signal.throwIfAborted();
    },
    async finish() {
      canvas.end();
      await finished;
      return Buffer.concat(chunks);
    },
  };
}

/** The text, or as much of its beginning as fits, with an ellipsis. */
function fitting(canvas: PDFKit.PDFDocument, text: string, width: number): string {
  if (canvas.widthOfString(text) <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 0 && canvas.widthOfString(`${letters.join('')}…`) > width) letters.pop();
  return `${letters.join('')}…`;
}
