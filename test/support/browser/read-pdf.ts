import { getDocument, OPS } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { decodeQR } from 'qr/decode.js';

/** The contents of a PDF that a viewer shows. */
export interface PdfContents {
  title: string;
  /** In the date format of PDF: `D:20260101000000Z`. */
  createdAt: string;
  /** The lines of every page, without empty lines. */
  pages: string[][];
  /** The addresses of the links, each once. */
  links: string[];
  /** The text in the QR code on the first page. */
  qr: string;
}

type Box = [left: number, top: number, right: number, bottom: number];

/** Reads the texts, links and QR code that a PDF shows. A broken PDF throws. */
export async function readPdf(bytes: Buffer): Promise<PdfContents> {
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0, stopAtErrors: true });
  try {
    const document = await task.promise;
    const { info } = (await document.getMetadata()) as { info: { Title?: string; CreationDate?: string } };
    const pages: string[][] = [];
    const links = new Set<string>();
    for (let number = 1; number <= document.numPages; number += 1) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
      pages.push(text.split('\n').filter((line) => line.trim() !== ''));
      for (const { url } of (await page.getAnnotations()) as { url?: string }[]) if (url) links.add(url);
      page.cleanup();
    }
    const { fnArray, argsArray } = await (await document.getPage(1)).getOperatorList();
    return {
      title: info.Title ?? '',
      createdAt: info.CreationDate ?? '',
      pages,
      links: [...links],
      qr: decodeQR(imageOf(modulesIn(fnArray, argsArray))),
    };
  } finally {
    await task.destroy();
  }
}

/** The dark modules of the QR code: the rectangles of the path with the most rectangles. */
function modulesIn(operators: number[], args: unknown[]): Box[] {
  const paths = operators.flatMap((operator, index) =>
    operator === OPS.constructPath ? [boxesOf((args[index] as [number, [Float32Array]])[1][0])] : [],
  );
  return paths.reduce((most, boxes) => (boxes.length > most.length ? boxes : most), []);
}

/**
 * Reads a path of pdf.js: 0 is followed by the first point, 1 by the end of a line, 2 by six numbers of a curve, and 4
 * closes the path.
 */
function boxesOf(path: Float32Array): Box[] {
  const boxes: Box[] = [];
  let points: [number, number][] = [];
  for (let at = 0; at < path.length; ) {
    const step = path[at];
    if (step === 4) {
      const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
      boxes.push([Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]);
      at += 1;
      continue;
    }
    const size = step === 2 ? 7 : 3;
    if (step === 0) points = [];
    points.push([path[at + size - 2] ?? 0, path[at + size - 1] ?? 0]);
    at += size;
  }
  return boxes;
}

/** An image of the boxes, black on white, with a margin. */
function imageOf(boxes: Box[]): { width: number; height: number; data: Uint8Array } {
  const PIXELS_PER_POINT = 4;
  const left = Math.min(...boxes.map((box) => box[0]));
  const top = Math.min(...boxes.map((box) => box[1]));
  const side = Math.max(...boxes.map((box) => box[2])) - left;
  const border = Math.ceil(side * 0.2 * PIXELS_PER_POINT);
  const size = Math.ceil(side * PIXELS_PER_POINT) + 2 * border;
  const data = new Uint8Array(size * size * 4).fill(255);
  const pixel = (point: number, origin: number): number => Math.round((point - origin) * PIXELS_PER_POINT) + border;
  for (const [x0, y0, x1, y1] of boxes) {
    for (let y = pixel(y0, top); y < pixel(y1, top); y += 1) {
      for (let x = pixel(x0, left); x < pixel(x1, left); x += 1)
        data.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  return { width: size, height: size, data };
}
