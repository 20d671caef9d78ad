import { BODY, type PdfDocument, type TextStyle } from './pdf-document.ts';

/** A column of a table. */
export interface TableColumn {
  title: string;
  /** In points. The one column without a width takes what the others leave. */
  width?: number;
  align?: 'right';
}

/** A row of a table. */
export interface TableRow {
  /** A text for every column. */
  cells: string[];
  /** What stands below the cells, over the whole width, for as many lines as it takes. */
  note?: string;
}

/** A table, which is drawn row by row: the rows may come from a generator. */
export interface Table {
  columns: TableColumn[];
  rows: Iterable<TableRow>;
}

/** A table takes no further row once it has this many pages, which bounds the time and memory that a document takes. */
export const TABLE_PAGES_MAX = 400;

const HEAD: TextStyle = { face: 'bold', size: 8, color: '#374151' };
const CELL: TextStyle = { face: 'regular', size: 8, color: '#111827' };
const NOTE: TextStyle = { face: 'regular', size: 7.5, color: '#4b5563' };
const PADDING = { x: 5, y: 3 } as const;

/** No cell is higher than this, so that every row fits on a page below the table's head. */
const CELL_HEIGHT_MAX = 400;

/** So much of a note stays on the page of its row. */
const NOTE_KEPT = 36;

/**
 * Draws a table from a place on. Its head is repeated on every page, and no cell breaks over pages. Gives other work its
 * turn after every page.
 *
 * @returns the y below it, and how many rows were drawn: fewer than there are where the table got too long.
 */
export async function drawTable(
  document: PdfDocument,
  table: Table,
  from: number,
): Promise<{ y: number; drawn: number }> {
  const columns = placed(table.columns);
  const notePlace = { x: BODY.left + PADDING.x, width: BODY.width - 2 * PADDING.x };
  const cellHeight = (text: string, style: TextStyle, width: number): number =>
    Math.min(CELL_HEIGHT_MAX, document.heightOf(text, style, width));

  const drawCells = (cells: string[], style: TextStyle, y: number): number => {
    const heights = columns.map(({ width }, index) => cellHeight(cells[index] ?? '', style, width));
    const height = Math.max(...heights) + 2 * PADDING.y;
    if (style === HEAD) document.canvas.rect(BODY.left, y, BODY.width, height).fill('#eef2f7');
    for (const [index, { x, width, align }] of columns.entries()) {
      const place = { x, y: y + PADDING.y, width, height: (heights[index] ?? 0) + 1 };
      const text = cells[index] ?? '';
      if (text !== '') document.write(text, style, { ...place, ...(align && { align }) });
    }
    return y + height;
  };
  const titles = columns.map(({ title }) => title);
  const drawHead = (y: number): number => drawCells(titles, HEAD, y);
  /** A note that is longer than a few lines may go on on the next page; a short one stays with its row. */
  const heightNeeded = ({ cells, note }: TableRow): number => {
    const row = Math.max(...columns.map(({ width }, index) => cellHeight(cells[index] ?? '', CELL, width)));
    const noted = note ? Math.min(NOTE_KEPT, document.heightOf(note, NOTE, notePlace.width)) : 0;
    return row + noted + 2 * PADDING.y;
  };
  const drawRule = (y: number): void => {
    document.canvas.lineWidth(0.5).strokeColor('#e5e7eb').moveTo(BODY.left, y).lineTo(BODY.right, y).stroke();
  };

  // A head is not left alone at the foot of a page.
  const firstPage = document.pages();
  const start = from + 60 > BODY.bottom ? document.newPage() : from;
  let y = drawHead(start);
  let drawn = 0;
  document.atTop(drawHead);
  for (const row of table.rows) {
    if (y + heightNeeded(row) > BODY.bottom) {
      if (document.pages() - firstPage >= TABLE_PAGES_MAX) break;
      y = document.newPage();
    }
    const { cells, note } = row;
    y = drawCells(cells, CELL, y);
    if (note) y = document.write(note, NOTE, { ...notePlace, y: y - 1 }) + PADDING.y;
    drawRule(y);
    drawn += 1;
    await document.breathe();
  }
  document.atTop(undefined);
  return { y, drawn };
}

/** The columns with where their texts stand. */
function placed(columns: TableColumn[]): (TableColumn & { x: number; width: number })[] {
  const rest = BODY.width - columns.reduce((sum, { width = 0 }) => sum + width, 0);
  let left: number = BODY.left;
  return columns.map((column) => {
    const outer = column.width ?? rest;
    const x = left + PADDING.x;
    left += outer;
    return { ...column, x, width: outer - 2 * PADDING.x };
  });
}
