import { getDocument, OPS } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { decodeQR } from 'qr/decode.js';

/** A PDF as a viewer sees it. */
export interface PdfContents {
  title: string;
  /** As the file has it: `D:20260101000000Z`. */
  createdAt: string;
  /** The lines of every page, without empty ones. */
  pages: string[][];
  /** The addresses that clicks lead to, each once. */
  links: string[];
  /** What the QR code on the first page says. */
  qr: string;
}

type Box = [left: number, top: number, right: number, bottom: number];

/** Opens a PDF, which throws for a broken one, and reads what it shows, the QR code out of the areas that it fills. */
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

/** The rectangles of the one path that fills more of them than any other: the dark modules. */
function modulesIn(operators: number[], args: unknown[]): Box[] {
  const paths = operators.flatMap((operator, index) =>
    operator === OPS.constructPath ? [boxesOf((args[index] as [number, [Float32Array]])[1][0])] : [],
  );
  return paths.reduce((most, boxes) => (boxes.length > most.length ? boxes : most), []);
}

/** A path as pdf.js has it: 0 and a point to begin at, 1 and a point to draw to, 2 and six numbers for a curve, 4 to close. */
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

/** The boxes in black on white, with room around them, as a camera would see them. */
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
