import type { JsonObject } from '../../lib/json.ts';
import { looksLikeValue } from './cell-kinds.ts';
import type { FoundOption } from './recognise-format.ts';

/** The header is searched for in this many rows. */
export const SHEET_ROWS = 30;
const OF_TITLE =
  'If the first rows are a title, delete them and run init again with --force. Or set `header` to the number of the row with the names, and write the names in the mapping.';

/**
 * Finds the row of a sheet that has the names of the columns: the first row that has only text and is about as wide as the widest
 * row.
 *
 * @param rows the rows with their numbers, read without a header
 * @returns null if the header is the first row, because this needs no option
 */
export function recogniseHeader(rows: readonly { number: number; fields: JsonObject }[]): FoundOption | null {
  const sizes = rows.map(({ fields }) => cellsOf(fields).length);
  const widest = Math.max(0, ...sizes);
  const header = rows.find(({ fields }) => {
    const cells = cellsOf(fields);
    const isWide = cells.length >= widest * 0.7;
    return isWide && new Set(cells).size === cells.length && !cells.some((cell) => looksLikeValue(cell));
  });
  if (header === undefined) {
    const reason = `no row looks like a header; the columns are A, B, C and so on. ${OF_TITLE}`;
    return { name: 'header', value: false, reason };
  }
  if (header.number === 1) return null;
  return { name: 'header', value: header.number, reason: 'the rows above it have fewer cells or values in them' };
}

function cellsOf(fields: JsonObject): string[] {
  return Object.values(fields).flatMap((value) => {
    const text = typeof value === 'object' ? '' : String(value).trim();
    return text === '' ? [] : [text];
  });
}
