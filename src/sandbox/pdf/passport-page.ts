import { createRequire } from 'node:module';
import { encodeQR } from 'qr';

const require = createRequire(import.meta.url);

const MARGIN = 48;
const BOTTOM = 841.89 - MARGIN;
const WIDTH = 595.28 - 2 * MARGIN;
/** The side of the QR code with its quiet zone, in points: 42 mm. */
const QR_SIZE = 119;
/** The empty modules without which scanners may not find a QR code (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4;
const LINE = 13;
/**
 * No line of the page has room for more characters. Longer text is cut before, because the time of pdfkit to shorten a
 * text grows with the square of its length.
 */
const LINE_CHARACTERS_MAX = 200;
/** At most this many materials are shown, so that the bill of materials has room as well. */
const SECTION_LINES_MAX = 20;

/** The text of a passport's page. */
export interface PassportContent {
  title: string;
  name: string;
  /** The address in the QR code. */
  link: string;
  lines: string[];
  /** Titles with a line for each entry. */
  sections: { title: string; lines: string[] }[];
}

/**
 * Draws a passport on one A4 page: its facts, a QR code with its address, its materials and its BOM. A text that is
 * wider than the page ends in an ellipsis, and entries that the page has no room for are counted. The same content
 * gives the same bytes. The font DejaVu Sans Condensed has these letters: Latin, Greek, Cyrillic, Armenian and
 * Georgian.
 *
 * @param at the date of the document
 */
export async function drawPassport({ title, name, link, ...content }: PassportContent, at: Date): Promise<Buffer> {
  // Only a sandbox that draws a passport loads pdfkit.
  const { default: PdfKit } = await import('pdfkit');
  const page = new PdfKit({
    size: 'A4',
    margin: MARGIN,
    // The version stays PDF 1.3, pdfkit's default. With a later version pdfkit would copy the title into XML without
    // escaping it.
    info: { Title: title, Creator: 'dpp-sync sandbox', Producer: 'pdfkit', CreationDate: at },
    font: require.resolve('dejavu-fonts-ttf/ttf/DejaVuSansCondensed.ttf'),
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    page.on('data', (chunk: Buffer) => chunks.push(chunk));
    page.once('end', resolve);
    page.once('error', reject);
  });

  let y = MARGIN;
  const write = (text: string, size = 9): void => {
    const besideQr = y < MARGIN + QR_SIZE + LINE;
    const plain = text.normalize('NFC').replaceAll(/\s+/g, ' ').slice(0, LINE_CHARACTERS_MAX);
    const width = besideQr ? WIDTH - QR_SIZE : WIDTH;
    page.fontSize(size).text(plain, MARGIN, y, { width, height: size * 1.3, ellipsis: true });
    y += size + LINE - 9;
  };
  drawQrCode(page, link);
  write(title, 8);
  write(name, 16);
  for (const line of content.lines) write(line);
  for (const [index, section] of content.sections.entries()) {
    y += LINE / 2;
    write(section.title, 11);
    const isLast = index === content.sections.length - 1;
    // One line is kept free for the count of entries that have no room.
    const room = Math.floor((BOTTOM - y) / LINE) - 1;
    const shown = section.lines.slice(0, isLast ? room : Math.min(room, SECTION_LINES_MAX));
    for (const line of shown) write(line);
    const left = section.lines.length - shown.length;
    if (left > 0) write(`and ${left} more`);
  }
  page.end();
  await finished;
  return Buffer.concat(chunks);
}

/**
 * Draws the code at the right, with a link on it. With error correction M the code can be read with up to 15 % of
 * damage.
 */
function drawQrCode(page: PDFKit.PDFDocument, link: string): void {
  const rows = encodeQR(link, 'raw', { ecc: 'medium', border: QUIET_ZONE });
  const module = QR_SIZE / rows.length;
  const left = MARGIN + WIDTH - QR_SIZE;
  // All modules are one path, because viewers show thin lines between modules that are filled separately.
  for (const [row, modules] of rows.entries()) {
    const line = modules.map((dark) => (dark ? '#' : ' ')).join('');
    for (const run of line.matchAll(/#+/g)) {
      page.rect(left + run.index * module, MARGIN + row * module, run[0].length * module, module);
    }
  }
  page.fill('#000000');
  page.link(left, MARGIN, QR_SIZE, QR_SIZE, new URL(link).href);
}
