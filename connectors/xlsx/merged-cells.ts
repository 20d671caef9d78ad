import { columnOfLetters, type SpreadsheetCell, sourceFault } from '../../src/sdk/index.ts';
import type { Archive } from './archive.ts';
import type { MergedCells, RawRow } from './sheet.ts';
import type { PartLimits, Sheet } from './workbook.ts';

const MERGED = /<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"/g;

/** The most ranges that are held. */
const RANGES_MAX = 200_000;

interface OpenSheet {
  archive: Archive;
  sheet: Sheet;
  limits: PartLimits;
}

/**
 * Finds the merged cells of a sheet. A sheet has them after its rows, so the text of the whole sheet is searched.
 *
 * @param isWanted whether the ranges that begin in a row are wanted
 * @throws a `sourceFault` if the sheet has more ranges than can be held
 */
export async function findMergedCells(
  { archive, sheet, limits }: OpenSheet,
  isWanted: (firstRow: number) => boolean,
): Promise<MergedCells[]> {
  const found: MergedCells[] = [];
  let rest = '';
  for await (const { text } of archive.read(sheet.part, limits)) {
    const searched = rest + text;
    let end = 0;
    for (const match of searched.matchAll(MERGED)) {
      end = match.index + match[0].length;
      const [, from = '', first = '', to = '', last = ''] = match;
      if (!isWanted(Number(first))) continue;
      if (found.length >= RANGES_MAX) throw tooMany(archive.file, sheet.name);
      const columns = { firstColumn: columnOfLetters(from), lastColumn: columnOfLetters(to) };
      found.push({ firstRow: Number(first), lastRow: Number(last), ...columns });
    }
    rest = searched.slice(Math.max(end, searched.length - 200));
  }
  return found;
}

function tooMany(file: string, sheet: string): Error {
  return sourceFault(`The sheet ${sheet} (${file}) has more than ${RANGES_MAX} merged cells.`, {
    suggestion: 'Set `merged: first`, and name the columns whose values stand only in their first row in `fill`.',
  });
}

/**
 * Repeats the value of each merged range in the other cells of the range. Call the function for each row in its order.
 *
 * @param ranges the ranges of the rows, in any order
 * @param columnsMax how many columns of a row are read
 * @returns the cells that the row gets from ranges, besides its own
 */
export function createMergedValues(
  ranges: readonly MergedCells[],
  columnsMax: number,
): (row: RawRow) => SpreadsheetCell[] {
  const ahead = ranges.toSorted((a, b) => b.firstRow - a.firstRow);
  let open: { range: MergedCells; cell: SpreadsheetCell | undefined }[] = [];
  return ({ number, cells }) => {
    open = open.filter(({ range }) => range.lastRow >= number);
    for (let next = ahead.at(-1); next !== undefined && next.firstRow <= number; next = ahead.at(-1)) {
      const range = next;
      ahead.pop();
      // A range whose first row is not in the file has no value.
      if (range.firstRow < number) continue;
      open.push({ range, cell: cells.find(({ column }) => column === range.firstColumn) });
    }
    return open.flatMap(({ range, cell }) => {
      if (cell === undefined) return [];
      const from = range.firstRow === number ? range.firstColumn + 1 : range.firstColumn;
      const length = Math.max(0, Math.min(range.lastColumn + 1, columnsMax) - from);
      return Array.from({ length }, (_, at) => ({ ...cell, column: from + at }));
    });
  };
}
