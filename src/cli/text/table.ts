import { stripVTControlCharacters } from 'node:util';
import { formatCount } from '../../lib/text/amounts.ts';
import { type Colour, type Paint, printable, shorten, shortenMiddle } from './style.ts';

/** A cell of a table. The table makes its text printable. */
export interface Cell {
  text: string;
  colour?: Colour;
}

export interface Column {
  title: string;
  align?: 'right';
  /** The most characters that a cell shows in a terminal. */
  max?: number;
  /** The least width, so that the columns of a table that is printed in parts are aligned. */
  min?: number;
  /**
   * Where a cell that is too long is cut; by default at its end. Keys may differ at both ends and people copy them, so
   * they are cut only after the other columns have become narrow.
   */
  cut?: 'middle';
  /** True for texts that make no sense when they are cut, such as times. These texts are always shown whole. */
  fixed?: boolean;
  /**
   * True for a last column that is never cut, because people copy its text. If a text has no room, it is put on a
   * separate line.
   */
  whole?: boolean;
}

export interface TableStyle {
  paint: Paint;
  /** The width of the terminal. `null`: no terminal shows the table, so every cell has its full text. */
  width: number | null;
}

const GAP = '  ';
/** The least width of a column with text. */
const TEXT_MIN = 8;
/** A column of text that is wider than this becomes narrower before columns of keys do. */
const TEXT_ENOUGH = 16;

/** Lines of a table, each indented by two spaces. Numbers are aligned to the right. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (string | number | Cell)[][],
  { paint, width }: TableStyle,
): string[] {
  const cells = rows.map((row) => row.map(toCell));
  const wanted = columns.map(({ title, min = 0, max = Number.POSITIVE_INFINITY }, index) => {
    const longest = Math.max(min, title.length, ...cells.map((row) => row[index]?.text.length ?? 0));
    return width === null ? longest : Math.min(longest, Math.max(max, title.length));
  });
  const shared = columns.filter(({ whole = false }) => !whole);
  const widths = width === null ? wanted : narrowed(shared, wanted.slice(0, shared.length), width);
  const line = (row: readonly Cell[], colour?: Colour): string => {
    const padded = row.map(({ text, ...cell }, index) => {
      const size = widths[index] ?? text.length;
      const column = columns[index];
      const shown = column?.cut === 'middle' ? shortenMiddle(text, size) : shorten(text, size);
      const full = column?.align === 'right' ? shown.padStart(size) : shown.padEnd(size);
      const chosen = colour ?? cell.colour;
      return chosen === undefined ? full : paint(chosen, full);
    });
    return `${GAP}${padded.join(GAP)}`;
  };
  const titles = columns.map(({ title }) => ({ text: title }));
  return [line(titles, 'dim'), ...cells.map((row) => line(row))].map(trimLine);
}

/** True if no line of a table is wider than the terminal. */
export function isWithin(lines: readonly string[], { width }: TableStyle): boolean {
  return width === null || lines.every((line) => stripVTControlCharacters(line).trimEnd().length <= width);
}

/** The width of a table with columns of these widths. */
function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + GAP.length + width, 0);
}

/**
 * Makes columns narrower until the table fits or no column can become narrower: first long texts, then keys, then all
 * columns.
 */
function narrowed(columns: readonly Column[], wanted: readonly number[], width: number): number[] {
  const widths = [...wanted];
  const least = columns.map(({ title, align, fixed = false }, index) =>
    align === 'right' || fixed ? (wanted[index] ?? 0) : Math.max(TEXT_MIN, title.length),
  );
  const room = (index: number): number => (widths[index] ?? 0) - (least[index] ?? 0);
  const widestOf = (isCandidate: (column: Column | undefined, size: number) => boolean): number | null => {
    const sizes = widths.map((size, index) => (room(index) > 0 && isCandidate(columns[index], size) ? size : 0));
    const most = Math.max(...sizes);
    return most === 0 ? null : sizes.indexOf(most);
  };
  const isKey = (column: Column | undefined): boolean => column?.cut === 'middle';
  for (let over = widthOf(widths) - width; over > 0; over -= 1) {
    const widest =
      widestOf((column, size) => !isKey(column) && size > TEXT_ENOUGH) ?? widestOf(isKey) ?? widestOf(() => true);
    if (widest === null) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function toCell(cell: string | number | Cell): Cell {
  if (typeof cell === 'number') return { text: formatCount(cell) };
  const { text, ...rest } = typeof cell === 'string' ? { text: cell } : cell;
  return { ...rest, text: printable(text) };
}

/** Removes the padding after the last cell, which would wrap on narrow terminals. */
function trimLine(line: string): string {
  return stripVTControlCharacters(line) === line ? line.trimEnd() : line;
}
