import { columnLettersOf, type SpreadsheetCell, sourceFault, withoutTextFormula } from '../../src/sdk/index.ts';
import { createTextGatherer, type PartHandlers } from './xml-part.ts';

/** A row of the sheet. */
export interface RawRow {
  /** The number that the spreadsheet shows, from 1. */
  number: number;
  hidden: boolean;
  /** The cells in the file, in their order. */
  cells: readonly SpreadsheetCell[];
}

const LETTERS_MAX = 3;
const CODE_OF_A = 65;
const CODE_OF_0 = 48;

/**
 * Finds the rows of a sheet. The size that the sheet states (`dimension`) is not trusted, and a row or cell without
 * a number follows the one before it.
 */
export function createSheetScanner(options: {
  cellMax: number;
  columnsMax: number;
  /** Called with a cell beyond `columnsMax` that has text or a formula. The cell is not in its row. */
  onBeyond: (row: number, cell: SpreadsheetCell) => void;
  onRow: (row: RawRow) => void;
}) {
  const { cellMax, columnsMax, onBeyond, onRow } = options;
  const inline = createTextGatherer(cellMax);
  const hiddenColumns: { from: number; to: number }[] = [];
  let row = { number: 0, hidden: false, cells: [] as SpreadsheetCell[] };
  let cell: SpreadsheetCell = emptyCell();
  let column = -1;
  let inSheet = false;
  let inValue = false;

  function beginCell(attributes: Record<string, string>): void {
    const { r, t = 'n', s } = attributes;
    const last = column;
    column = r === undefined ? column + 1 : columnOf(r);
    if (column <= last) throw new Error(`the cells of row ${row.number} are not in order: ${r} stands too late`);
    cell = { column, type: t, style: s === undefined ? 0 : Number(s), text: null, formula: false };
    if (t === 'inlineStr') inline.begin();
  }

  function endCell(): void {
    if (cell.type === 'inlineStr') cell.text = inline.take();
    // Spreadsheets also store cells that have a format only.
    if (cell.text === null && !cell.formula) return;
    if (cell.column < columnsMax) row.cells.push(cell);
    else onBeyond(row.number, cell);
  }

  const part: PartHandlers = {
    open(name, attributes) {
      if (name === 'c' && inSheet) beginCell(attributes);
      else if (name === 'v') {
        inValue = true;
        cell.text = '';
      } else if (name === 'f') cell.formula = true;
      else if (name === 'row' && inSheet) {
        row = { number: numberOfRow(attributes['r'], row.number), hidden: isTrue(attributes['hidden']), cells: [] };
        column = -1;
      } else if (name === 'sheetData') inSheet = true;
      else if (name === 'col' && isTrue(attributes['hidden'])) {
        hiddenColumns.push({ from: Number(attributes['min']) - 1, to: Number(attributes['max']) - 1 });
      } else if (cell.type === 'inlineStr') inline.open(name);
    },
    text(text) {
      if (!inValue) {
        if (cell.type === 'inlineStr') inline.add(text);
        return;
      }
      cell.text = cell.text === '' ? text : (cell.text ?? '') + text;
      if (cell.text.length > cellMax) cell.text = cell.text.slice(0, cellMax + 1);
    },
    close(name) {
      if (name === 'v') inValue = false;
      else if (name === 'c' && inSheet) endCell();
      else if (name === 'row' && inSheet) onRow(row);
      else if (name === 'sheetData') inSheet = false;
      else if (cell.type === 'inlineStr') inline.close(name);
    },
  };
  return {
    part /** True for a hidden column, from 0. This is known before the first row. */,
    isHidden: (at: number): boolean => hiddenColumns.some(({ from, to }) => at >= from && at <= to),
  };
}

export type SheetScanner = ReturnType<typeof createSheetScanner>;

function emptyCell(): SpreadsheetCell {
  return { column: 0, type: 'n', style: 0, text: null, formula: false };
}

/**
 * The number of a row: the stated one, or else one more than the number of the row before.
 *
 * @throws Error if the number is not a whole number, or is not greater than that of the row before. Then the places of the
 *   header and of all rows are unknown.
 */
function numberOfRow(stated: string | undefined, last: number): number {
  if (stated === undefined) return last + 1;
  const number = Number(stated);
  if (!Number.isSafeInteger(number)) throw new Error(`a row has the number ${JSON.stringify(stated.slice(0, 20))}`);
  if (number <= last) throw new Error(`its rows are not in order: row ${number} stands after row ${last}`);
  return number;
}

/**
 * The column of a reference such as `AB12`, from 0. It is a plain loop for speed, because every cell has a reference.
 */
function columnOf(reference: string): number {
  let column = 0;
  let at = 0;
  for (; at < LETTERS_MAX; at++) {
    const code = reference.charCodeAt(at);
    if (!(code >= CODE_OF_A && code < CODE_OF_A + 26)) break;
    column = column * 26 + code - CODE_OF_A + 1;
  }
  const next = reference.charCodeAt(at);
  if (at > 0 && next >= CODE_OF_0 && next < CODE_OF_0 + 10) return column - 1;
  throw new Error(`a cell has the reference ${JSON.stringify(reference.slice(0, 20))}`);
}

function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}

/** A range of cells that is shown as one cell. Rows count from 1, columns from 0. */
export interface MergedCells {
  firstRow: number;
  lastRow: number;
  firstColumn: number;
  lastColumn: number;
}

/** One row of a header: the texts by their columns. */
export interface HeaderRow {
  number: number;
  texts: ReadonlyMap<number, string>;
}

/**
 * The names of the columns, by number; a column without a name gets its letters as the name, so that its values are not
 * lost.
 *
 * @throws a `sourceFault` if two columns have the same name
 */
export function columnNames(rows: readonly HeaderRow[], merged: readonly MergedCells[], where: string): string[] {
  const names: string[] = [];
  for (const { number, texts } of rows) {
    for (const [column, text] of spread(number, texts, merged)) {
      const piece = nameIn(text);
      if (piece !== '') names[column] = names[column] === undefined ? piece : `${names[column]} ${piece}`;
    }
  }
  if (names.length === 0) {
    throw sourceFault(`${where} is empty: there are no column names.`, {
      suggestion: 'Set `header` to the number of the row with the column names, or to `false` if there is none.',
    });
  }
  const all = Array.from(names, (name: string | undefined, column) => name ?? columnLettersOf(column));
  assertUnique(all, where);
  return all;
}

/**
 * The name that a cell gives to its column. White space in the text becomes one space: it comes from a line break in the
 * cell, or is an invisible mistake.
 */
export function nameIn(text: string): string {
  return withoutTextFormula(text.replace(/\s+/g, ' ').trim());
}

/** The name of a column that the header does not name: its letters, unless a column of the header has this name. */
export function unnamedColumn(column: number, names: readonly (string | undefined)[]): string {
  const letters = columnLettersOf(column);
  return names.includes(letters) ? `column ${letters}` : letters;
}

/** A merged cell stores its text in its first column only. */
function spread(
  number: number,
  texts: ReadonlyMap<number, string>,
  merged: readonly MergedCells[],
): [number, string][] {
  return [...texts].flatMap(([column, text]) => {
    const cells = merged.find(({ firstRow, firstColumn }) => firstRow === number && firstColumn === column);
    const last = cells?.lastColumn ?? column;
    return Array.from({ length: last - column + 1 }, (_, index): [number, string] => [column + index, text]);
  });
}

function assertUnique(names: readonly string[], where: string): void {
  const first = new Map<string, number>();
  for (const [column, name] of names.entries()) {
    const before = first.get(name);
    if (before !== undefined) {
      throw sourceFault(
        `${where} has the column name ${JSON.stringify(name)} twice, in ${columnLettersOf(before)} and ${columnLettersOf(column)}.`,
        { suggestion: 'Give each column its own name. For a header of several rows set `headerRows`.' },
      );
    }
    first.set(name, column);
  }
}
