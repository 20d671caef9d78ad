import { columnLettersOf, columnOfLetters, sourceFault, withoutTextFormula } from '../../src/sdk/index.ts';

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

const MERGED = /<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"/g;

/**
 * Finds the merged cells of the first rows. A sheet has them after its rows, so the text of the whole sheet is
 * searched.
 */
export function createMergedCellFinder(lastRow: number): { add(text: string): void; found: readonly MergedCells[] } {
  const found: MergedCells[] = [];
  let rest = '';
  return {
    add(text) {
      const searched = rest + text;
      let end = 0;
      for (const match of searched.matchAll(MERGED)) {
        end = match.index + match[0].length;
        const [, from = '', first = '', to = '', last = ''] = match;
        if (Number(first) > lastRow) continue;
        const columns = { firstColumn: columnOfLetters(from), lastColumn: columnOfLetters(to) };
        found.push({ firstRow: Number(first), lastRow: Number(last), ...columns });
      }
      rest = searched.slice(Math.max(end, searched.length - 200));
    },
    found,
  };
}
